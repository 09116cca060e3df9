/**
 * Which folder a command is about, where it does not say so itself.
 *
 * The folder of the document that is open comes first, then the only one that can take the order;
 * else the user is asked. Does not import VS Code.
 */

import type { Verb } from "../generated/protocol";
import { t } from "../l10n";
import {
  canRollBack,
  folderOf,
  isBlocked,
  isSetUp,
  offers,
  type FolderSnapshot,
  type Snapshot,
} from "./snapshot";

/** What a command needs of a folder. */
export type Need = Verb | "resolve" | "live" | "run" | "rollBack" | "setUp" | "any";

/** What came out. */
export type Choice =
  | { readonly kind: "one"; readonly folder: FolderSnapshot }
  | { readonly kind: "ask"; readonly folders: readonly FolderSnapshot[] }
  | { readonly kind: "none"; readonly why: string };

/** The folder for an order; `uri` is the one that the caller has named. */
export function choose(snapshot: Snapshot, need: Need, uri?: string): Choice {
  const named = folderOf(snapshot, uri);
  if (named !== undefined) {
    return { kind: "one", folder: named };
  }
  if (snapshot.folders.length === 0) {
    return { kind: "none", why: t("No folder is open. Open one with a git repository first.") };
  }
  const able = snapshot.folders.filter((folder) => meets(folder, need));
  const shown = folderOf(snapshot, snapshot.chosen ?? snapshot.active);
  const active = able.find((folder) => folder.uri === shown?.uri);
  const [only, ...others] = active === undefined ? able : [active];
  if (only === undefined) {
    return { kind: "none", why: whyNone(need) };
  }
  return others.length === 0 ? { kind: "one", folder: only } : { kind: "ask", folders: able };
}

function meets(folder: FolderSnapshot, need: Need): boolean {
  const { state } = folder;
  switch (need) {
    case "any":
      return true;
    case "setUp":
      return isSetUp(folder);
    case "run":
      return state?.run !== undefined;
    case "rollBack":
      return canRollBack(folder);
    case "live":
      return state?.live === true;
    case "resolve":
      return isBlocked(folder);
    case "runTask":
      return offers(folder, "start");
    case "showLog":
    case "showFile":
      return state?.run !== undefined;
    case "none":
      return true;
    default:
      return offers(folder, need);
  }
}

function whyNone(need: Need): string {
  switch (need) {
    case "start":
      return t("A loop is already running here, or the folder is not a git work tree.");
    case "runTask":
      return t("A loop is already running here, or there is no plan.");
    case "pause":
      return t("No running loop to pause.");
    case "stop":
      return t("No running loop to stop.");
    case "resume":
      return t("Nothing to resume here.");
    case "reset":
      return t("No breaker is open here.");
    case "overrule":
      return t("No judge requests changes here.");
    case "answer":
      return t("No question is waiting for an answer.");
    case "resolve":
      return t("Nothing is blocked.");
    case "live":
      return t("No loop is running here.");
    case "run":
    case "showLog":
    case "showFile":
      return t("No loop has run here yet.");
    case "rollBack":
      return t("Nothing to roll back: a loop is running, or no iteration has made a commit.");
    case "setUp":
      return t("There is no plan here yet.");
    case "any":
    case "none":
      return t("No folder is open.");
  }
}
