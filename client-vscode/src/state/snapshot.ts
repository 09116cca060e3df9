/**
 * What this window knows: the server's health and, for each folder, the server's last picture.
 *
 * `reduce` is the only way to change it. Nothing here knows VS Code, and nothing here decides
 * about a run: what can be done, the server says.
 */

import type {
  ClaimsResult,
  Panel,
  RunAnywhere,
  SetupChoicesResult,
  StateResult,
  Verb,
} from "../generated/protocol";

/** How the language server is. */
export type ServerHealth =
  | { readonly kind: "starting" }
  | { readonly kind: "installing"; readonly step: string }
  | { readonly kind: "ok"; readonly version: string; readonly from: string }
  | {
      readonly kind: "missing";
      readonly why: string;
      readonly remedy: Remedy;
      /** The command that fixes it, typed into a terminal. */
      readonly command?: string;
      /** An attempt to install it failed: the user is needed, and not only for the first step. */
      readonly attempted?: boolean;
    }
  | { readonly kind: "failed"; readonly why: string };

/** What helps where there is no server. */
export type Remedy = "install" | "python" | "setting";

/** One folder of the window. */
export interface FolderSnapshot {
  /** As the server is sent it. */
  readonly uri: string;
  readonly name: string;
  /** None before the server has reported anything. */
  readonly state: StateResult | undefined;
  /** When that came, in milliseconds since the epoch. */
  readonly receivedAt: number;
  /** Why the server reports nothing of it, such as that it is no repository. */
  readonly problem?: FolderProblem | undefined;
  /** What can be chosen where nothing is set up yet, once it is known. */
  readonly choices?: SetupChoicesResult | undefined;
}

/** What the server refused, by its own name for it. */
export interface FolderProblem {
  readonly code: string;
  readonly text: string;
}

/** Why a loop did not start here; shown until the next attempt. */
export interface StartRefusal extends FolderProblem {
  readonly uri: string;
  /** What the repository brings that would run, where the user has not approved it. */
  readonly claims?: ClaimsResult;
}

/** All of it. */
export interface Snapshot {
  readonly trusted: boolean;
  readonly server: ServerHealth;
  /** In the window's order, each work tree once. */
  readonly folders: readonly FolderSnapshot[];
  /** Further folders of a work tree, by their URIs: the one that it is known by. */
  readonly others: ReadonlyMap<string, string>;
  /** The user's live and waiting runs, in all folders, of this window and others. */
  readonly anywhere: readonly RunAnywhere[];
  /** What a start lacked, until the next one. */
  readonly refusal: StartRefusal | undefined;
  /** URI of the folder in which a run is being started, until it is seen or refused. */
  readonly starting: string | undefined;
  /** The folder in which a first loop is being set up and started. */
  readonly beginning: string | undefined;
  /** URI of the folder with the active editor's document. */
  readonly active: string | undefined;
  /** URI of the folder that the user picked, until another one becomes active. */
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
  | {
      /** A folder is in the same work tree as another one, so it has the same loop. */
      readonly kind: "sameAs";
      readonly uri: string;
      readonly other: string;
    }
  | { readonly kind: "refused"; readonly refusal: StartRefusal | undefined }
  /** A start was asked for here, or came to nothing. */
  | { readonly kind: "starting"; readonly uri: string | undefined }
  | { readonly kind: "unreported"; readonly uri: string; readonly problem: FolderProblem }
  | { readonly kind: "choices"; readonly uri: string; readonly choices: SetupChoicesResult }
  | { readonly kind: "beginning"; readonly uri: string | undefined }
  | { readonly kind: "active"; readonly uri: string | undefined }
  | { readonly kind: "chosen"; readonly uri: string }
  | { readonly kind: "anywhere"; readonly runs: readonly RunAnywhere[] }
  | { readonly kind: "trusted" };

/** Before anything is known. */
export function emptySnapshot(trusted: boolean): Snapshot {
  return {
    trusted,
    server: { kind: "starting" },
    folders: [],
    others: new Map(),
    anywhere: [],
    refusal: undefined,
    starting: undefined,
    beginning: undefined,
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
      return withFolders(snapshot, change.folders);
    case "view": {
      const { uri, state, at } = change;
      const folders = snapshot.folders.map((folder) =>
        folder.uri === uri ? { ...folder, state, receivedAt: at, problem: undefined } : folder,
      );
      return { ...snapshot, folders, starting: stillStarting(snapshot, uri, state) };
    }
    case "starting":
      return { ...snapshot, starting: change.uri };
    case "unreported":
      return withFolder(snapshot, change.uri, { state: undefined, problem: change.problem });
    case "choices":
      return withFolder(snapshot, change.uri, { choices: change.choices });
    case "beginning":
      return { ...snapshot, beginning: change.uri };
    case "refused":
      return { ...snapshot, refusal: change.refusal };
    case "sameAs": {
      const { uri, other } = change;
      if (uri === other || !snapshot.folders.some((folder) => folder.uri === other)) {
        return snapshot;
      }
      return {
        ...snapshot,
        folders: snapshot.folders.filter((folder) => folder.uri !== uri),
        others: new Map([...snapshot.others, [uri, other]]),
      };
    }
    case "active": {
      const moved = change.uri !== undefined && change.uri !== snapshot.active;
      const chosen = moved ? undefined : snapshot.chosen;
      return { ...snapshot, active: change.uri, chosen };
    }
    case "chosen":
      return { ...snapshot, chosen: change.uri };
    case "anywhere":
      return { ...snapshot, anywhere: change.runs };
    case "trusted":
      // The server that is there only reads; another one is started in its place.
      return { ...snapshot, trusted: true, server: { kind: "starting" } };
  }
}

/** A start is over once its run is seen, even where that ended at once. */
function stillStarting(snapshot: Snapshot, uri: string, state: StateResult): string | undefined {
  const before = folderOf(snapshot, uri)?.state?.run?.run;
  const isSeen = state.live || (state.run !== undefined && state.run.run !== before);
  return isSeen && folderOf(snapshot, snapshot.starting)?.uri === uri
    ? undefined
    : snapshot.starting;
}

/**
 * Whether a run of a folder outside the window is live or waits. One that has ended is listed too
 * where its end needs the user, but an abandoned project is no reason to show a view.
 */
export function isElsewhere({ anywhere, folders }: Snapshot): boolean {
  const own = new Set(folders.map(({ state }) => state?.run?.workspace));
  return anywhere.some(({ workspace, phase }) => phase !== "ended" && !own.has(workspace));
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
    folders.find(isSetUp) ??
    folders[0]
  );
}

/** The folder with this URI, or the one that its work tree is known by. */
export function folderOf(snapshot: Snapshot, uri: string | undefined): FolderSnapshot | undefined {
  if (uri === undefined) {
    return undefined;
  }
  const known = snapshot.others.get(uri) ?? uri;
  return snapshot.folders.find((folder) => folder.uri === known);
}

/** What the server last said of a folder. */
export function panelOf(folder: FolderSnapshot | undefined): Panel | undefined {
  return folder?.state?.panel;
}

/** Whether there is a plan or was a run. */
export function isSetUp({ state }: FolderSnapshot): boolean {
  return state !== undefined && (state.plan.path !== "" || state.run !== undefined);
}

/** Whether it is known that nothing is set up here, so that a first loop can be described. */
export function isFresh(folder: FolderSnapshot): boolean {
  return folder.state !== undefined && !isSetUp(folder);
}

/** What was refused and waits for the user, in the folder where it was. */
export function refusalOf(
  { refusal }: Snapshot,
  folder: FolderSnapshot | undefined,
): StartRefusal | undefined {
  return refusal?.uri === folder?.uri && folder?.state?.live !== true ? refusal : undefined;
}

/** Whether the server cannot run, and waits for the user. */
export function isServerDown({ server }: Snapshot): boolean {
  return (
    server.kind === "failed" ||
    (server.kind === "missing" && (server.attempted === true || server.remedy === "setting"))
  );
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

/** Whether an iteration of the newest run may be undone, as far as the server has looked. */
export function canRollBack(folder: FolderSnapshot): boolean {
  return panelOf(folder)?.rows.some((row) => row.canRollBack) === true;
}

/** What of the runs shows in figures; anything else changes many times a second. */
export function runsMark({ server, folders }: Snapshot): string {
  const runs = folders.map(({ uri, state }) => {
    const run = state?.run;
    return [uri, run?.run, run?.phase, run?.phaseReason, run?.start, run?.last?.start];
  });
  return JSON.stringify([server.kind, runs]);
}

function withFolder(snapshot: Snapshot, uri: string, what: Partial<FolderSnapshot>): Snapshot {
  const folders = snapshot.folders.map((folder) =>
    folder.uri === uri ? { ...folder, ...what } : folder,
  );
  return { ...snapshot, folders };
}

/** After folders came or went. One whose work tree was known by a folder that went is separate. */
function withFolders(
  snapshot: Snapshot,
  open: readonly { readonly uri: string; readonly name: string }[],
): Snapshot {
  const isOpen = (uri: string): boolean => open.some((folder) => folder.uri === uri);
  const others = [...snapshot.others].filter(([uri, other]) => isOpen(uri) && isOpen(other));
  const same = new Map(others);
  const folders = open.filter(({ uri }) => !same.has(uri)).map((folder) => kept(snapshot, folder));
  return { ...snapshot, folders, others: same };
}

function kept(snapshot: Snapshot, folder: { uri: string; name: string }): FolderSnapshot {
  // Also what was known of it by the name of another folder, until it is reported again.
  const known = folderOf(snapshot, folder.uri);
  return known === undefined
    ? { ...folder, state: undefined, receivedAt: 0 }
    : { ...known, ...folder };
}
