/** What the status bar says of all folders in a few characters; it must never know VS Code. */

import type { Panel, PanelState } from "../generated/protocol";
import { count } from "../intl";
import { t } from "../l10n";
import { clientNeeds } from "../state/notice";
import {
  folderOf,
  isBlocked,
  isServerDown,
  isSetUp,
  offers,
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
  /** What can be done from the tooltip, the most likely first. */
  readonly links: readonly StatusLink[];
}

/** A link of the tooltip: what it says, and the command without `ralphLoop.`. */
export interface StatusLink {
  readonly title: string;
  readonly command: LinkCommand;
}

/** All that a tooltip may ever run. */
export const LINK_COMMANDS = [
  "answer",
  "resolveBlocked",
  "overruleJudge",
  "resetBreaker",
  "resume",
  "startLoop",
  "pause",
  "stopAfterIteration",
  "loop.focus",
  "showOutput",
] as const;
export type LinkCommand = (typeof LINK_COMMANDS)[number];

export interface StatusOptions {
  readonly show: ShowStatus;
  /** No turning icons. */
  readonly reducedMotion: boolean;
  /** URIs of folders whose end the user has had time to see. */
  readonly seenEnds: ReadonlySet<string>;
  /** `17:00`, in the reader's time zone. */
  readonly clock: (timestamp: string) => string;
}

/** None where nothing is shown. */
export function statusItem(snapshot: Snapshot, options: StatusOptions): StatusModel | undefined {
  if (options.show === "never") {
    return undefined;
  }
  const model = ofServer(snapshot) ?? ofRefusal(snapshot) ?? ofFolders(snapshot, options);
  return model === undefined || !options.reducedMotion
    ? model
    : { ...model, text: model.text.replace("~spin", "") };
}

/** A start that was refused waits for the user, as a question does. */
function ofRefusal(snapshot: Snapshot): StatusModel | undefined {
  const [why] = snapshot.trusted ? clientNeeds(snapshot) : [];
  return why === undefined
    ? undefined
    : {
        text: `$(warning) ${t("Ralph needs you")}`,
        label: t("Ralph needs you: {0}", why),
        background: "warning",
        command: "show",
        lines: [{ heading: t("Needs you"), text: why }],
        links: [showLoop()],
      };
}

function ofServer(snapshot: Snapshot): StatusModel | undefined {
  const { server, folders } = snapshot;
  if (folders.length === 0) {
    return undefined;
  }
  switch (server.kind) {
    case "installing":
      return {
        text: `$(sync~spin) ${t("Ralph: setting up")}`,
        label: t("Ralph is setting up: {0}", server.step),
        background: undefined,
        command: "showOutput",
        lines: [{ heading: t("Setting up"), text: server.step }],
        links: [showOutput()],
      };
    case "missing":
    case "failed":
      if (!isServerDown(snapshot)) {
        return undefined;
      }
      return {
        text: `$(error) ${t("Ralph: no server")}`,
        label: t("Ralph server unavailable: {0}", server.why),
        background: "error",
        command: "show",
        lines: [{ heading: t("Server unavailable"), text: server.why }],
        links: [showLoop(), showOutput()],
      };
    case "starting":
    case "ok":
      return undefined;
  }
}

function ofFolders(snapshot: Snapshot, options: StatusOptions): StatusModel | undefined {
  const shown = shownFolder(snapshot);
  const busy = snapshot.folders.filter(isBusy);
  // The folder that is looked at; where nothing happens in it, the one that needs the user first.
  const folder = shown !== undefined && isBusy(shown) ? shown : (mostUrgent(busy) ?? shown);
  const starting = folderOf(snapshot, snapshot.starting);
  if (starting !== undefined && starting.uri === shown?.uri && !isLive(starting)) {
    return startingItem(starting);
  }
  const panel = panelOf(folder);
  if (folder === undefined || panel === undefined || !isSetUp(folder)) {
    return options.show === "always" ? idle(snapshot, folder) : undefined;
  }
  const isEnd = panel.state === "complete" || panel.state === "ended" || panel.state === "fatal";
  if (panel.state === "none" || (isEnd && options.seenEnds.has(folder.uri))) {
    return idle(snapshot, folder);
  }
  const model = ofPanel(snapshot, folder, panel, options);
  const named = folder.uri === shown?.uri ? model : withName(model, folder);
  const others = snapshot.folders.filter((other) => other !== folder);
  return withOthers(named, others, snapshot.trusted);
}

/** The headline, and the short words where they say something else. */
function labelWords(headline: string, words: string): string {
  const isSaid = headline.toLowerCase().includes(words.toLowerCase());
  return isSaid ? headline : `${headline}, ${words}`;
}

function mostUrgent(busy: readonly FolderSnapshot[]): FolderSnapshot | undefined {
  return busy.find((folder) => panelOf(folder)?.needsPerson === true) ?? busy[0];
}

function isLive(folder: FolderSnapshot): boolean {
  return panelOf(folder)?.live === true;
}

/** The loop of a folder that is not the one looked at is called by its folder's name. */
function withName(model: StatusModel, { name }: FolderSnapshot): StatusModel {
  return {
    ...model,
    text: model.text.replace(" Ralph", ` Ralph ${name}`),
    label: t("{0}: {1}", name, model.label),
  };
}

/** What other folders need is said behind it, and each of them has a line of the tooltip. */
function withOthers(
  model: StatusModel,
  others: readonly FolderSnapshot[],
  trusted: boolean,
): StatusModel {
  const needing = others.filter((other) => panelOf(other)?.needsPerson === true);
  const [only, ...more] = needing;
  const short = only === undefined ? "" : (panelOf(only)?.short ?? "");
  const words =
    only === undefined
      ? ""
      : more.length > 0
        ? t("{0} others need you", count(needing.length))
        : t("{0}: {1}", only.name, short);
  const lines = others
    .filter((other) => panelOf(other) !== undefined)
    .map((other) => ({ heading: other.name, text: panelOf(other)?.headline ?? "" }));
  const all = { ...model, lines: [...model.lines, ...lines] };
  if (words === "") {
    return all;
  }
  const asks = needing.some((other) => panelOf(other)?.state === "asks");
  const isOffered = model.links.some(({ command }) => command === "answer");
  const answer = asks && trusted && !isOffered ? [link("answer")] : [];
  return {
    ...all,
    links: [...answer, ...model.links],
    text: `${model.text} · ${words}`,
    label: `${model.label}; ${words}`,
    background: model.background ?? "warning",
    // With a question elsewhere only, the way to its answer is one click, as it is here.
    command: model.command === "show" && asks ? "answer" : model.command,
  };
}

function startingItem({ name }: FolderSnapshot): StatusModel {
  return {
    text: `$(sync~spin) ${t("Ralph: starting")}`,
    label: t("Ralph is starting in {0}", name),
    background: undefined,
    command: "show",
    lines: [],
    links: [showLoop()],
  };
}

function ofPanel(
  snapshot: Snapshot,
  folder: FolderSnapshot,
  panel: Panel,
  { clock }: StatusOptions,
): StatusModel {
  const until = panel.state === "waiting" ? panel.until : undefined;
  const words = until === undefined ? panel.short : t("until {0}", clock(until));
  const halfOpen = panel.state === "running" && panel.tone === "warning";
  const icon = halfOpen ? "warning" : ICONS[panel.state];
  return {
    text: `$(${icon}) Ralph${WITH_COLON.has(panel.state) ? ":" : ""} ${words}`.trimEnd(),
    label: `Ralph: ${labelWords(panel.headline, words)}`,
    background: halfOpen ? "warning" : BACKGROUNDS[panel.state],
    command: panel.state === "asks" ? "answer" : "show",
    lines: panel.answers,
    links: linksOf(snapshot, folder),
  };
}

function idle(snapshot: Snapshot, folder: FolderSnapshot | undefined): StatusModel {
  return {
    text: "$(sync-ignored) Ralph",
    label: t("Ralph: no loop running"),
    background: undefined,
    command: "show",
    lines: panelOf(folder)?.answers ?? [],
    links: linksOf(snapshot, folder),
  };
}

/** What the server offers for this folder now; without trust nothing but looking. */
function linksOf({ trusted }: Snapshot, folder: FolderSnapshot | undefined): readonly StatusLink[] {
  if (folder === undefined || !trusted) {
    return [showLoop()];
  }
  const blocked = isBlocked(folder);
  const offered: readonly (LinkCommand | false)[] = [
    offers(folder, "answer") && "answer",
    blocked && "resolveBlocked",
    offers(folder, "overrule") && "overruleJudge",
    offers(folder, "reset") && "resetBreaker",
    // A blocker is resolved by the same verb.
    !blocked && offers(folder, "resume") && "resume",
    offers(folder, "start") && "startLoop",
    offers(folder, "pause") && "pause",
    offers(folder, "stop") && panelOf(folder)?.state !== "stopping" && "stopAfterIteration",
  ];
  return [...offered.flatMap((command) => (command === false ? [] : [link(command)])), showLoop()];
}

function link(command: LinkCommand): StatusLink {
  return { title: titleOf(command), command };
}

function showLoop(): StatusLink {
  return link("loop.focus");
}

function showOutput(): StatusLink {
  return link("showOutput");
}

function titleOf(command: LinkCommand): string {
  switch (command) {
    case "answer":
      return t("Answer…");
    case "resolveBlocked":
      return t("Resolve…");
    case "overruleJudge":
      return t("Overrule the Judge");
    case "resetBreaker":
      return t("Reset Breaker");
    case "resume":
      return t("Resume");
    case "startLoop":
      return t("Start Loop");
    case "pause":
      return t("Pause");
    case "stopAfterIteration":
      return t("Stop After This Iteration");
    case "loop.focus":
      return t("Show");
    case "showOutput":
      return t("Show Output");
  }
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
