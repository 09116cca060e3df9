/**
 * Which events are told by a notification, once each; it must never know VS Code.
 *
 * All of them are seen elsewhere anyway: a notification is only for who looks somewhere else.
 */

import type { Panel, StateResult } from "../generated/protocol";
import { folderOf, panelOf, type FolderSnapshot, type Snapshot } from "../state/snapshot";

export const NOTICE_KINDS = ["question", "breaker", "ended", "limitWait", "server"] as const;
export type NoticeKind = (typeof NOTICE_KINDS)[number];

export interface NotificationSettings {
  readonly which: "all" | "important" | "none";
  readonly except: readonly string[];
}

/** What a button of a notification does. */
export type NoticeAction =
  | "answer"
  | "openPlan"
  | "resetBreaker"
  | "showLog"
  | "showSummary"
  | "stop"
  | "showOutput"
  | "selectPython"
  | "silence";

export interface Notice {
  readonly kind: NoticeKind;
  /** Two with the same key are about the same thing: it is told once. */
  readonly key: string;
  readonly severity: "info" | "warning" | "error";
  readonly text: string;
  readonly actions: readonly NoticeAction[];
  /** None where it is about the window. */
  readonly folder: string | undefined;
}

export interface Surroundings {
  readonly settings: NotificationSettings;
  /** Whether a person looks at this window. */
  readonly focused: boolean;
  /** Whether the plan of a folder can be seen. */
  readonly planVisible: (folder: FolderSnapshot) => boolean;
  /** A time in words, in the time zone of whoever looks. */
  readonly clock: (timestamp: string) => string;
  /** In milliseconds since the epoch. */
  readonly now: number;
}

/** A wait that is longer is worth a word, in milliseconds. */
const LONG_WAIT = 10 * 60 * 1000;

/** What to tell of the step from one snapshot to the next. */
export function notificationsFor(
  before: Snapshot,
  after: Snapshot,
  around: Surroundings,
): readonly Notice[] {
  const notices = [
    ...ofServer(before, after),
    ...after.folders.flatMap((folder) => {
      const earlier = folderOf(before, folder.uri);
      return earlier?.state === folder.state ? [] : ofFolder(earlier?.state, folder, after, around);
    }),
  ];
  return notices.filter((notice) => isWanted(notice.kind, around.settings));
}

/** Several at once as one, so that they do not pile up: the gravest first, with its buttons. */
export function merged(notices: readonly Notice[]): Notice | undefined {
  const grave = (notice: Notice): number => ["error", "warning", "info"].indexOf(notice.severity);
  const sorted = [...notices].sort((one, other) => grave(one) - grave(other));
  const [first] = sorted;
  return first === undefined
    ? undefined
    : { ...first, text: sorted.map(({ text }) => text).join(" · ") };
}

function isWanted(kind: NoticeKind, { which, except }: NotificationSettings): boolean {
  return which !== "none" && !except.includes(kind) && (which === "all" || kind !== "limitWait");
}

function ofServer(before: Snapshot, after: Snapshot): readonly Notice[] {
  const { server } = after;
  // What is merely not installed yet is shown in the view, and nobody is called for it.
  const broken = server.kind === "failed";
  if (!broken || before.server.kind === "failed") {
    return [];
  }
  return [
    {
      kind: "server",
      key: "server",
      severity: "error",
      text: `Ralph's server does not run: ${server.why}`,
      actions: ["showOutput", "selectPython"],
      folder: undefined,
    },
  ];
}

function ofFolder(
  earlier: StateResult | undefined,
  folder: FolderSnapshot,
  snapshot: Snapshot,
  around: Surroundings,
): readonly Notice[] {
  const panel = panelOf(folder);
  const run = folder.state?.run?.run;
  if (panel === undefined) {
    return [];
  }
  const name = snapshot.folders.length > 1 ? ` in ${folder.name}` : "";
  const about = { folder: folder.uri, name, run: run ?? "" };
  return [
    ...ofQuestion(folder, panel, about, around),
    ...ofBreaker(earlier?.panel, panel, about),
    ...ofEnd(earlier, folder.state, panel, about),
    ...ofWait(panel, about, around),
  ];
}

interface About {
  readonly folder: string;
  readonly name: string;
  readonly run: string;
}

function ofQuestion(
  folder: FolderSnapshot,
  { question }: Panel,
  { name }: About,
  around: Surroundings,
): readonly Notice[] {
  const waits = question !== undefined && question.answer === undefined;
  if (!waits || (around.focused && around.planVisible(folder))) {
    return [];
  }
  return [
    {
      kind: "question",
      key: `question:${question.key}`,
      severity: "warning",
      text: `Ralph asks${name}: ${question.text}`,
      actions: ["answer", "openPlan", "silence"],
      folder: folder.uri,
    },
  ];
}

function ofBreaker(earlier: Panel | undefined, panel: Panel, about: About): readonly Notice[] {
  const opened = panel.breaker === "OPEN" && panel.state === "stuck";
  if (!opened || (earlier?.breaker === "OPEN" && earlier.state === "stuck")) {
    return [];
  }
  return [
    {
      kind: "breaker",
      key: `breaker:${about.run}:${panel.iterations.value}`,
      severity: "warning",
      text: `Ralph's breaker opened${about.name}: ${firstLine(panel.card?.text)}`,
      actions: ["resetBreaker", "showLog", "silence"],
      folder: about.folder,
    },
  ];
}

function ofEnd(
  earlier: StateResult | undefined,
  state: StateResult | undefined,
  panel: Panel,
  about: About,
): readonly Notice[] {
  const end = state?.run?.end;
  // Only of a run that was seen running: what ended while nobody looked is told by the views.
  const wasSeen = earlier?.run?.run === about.run && earlier.run.end === undefined;
  if (end === undefined || !wasSeen || panel.state === "asks" || panel.state === "blocked") {
    return [];
  }
  const severity = SEVERITY_OF_END[end.reason];
  // An open breaker has been told already.
  if (severity === undefined || (end.reason === "stuck" && panel.breaker === "OPEN")) {
    return [];
  }
  return [
    {
      kind: "ended",
      key: `ended:${about.run}:${end.at}`,
      severity,
      text: `Ralph's run ended${about.name}, ${end.reason}: ${end.message}`,
      actions:
        severity === "info" ? ["showSummary", "silence"] : ["showSummary", "showLog", "silence"],
      folder: about.folder,
    },
  ];
}

const SEVERITY_OF_END: Readonly<Record<string, Notice["severity"] | undefined>> = {
  complete: "info",
  limit: "info",
  fatal: "error",
  stuck: "warning",
};

function ofWait(panel: Panel, about: About, around: Surroundings): readonly Notice[] {
  const { until } = panel;
  if (panel.state !== "waiting" || until === undefined) {
    return [];
  }
  const { card } = panel;
  const left = card?.kind === "run-waits" ? Date.parse(until) - around.now : 0;
  if (left <= LONG_WAIT) {
    return [];
  }
  return [
    {
      kind: "limitWait",
      key: `wait:${about.run}:${until}`,
      severity: "info",
      text: `Ralph ${lowerFirst(card?.title)}${about.name} and goes on at ${around.clock(until)}.`,
      actions: ["stop", "silence"],
      folder: about.folder,
    },
  ];
}

function lowerFirst(text = "waits"): string {
  return text.slice(0, 1).toLowerCase() + text.slice(1);
}

function firstLine(text: string | undefined): string {
  return text?.split("\n", 1)[0] ?? "";
}
