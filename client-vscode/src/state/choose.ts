/**
 * Which folder a command is about, where it does not say so itself.
 *
 * The folder of the document that is open comes first, then the only one that can take the order;
 * else a person is asked. It must never know VS Code.
 */

import type { Verb } from "../generated/protocol";
import {
  folderOf,
  isBlocked,
  isSetUp,
  offers,
  type FolderSnapshot,
  type Snapshot,
} from "./snapshot";

/** What a command needs of a folder. */
export type Need = Verb | "resolve" | "live" | "run" | "setUp" | "any";

/** What came out. */
export type Choice =
  | { readonly kind: "one"; readonly folder: FolderSnapshot }
  | { readonly kind: "ask"; readonly folders: readonly FolderSnapshot[] }
  | { readonly kind: "none"; readonly why: string };

/** The folder for an order; `uri` is the one that whoever called has named. */
export function choose(snapshot: Snapshot, need: Need, uri?: string): Choice {
  const named = folderOf(snapshot, uri);
  if (named !== undefined) {
    return { kind: "one", folder: named };
  }
  if (snapshot.folders.length === 0) {
    return { kind: "none", why: "No folder is open. Open one with a git repository first." };
  }
  const able = snapshot.folders.filter((folder) => meets(folder, need));
  const active = able.find((folder) => folder.uri === (snapshot.chosen ?? snapshot.active));
  const [only, ...others] = active === undefined ? able : [active];
  if (only === undefined) {
    return { kind: "none", why: WHY_NONE[need] };
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

const WHY_NONE: Readonly<Record<Need, string>> = {
  start: "A loop runs here already, or the folder is no git work tree.",
  runTask: "A loop runs here already, or there is no plan.",
  pause: "No loop runs here that could be paused.",
  stop: "No loop runs here that could be stopped.",
  resume: "Nothing waits to go on here.",
  reset: "No breaker is open here.",
  answer: "No question waits for an answer.",
  resolve: "Nothing is blocked here.",
  live: "No loop runs here.",
  run: "No loop has run here yet.",
  showLog: "No loop has run here yet.",
  showFile: "No loop has run here yet.",
  setUp: "There is no plan here yet.",
  any: "No folder is open.",
  none: "No folder is open.",
};
