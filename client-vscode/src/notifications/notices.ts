/**
 * Which events are shown as a notification, once each. Does not import VS Code.
 *
 * All of them are seen elsewhere anyway: a notification is only for who looks somewhere else.
 */

import type { Panel, StateResult } from "../generated/protocol";
import { t } from "../l10n";
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
  /** Two with the same key are about the same thing: it is shown once. */
  readonly key: string;
  readonly severity: "info" | "warning" | "error";
  readonly text: string;
  readonly actions: readonly NoticeAction[];
  /** None where it is about the window. */
  readonly folder: string | undefined;
}

export interface Surroundings {
  readonly settings: NotificationSettings;
  /** Whether the window is focused. */
  readonly focused: boolean;
  /** Whether the plan of a folder can be seen. */
  readonly planVisible: (folder: FolderSnapshot) => boolean;
  /** A time in words, in the reader's time zone. */
  readonly clock: (timestamp: string) => string;
  /** In milliseconds since the epoch. */
  readonly now: number;
}

/** A wait that is longer is worth a word, in milliseconds. */
const LONG_WAIT = 10 * 60 * 1000;

/** The notices of the step from one snapshot to the next. */
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

/** Whether a notice is still true; what has ended stays ended. */
export function stillHolds({ kind, key, folder }: Notice, { server, folders }: Snapshot): boolean {
  const panel = panelOf(folders.find(({ uri }) => uri === folder));
  switch (kind) {
    case "question":
      return key === `question:${panel?.question?.key}` && panel?.question?.answer === undefined;
    case "breaker":
      return panel?.breaker === "OPEN";
    case "limitWait":
      return panel?.state === "waiting";
    case "server":
      return server.kind === "failed";
    case "ended":
      return true;
  }
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
      text: t("Ralph's server is not running: {0}", server.why),
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
  // Whose loop it is, where there are several.
  const who = snapshot.folders.length > 1 ? t("Ralph in {0}", folder.name) : t("Ralph");
  const about = { folder: folder.uri, who, run: run ?? "" };
  return [
    ...ofQuestion(folder, panel, about, around),
    ...ofBreaker(earlier?.panel, panel, about),
    ...ofEnd(earlier, folder.state, panel, about),
    ...ofWait(panel, about, around),
  ];
}

interface About {
  readonly folder: string;
  readonly who: string;
  readonly run: string;
}

function ofQuestion(
  folder: FolderSnapshot,
  { question }: Panel,
  { who }: About,
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
      text: t("{0} asks: {1}", who, question.text),
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
      text: t("{0}: the breaker opened: {1}", about.who, firstLine(panel.card?.text)),
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
  // Only of a run that this window has seen running: an earlier end is in the views.
  const wasSeen = earlier?.run?.run === about.run && earlier.run.end === undefined;
  if (end === undefined || !wasSeen || panel.state === "asks" || panel.state === "blocked") {
    return [];
  }
  const severity = SEVERITY_OF_END[end.reason];
  // An open breaker has been shown already.
  if (severity === undefined || (end.reason === "stuck" && panel.breaker === "OPEN")) {
    return [];
  }
  return [
    {
      kind: "ended",
      key: `ended:${about.run}:${end.at}`,
      severity,
      text: t("{0}: run ended ({1}): {2}", about.who, end.reason, end.message),
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
      text: t(
        "{0}: {1}, continues at {2}",
        about.who,
        card?.title ?? panel.headline,
        around.clock(until),
      ),
      actions: ["stop", "silence"],
      folder: about.folder,
    },
  ];
}

function firstLine(text: string | undefined): string {
  return text?.split("\n", 1)[0] ?? "";
}
