/**
 * What this window knows: the server's health and, for each folder, the server's last picture.
 *
 * `reduce` is the only way to change it. Nothing here knows VS Code, and nothing here decides
 * about a run: what can be done, the server says.
 */

import type { Panel, StateResult, Verb } from "../generated/protocol";

/** How the language server is. */
export type ServerHealth =
  | { readonly kind: "starting" }
  | { readonly kind: "installing"; readonly step: string }
  | { readonly kind: "ok"; readonly version: string; readonly from: string }
  | { readonly kind: "missing"; readonly why: string; readonly remedy: Remedy }
  | { readonly kind: "failed"; readonly why: string };

/** What helps where there is no server. */
export type Remedy = "install" | "python" | "setting";

/** One folder of the window. */
export interface FolderSnapshot {
  /** As the server is told it. */
  readonly uri: string;
  readonly name: string;
  /** None before the server has told anything. */
  readonly state: StateResult | undefined;
  /** When that came, in milliseconds since the epoch. */
  readonly receivedAt: number;
}

/** All of it. */
export interface Snapshot {
  readonly trusted: boolean;
  readonly server: ServerHealth;
  /** In the window's order. */
  readonly folders: readonly FolderSnapshot[];
  /** URI of the folder with the active editor's document. */
  readonly active: string | undefined;
  /** URI of the folder that a person picked, until another one becomes active. */
  readonly chosen: string | undefined;
}

/** Everything that can happen to it. */
export type Change =
  | { readonly kind: "server"; readonly health: ServerHealth }
  | {
      readonly kind: "folders";
      readonly folders: readonly { readonly uri: string; readonly name: string }[];
    }
  | {
      readonly kind: "view";
      readonly uri: string;
      readonly state: StateResult;
      readonly at: number;
    }
  | { readonly kind: "active"; readonly uri: string | undefined }
  | { readonly kind: "chosen"; readonly uri: string }
  | { readonly kind: "trusted" };

/** Before anything is known. */
export function emptySnapshot(trusted: boolean): Snapshot {
  return {
    trusted,
    server: { kind: "starting" },
    folders: [],
    active: undefined,
    chosen: undefined,
  };
}

/** The snapshot after the change. */
export function reduce(snapshot: Snapshot, change: Change): Snapshot {
  switch (change.kind) {
    case "server":
      return { ...snapshot, server: change.health };
    case "folders":
      return { ...snapshot, folders: change.folders.map((folder) => kept(snapshot, folder)) };
    case "view": {
      const { uri, state, at } = change;
      const folders = snapshot.folders.map((folder) =>
        folder.uri === uri ? { ...folder, state, receivedAt: at } : folder,
      );
      return { ...snapshot, folders };
    }
    case "active": {
      const moved = change.uri !== undefined && change.uri !== snapshot.active;
      const chosen = moved ? undefined : snapshot.chosen;
      return { ...snapshot, active: change.uri, chosen };
    }
    case "chosen":
      return { ...snapshot, chosen: change.uri };
    case "trusted":
      return { ...snapshot, trusted: true };
  }
}

/** The folder that the views show: the one that was picked, the active one, the most urgent. */
export function shownFolder(snapshot: Snapshot): FolderSnapshot | undefined {
  const { folders, chosen, active } = snapshot;
  return (
    folderOf(snapshot, chosen) ??
    folderOf(snapshot, active) ??
    folders.find(({ state }) => state?.panel?.needsPerson === true) ??
    folders.find(({ state }) => state?.live === true) ??
    folders.find(({ state }) => state?.run !== undefined) ??
    folders.find(({ state }) => state?.plan.uri !== undefined) ??
    folders[0]
  );
}

/** The folder with this URI. */
export function folderOf(snapshot: Snapshot, uri: string | undefined): FolderSnapshot | undefined {
  return uri === undefined ? undefined : snapshot.folders.find((folder) => folder.uri === uri);
}

/** What the server last said of a folder. */
export function panelOf(folder: FolderSnapshot | undefined): Panel | undefined {
  return folder?.state?.panel;
}

/** Whether there is a plan or was a run. */
export function isSetUp({ state }: FolderSnapshot): boolean {
  return state !== undefined && (state.plan.uri !== undefined || state.run !== undefined);
}

/** Whether the server offers this for the folder now. */
export function offers(folder: FolderSnapshot, verb: Verb): boolean {
  return panelOf(folder)?.actions.some((action) => action.verb === verb) === true;
}

/** The arguments that the server gives to a verb that it offers, such as `continue`. */
export function argumentsOf(
  folder: FolderSnapshot | undefined,
  verb: Verb,
): Readonly<Record<string, unknown>> {
  return panelOf(folder)?.actions.find((action) => action.verb === verb)?.arguments ?? {};
}

/** Whether a blocker waits to be called resolved. */
export function isBlocked(folder: FolderSnapshot): boolean {
  return panelOf(folder)?.card?.kind === "run-blocked";
}

function kept(snapshot: Snapshot, folder: { uri: string; name: string }): FolderSnapshot {
  const known = folderOf(snapshot, folder.uri);
  return known === undefined
    ? { ...folder, state: undefined, receivedAt: 0 }
    : { ...known, name: folder.name };
}
