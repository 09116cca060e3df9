/**
 * What the Loop view shows, before it is drawn: pure functions from what the server reported.
 *
 * The server has put everything into words; here it is only laid out, and the time continues by
 * itself. It must never know the DOM, nor decide anything about a run.
 */

import type {
  Action,
  AnswerView,
  Card,
  ClaimView,
  Fact,
  Panel,
  PanelState,
  Tone,
} from "../generated/protocol";
import { clockTime, count, fromNow } from "../intl";
import { t } from "../l10n";
import type { FirstUse } from "./firstUse";
import type { FolderLine, LoopSnapshot, PageCommand } from "./messages";

/** A button: what it says, and what it asks for. */
export interface Button {
  readonly title: string;
  readonly primary: boolean;
  readonly enabled: boolean;
  readonly does:
    { readonly action: Action } | { readonly command: PageCommand } | { readonly show: string };
}

/** A folder in the overview of all: a button that shows it. */
export interface FolderTab {
  readonly button: Button;
  readonly words: string;
  readonly tone: Tone;
  readonly isShown: boolean;
  readonly needsPerson: boolean;
}

/** The headline above everything else. */
export interface CardModel {
  readonly key: string;
  /** The options of a question, each of which answers it. */
  readonly options: readonly Button[];
  readonly tone: Tone;
  readonly title: string;
  readonly text: string;
  /** Since when it is so, or until when: counted by the clock here. */
  readonly when: string;
  /** Whether the loop waits for the user until it is settled. */
  readonly isLarge: boolean;
  readonly buttons: readonly Button[];
  /** Commands and files that would run, each with its text. */
  readonly claims?: readonly ClaimView[];
  /** Whether something is being done about it now. */
  readonly busy?: boolean;
}

/** One line of a list of headings and words. */
export interface Row {
  readonly key: string;
  readonly heading: string;
  readonly text: string;
  readonly tone: Tone;
  /** The rest of the text, behind a line that opens. */
  readonly more: string;
  /** Whether headline, card or buttons say it already. */
  readonly isRedundant: boolean;
}

/** How far it is. */
export interface Progress {
  readonly value: number;
  readonly of: number;
  /** For screen readers. */
  readonly label: string;
}

/** Everything that is drawn but the agent's messages. */
export interface LoopModel {
  /** What the page is, for screen readers. */
  readonly label: string;
  /** All folders, where there are several. */
  readonly folders: readonly FolderTab[];
  readonly state: PanelState;
  readonly tone: Tone;
  readonly headline: string;
  /** The task in work, or the one that waits for the user. */
  readonly doing: string;
  /** `3 / 20`, or empty before the first iteration. */
  readonly count: string;
  readonly countLabel: string;
  readonly progress: Progress | undefined;
  /** The way to a first loop, where there is none. */
  readonly firstUse?: FirstUse;
  readonly cards: readonly CardModel[];
  readonly buttons: readonly Button[];
  readonly answers: readonly Row[];
  readonly facts: readonly Row[];
  /** Whether nothing new comes: it may be otherwise by now. */
  readonly stale: boolean;
  /** Milliseconds after which it reads otherwise by itself; none where it does not. */
  readonly ticks: number | undefined;
}

/** Milliseconds between two ticks of the time, and of what is shown in minutes. */
const TICK = 1000;
const SLOW_TICK = 15_000;

/**
 * The whole view as it is at `now`, in milliseconds since the epoch.
 *
 * A page that was hidden begins with what it remembers, which is not `fresh`: its clock is stopped
 * until the host has spoken.
 */
export function loopModel(snapshot: LoopSnapshot, now: number, fresh = true): LoopModel {
  const panel = snapshot.state?.panel;
  const notice = noticeCard(snapshot, now);
  const stale = !fresh || snapshot.notice?.asOf !== undefined;
  const label = snapshot.name === "" ? t("Ralph Loop") : t("Ralph Loop, {0}", snapshot.name);
  const folders = snapshot.folders.map(folderTab);
  const { firstUse } = snapshot;
  if (panel === undefined || firstUse !== undefined) {
    return {
      label,
      folders,
      state: "none",
      tone: "plain",
      headline: notice === undefined && firstUse === undefined ? t("Looking for a loop…") : "",
      doing: "",
      count: "",
      countLabel: "",
      progress: undefined,
      ...(firstUse === undefined ? {} : { firstUse }),
      cards: notice === undefined ? [] : [notice],
      buttons: [],
      answers: [],
      facts: [],
      stale: false,
      ticks: undefined,
    };
  }
  const { iterations } = panel;
  // While a run begins, the end of the one before it is no news.
  const starts = snapshot.starting && !panel.live;
  const card = starts ? undefined : panel.card;
  const cards: CardModel[] = notice === undefined ? [] : [notice];
  if (card !== undefined) {
    // What continues by itself asks for nothing, so no button is loud there.
    const asks = card.kind !== "run-waits" && card.kind !== "run-stops";
    // Of the options of a question none is recommended.
    const options = card.actions.filter(isOption).map((action) => button(action, false, snapshot));
    const buttons = card.actions
      .filter((action) => !isOption(action) && !isInNotice(action, snapshot))
      .map((action, at) => button(action, asks && at === 0, snapshot));
    const { kind: key, tone, title, text } = card;
    const isLarge = panel.needsPerson;
    const when = whenOf(card, panel, now);
    cards.push({ key, tone, title, text, when, options, buttons, isLarge });
  }
  const inCard = new Set(card?.actions.map(sameness));
  const others = panel.actions.filter(
    (action) => !inCard.has(sameness(action)) && !isInNotice(action, snapshot),
  );
  const limit = iterations.of;
  const begun = iterations.value > 0 || limit !== undefined;
  return {
    label,
    folders,
    state: starts ? "running" : panel.state,
    tone: starts ? "active" : panel.tone,
    headline: starts ? t("Starting…") : headlineOf(panel, now),
    doing: starts ? "" : panel.doing,
    count:
      begun && !starts
        ? [iterations.value, limit]
            .flatMap((n) => n ?? [])
            .map(count)
            .join(" / ")
        : "",
    countLabel: begun && !starts ? iterationWords(iterations.value, limit) : "",
    progress: progressOf(snapshot),
    cards,
    // While nothing runs and nothing is urgent, the first button is what somebody came for.
    buttons: starts
      ? []
      : others.map((action, at) =>
          button(action, at === 0 && cards.length === 0 && !panel.live, snapshot),
        ),
    answers: starts ? [] : panel.answers.map(answerRow),
    facts: (starts ? [] : panel.facts).map((fact) => row(fact, snapshot, now, stale)),
    stale,
    ticks:
      panel.ticking && !stale
        ? TICK
        : cards.some(({ when }) => when !== "")
          ? SLOW_TICK
          : undefined,
  };
}

function answerRow({ heading, text, redundant }: AnswerView): Row {
  const isRedundant = redundant === true;
  return { key: heading, heading, text, tone: "plain", more: "", isRedundant };
}

function folderTab({ workspace, name, words, tone, isShown, needsPerson }: FolderLine): FolderTab {
  const button = { title: name, primary: false, enabled: true, does: { show: workspace } };
  return { button, words, tone, isShown, needsPerson };
}

/** `53s`, `47m 23s`, `2h 3m 5s`: as the server writes it. */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  const [hours, minutes, left] = [
    Math.floor(whole / 3600),
    Math.floor(whole / 60) % 60,
    whole % 60,
  ];
  if (hours > 0) {
    return t("{0}h {1}m {2}s", hours, minutes, left);
  }
  return minutes > 0 ? t("{0}m {1}s", minutes, left) : t("{0}s", left);
}

/** The state; a wait that is long says until when, in the reader's time zone. */
function headlineOf({ card, headline, until }: Panel, now: number): string {
  const isLong = card?.kind === "run-waits" && until !== undefined;
  return isLong ? t("{0} until {1}", headline, clockTime(until, now)) : headline;
}

/** What a card leaves to a clock: the server knows neither the time here nor how it is written. */
function whenOf({ kind, since }: Card, { until }: Panel, now: number): string {
  if (kind === "run-waits" && until !== undefined) {
    return Date.parse(until) > now
      ? t("Continues at {0} ({1})", clockTime(until, now), fromNow(until, now))
      : t("About to continue");
  }
  if (since === undefined) {
    return "";
  }
  // The clock of a remote machine may be ahead of the one here.
  const ago = fromNow(Math.min(Date.parse(since), now), now);
  return kind === "engine-gone"
    ? t("Last event at {0} ({1})", clockTime(since, now), ago)
    : t("Since {0} ({1})", clockTime(since, now), ago);
}

function iterationWords(value: number, limit: number | undefined): string {
  return limit === undefined
    ? t("iteration {0}", count(value))
    : t("iteration {0} of {1}", count(value), count(limit));
}

function row(fact: Fact, snapshot: LoopSnapshot, now: number, stale: boolean): Row {
  const panel = snapshot.state?.panel;
  // The server reports the time when something changes; in between it continues here.
  const ticks = fact.key === "time" && panel?.ticking === true && !stale;
  const since = Math.max(0, now - snapshot.receivedAt) / 1000;
  // What the time is limited to stays behind it.
  const [, limit] = fact.text.split(" of ");
  const spent = ticks ? duration(panel.seconds + since) : "";
  const ticked = limit === undefined ? spent : t("{0} of {1}", spent, limit);
  const text = ticks ? ticked : fact.text;
  const { key, heading, tone, more } = fact;
  return { key, heading, text, tone, more, isRedundant: false };
}

function progressOf({ state }: LoopSnapshot): Progress | undefined {
  const panel = state?.panel;
  if (panel === undefined) {
    return undefined;
  }
  const { tasks } = panel;
  // How far the plan is, whether it runs or not; the iterations are beside the headline.
  if (tasks.of === undefined || tasks.of <= 0) {
    return undefined;
  }
  const label = t("{0} of {1} tasks", count(tasks.value), count(tasks.of));
  return { value: tasks.value, of: tasks.of, label };
}

function noticeCard({ notice }: LoopSnapshot, now: number): CardModel | undefined {
  if (notice === undefined) {
    return undefined;
  }
  const { tone, title, text, asOf, claims, busy } = notice;
  return {
    ...{ key: "notice", tone, title, text, options: [], isLarge: false },
    ...(claims === undefined ? {} : { claims }),
    ...(busy === true ? { busy } : {}),
    when:
      asOf === undefined
        ? ""
        : t("Last update at {0} ({1})", clockTime(asOf, now), fromNow(asOf, now)),
    buttons: notice.buttons.map(({ title, command }, at) => ({
      title,
      // What is being done already asks for nothing.
      primary: at === 0 && busy !== true,
      enabled: true,
      does: { command },
    })),
  };
}

function button(action: Action, primary: boolean, { canAct }: LoopSnapshot): Button {
  const onlyShows = action.verb === "showFile" || action.verb === "showLog";
  return { title: action.title, primary, enabled: canAct || onlyShows, does: { action } };
}

/** Whether the notice of a refused start offers it already: to start, or to take a run up again. */
function isInNotice({ verb }: Action, { notice }: LoopSnapshot): boolean {
  const retries = notice?.buttons.some(
    ({ command }) => command === "allowAndStart" || command === "startLoop",
  );
  return retries === true && (verb === "start" || verb === "resume");
}

/** Whether a button answers a question with one of its options. */
function isOption({ arguments: given }: Action): boolean {
  return typeof given["text"] === "string";
}

function sameness({ verb, arguments: given }: Action): string {
  return JSON.stringify([verb, given]);
}
