/** What the status bar says of all folders in a few characters; it must never know VS Code. */

import type { Panel, PanelState } from "../generated/protocol";
import {
  isSetUp,
  panelOf,
  shownFolder,
  type FolderSnapshot,
  type Snapshot,
} from "../state/snapshot";

/** When it is shown (setting `ralphLoop.statusBar.show`). */
export type ShowStatus = "always" | "whenActive" | "never";

export interface StatusModel {
  /** With a codicon before the words. */
  readonly text: string;
  /** For a screen reader. */
  readonly label: string;
  readonly background: "error" | "warning" | undefined;
  /** What a click does: `show` goes to the Loop view. */
  readonly command: "answer" | "show" | "showOutput";
  /** The six questions with their answers, or what the server lacks. */
  readonly lines: readonly { readonly heading: string; readonly text: string }[];
}

export interface StatusOptions {
  readonly show: ShowStatus;
  /** No turning icons. */
  readonly still: boolean;
  /** URIs of folders whose end a person has had time to see. */
  readonly seenEnds: ReadonlySet<string>;
  /** `17:00`, in the time zone of whoever looks. */
  readonly clock: (timestamp: string) => string;
}

/** None where nothing is shown. */
export function statusItem(snapshot: Snapshot, options: StatusOptions): StatusModel | undefined {
  if (options.show === "never") {
    return undefined;
  }
  const model = ofServer(snapshot) ?? ofFolders(snapshot, options);
  return model === undefined || !options.still
    ? model
    : { ...model, text: model.text.replace("~spin", "") };
}

function ofServer({ server, folders }: Snapshot): StatusModel | undefined {
  if (folders.length === 0) {
    return undefined;
  }
  switch (server.kind) {
    case "installing":
      return {
        text: "$(sync~spin) Ralph: setting up",
        label: `Ralph is setting up: ${server.step}`,
        background: undefined,
        command: "showOutput",
        lines: [{ heading: "Setting up", text: server.step }],
      };
    case "missing":
    case "failed":
      return {
        text: "$(error) Ralph: no server",
        label: `Ralph has no server: ${server.why}`,
        background: "error",
        command: "show",
        lines: [{ heading: "No server", text: server.why }],
      };
    case "starting":
    case "ok":
      return undefined;
  }
}

function ofFolders(snapshot: Snapshot, options: StatusOptions): StatusModel | undefined {
  const shown = shownFolder(snapshot);
  const busy = snapshot.folders.filter(isBusy);
  const [first, ...others] = busy;
  if (first !== undefined && others.length > 0) {
    return ofSeveral(busy);
  }
  const folder = first ?? shown;
  const panel = panelOf(folder);
  if (folder === undefined || panel === undefined || !isSetUp(folder)) {
    return options.show === "always" ? idle(panel) : undefined;
  }
  const isEnd = panel.state === "complete" || panel.state === "ended" || panel.state === "fatal";
  if (panel.state === "none" || (isEnd && options.seenEnds.has(folder.uri))) {
    return idle(panel);
  }
  return ofPanel(panel, options);
}

function ofPanel(panel: Panel, { clock }: StatusOptions): StatusModel {
  const until = panel.state === "waiting" ? panel.until : undefined;
  const words = until === undefined ? panel.short : `until ${clock(until)}`;
  const halfOpen = panel.state === "running" && panel.tone === "warning";
  const icon = halfOpen ? "warning" : ICONS[panel.state];
  return {
    text: `$(${icon}) Ralph${WITH_COLON.has(panel.state) ? ":" : ""} ${words}`.trimEnd(),
    label: `Ralph: ${[panel.headline, words].filter((part) => part !== "").join(", ")}`,
    background: halfOpen ? "warning" : BACKGROUNDS[panel.state],
    command: panel.state === "asks" ? "answer" : "show",
    lines: panel.answers,
  };
}

function ofSeveral(folders: readonly FolderSnapshot[]): StatusModel {
  const panels = folders.flatMap((folder) => panelOf(folder) ?? []);
  const n = (holds: (panel: Panel) => boolean): number => panels.filter(holds).length;
  const asks = n(({ state }) => state === "asks");
  const waits = n(({ needsPerson, state }) => needsPerson && state !== "asks");
  const runs = n(({ needsPerson }) => !needsPerson);
  const words = [
    runs > 0 ? `${runs} running` : "",
    asks > 0 ? `${asks} ${asks === 1 ? "asks" : "ask"}` : "",
    waits > 0 ? `${waits} ${waits === 1 ? "waits" : "wait"} for you` : "",
  ].filter((part) => part !== "");
  const text = words.join(", ");
  const icon = asks > 0 ? "question" : waits > 0 ? "warning" : "sync~spin";
  return {
    text: `$(${icon}) Ralph ${text}`,
    label: `Ralph: ${text}`,
    background: asks + waits > 0 ? "warning" : undefined,
    command: asks > 0 ? "answer" : "show",
    lines: folders.map((folder) => ({
      heading: folder.name,
      text: panelOf(folder)?.headline ?? "",
    })),
  };
}

function idle(panel: Panel | undefined): StatusModel {
  return {
    text: "$(sync-ignored) Ralph",
    label: "Ralph: no loop runs",
    background: undefined,
    command: "show",
    lines: panel?.answers ?? [],
  };
}

/** Whether it should be seen even while another folder is looked at. */
function isBusy(folder: FolderSnapshot): boolean {
  const panel = panelOf(folder);
  return panel !== undefined && (panel.live || panel.needsPerson);
}

const ICONS: Readonly<Record<PanelState, string>> = {
  none: "sync-ignored",
  running: "sync~spin",
  stopping: "sync~spin",
  paused: "debug-pause",
  waiting: "clock",
  asks: "question",
  blocked: "circle-slash",
  stuck: "error",
  complete: "pass",
  ended: "stop-circle",
  fatal: "error",
  crashed: "debug-disconnect",
};

const WITH_COLON: ReadonlySet<PanelState> = new Set([
  "stuck",
  "complete",
  "ended",
  "fatal",
  "crashed",
] satisfies PanelState[]);

/** Only the two that UX guidelines allow; a blocked run warns, for nothing of ours is broken. */
const BACKGROUNDS: Partial<Record<PanelState, "error" | "warning">> = {
  asks: "warning",
  blocked: "warning",
  stuck: "error",
  crashed: "error",
};
