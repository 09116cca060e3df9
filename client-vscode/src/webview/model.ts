/**
 * What the Loop view shows, before it is drawn: pure functions from what the server told.
 *
 * The server has put everything into words; here it is only laid out, and the time goes on by
 * itself. It must never know the DOM, nor decide anything about a run.
 */

import type { Action, Fact, Message, Panel, PanelState, Tone } from "../generated/protocol";
import type { LoopSnapshot, PageCommand } from "./messages";

/** A button: what it says, and what it asks for. */
export interface Button {
  readonly title: string;
  readonly primary: boolean;
  readonly enabled: boolean;
  readonly does: { readonly action: Action } | { readonly command: PageCommand };
}

/** What stands above everything else. */
export interface CardModel {
  readonly key: string;
  readonly tone: Tone;
  readonly title: string;
  readonly text: string;
  readonly buttons: readonly Button[];
}

/** One line of a list of headings and words. */
export interface Row {
  readonly key: string;
  readonly heading: string;
  readonly text: string;
  readonly tone: Tone;
  /** The rest of the text, for whoever opens the line. */
  readonly more: string;
}

/** How far it is. */
export interface Progress {
  readonly value: number;
  readonly of: number;
  /** For a person who does not see it. */
  readonly label: string;
}

/** Everything that is drawn but the agent's messages. */
export interface LoopModel {
  /** What the page is, for a person who does not see it; VS Code shows the folder's name itself. */
  readonly label: string;
  readonly state: PanelState;
  readonly tone: Tone;
  readonly headline: string;
  /** `3 / 20`, or empty before the first iteration. */
  readonly count: string;
  readonly countLabel: string;
  readonly progress: Progress | undefined;
  readonly cards: readonly CardModel[];
  readonly buttons: readonly Button[];
  readonly answers: readonly Row[];
  readonly facts: readonly Row[];
  readonly ticking: boolean;
}

/** The whole view as it is at `now`, in milliseconds since the epoch. */
export function loopModel(snapshot: LoopSnapshot, now: number): LoopModel {
  const panel = snapshot.state?.panel;
  const notice = noticeCard(snapshot);
  const label = snapshot.name === "" ? "Ralph Loop" : `Ralph Loop, ${snapshot.name}`;
  if (panel === undefined) {
    return {
      label,
      state: "none",
      tone: "plain",
      headline: notice === undefined ? "Looking for a loop…" : "",
      count: "",
      countLabel: "",
      progress: undefined,
      cards: notice === undefined ? [] : [notice],
      buttons: [],
      answers: [],
      facts: [],
      ticking: false,
    };
  }
  const { iterations, card } = panel;
  const cards: CardModel[] = notice === undefined ? [] : [notice];
  if (card !== undefined) {
    const buttons = card.actions.map((action, at) => button(action, at === 0, snapshot));
    cards.push({ key: card.kind, tone: card.tone, title: card.title, text: card.text, buttons });
  }
  const inCard = new Set(card?.actions.map(sameness));
  const others = panel.actions.filter((action) => !inCard.has(sameness(action)));
  const limit = iterations.of;
  const begun = iterations.value > 0 || limit !== undefined;
  return {
    label,
    state: panel.state,
    tone: panel.tone,
    headline: headlineOf(panel, now),
    count: begun ? `${iterations.value}${limit === undefined ? "" : ` / ${limit}`}` : "",
    countLabel: begun
      ? `iteration ${iterations.value}${limit === undefined ? "" : ` of ${limit}`}`
      : "",
    progress: progressOf(snapshot),
    cards,
    // While nothing runs and nothing is urgent, the first button is what somebody came for.
    buttons: others.map((action, at) =>
      button(action, at === 0 && cards.length === 0 && !panel.live, snapshot),
    ),
    answers: panel.answers.map(({ heading, text }) => ({
      key: heading,
      heading,
      text,
      tone: "plain",
      more: "",
    })),
    facts: panel.facts.map((fact) => row(fact, snapshot, now)),
    ticking: panel.ticking,
  };
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
    return `${hours}h ${minutes}m ${left}s`;
  }
  return minutes > 0 ? `${minutes}m ${left}s` : `${left}s`;
}

/** How it stands; a wait that is long says until when, in the time of whoever looks. */
function headlineOf({ card, headline, until }: Panel, now: number): string {
  const isLong = card?.kind === "run-waits" && until !== undefined;
  return isLong ? `${headline} until ${timeOfDay(until, now)}` : headline;
}

function timeOfDay(timestamp: string, now: number): string {
  const at = new Date(timestamp);
  const isToday = at.toDateString() === new Date(now).toDateString();
  const time: Intl.DateTimeFormatOptions = { hour: "2-digit", minute: "2-digit" };
  const day: Intl.DateTimeFormatOptions = isToday ? {} : { day: "numeric", month: "short" };
  return new Intl.DateTimeFormat(undefined, { ...day, ...time }).format(at);
}

function row(fact: Fact, snapshot: LoopSnapshot, now: number): Row {
  const panel = snapshot.state?.panel;
  // The server tells the time when something changes; in between it goes on here.
  const ticks = fact.key === "time" && panel?.ticking === true;
  const since = Math.max(0, now - snapshot.receivedAt) / 1000;
  // What the time is limited to stays behind it.
  const [, limit] = fact.text.split(" of ");
  const of = limit === undefined ? "" : ` of ${limit}`;
  const text = ticks ? `${duration(panel.seconds + since)}${of}` : fact.text;
  return { key: fact.key, heading: fact.heading, text, tone: fact.tone, more: fact.more };
}

function progressOf({ state }: LoopSnapshot): Progress | undefined {
  const panel = state?.panel;
  if (panel === undefined) {
    return undefined;
  }
  const { iterations, tasks, live } = panel;
  // What is left of the limit means something while it is being used up; afterwards the plan does.
  if (live && iterations.of !== undefined && iterations.of > 0) {
    const label = `${iterations.value} of ${iterations.of} iterations`;
    return { value: iterations.value, of: iterations.of, label };
  }
  if (tasks.of !== undefined && tasks.of > 0) {
    return { value: tasks.value, of: tasks.of, label: `${tasks.value} of ${tasks.of} tasks` };
  }
  return undefined;
}

function noticeCard({ notice }: LoopSnapshot): CardModel | undefined {
  if (notice === undefined) {
    return undefined;
  }
  return {
    key: "notice",
    tone: notice.tone,
    title: notice.title,
    text: notice.text,
    buttons: notice.buttons.map(({ title, command }, at) => ({
      title,
      primary: at === 0,
      enabled: true,
      does: { command },
    })),
  };
}

function button(action: Action, primary: boolean, { canAct }: LoopSnapshot): Button {
  const onlyShows = action.verb === "showFile" || action.verb === "showLog";
  return { title: action.title, primary, enabled: canAct || onlyShows, does: { action } };
}

function sameness({ verb, arguments: given }: Action): string {
  return JSON.stringify([verb, given]);
}

// ------------------------------------------------------------------------- the agent's messages

/** How many of the agent's lines are kept. */
export const MAX_LINES = 20;

/** One line of what the agent says. */
export interface Line {
  readonly kind: "text" | "tool" | "file" | "todo";
  readonly text: string;
  readonly tone: Tone;
  /** The tool call that it is about, where a later message may end it. */
  readonly call: string;
}

/** What the agent of one run said last. */
export interface Feed {
  readonly workspace: string;
  readonly run: string;
  readonly lines: readonly Line[];
}

/** Before anything was said. */
export const NO_FEED: Feed = { workspace: "", run: "", lines: [] };

/** The feed with what was said since; another run begins with an empty one. */
export function withMessages(
  feed: Feed,
  workspace: string,
  run: string,
  messages: readonly Message[],
): Feed {
  let lines = feed.workspace === workspace && feed.run === run ? feed.lines : [];
  for (const message of messages) {
    lines = withMessage(lines, message);
  }
  return { workspace, run, lines: lines.slice(-MAX_LINES) };
}

/** The feed as it is for this snapshot: that of another run or folder is none. */
export function feedFor(feed: Feed, snapshot: LoopSnapshot): Feed {
  const run = snapshot.state?.run?.run;
  const fits = feed.workspace === snapshot.workspace && (run === undefined || feed.run === run);
  return fits ? feed : NO_FEED;
}

function withMessage(lines: readonly Line[], message: Message): readonly Line[] {
  switch (message.kind) {
    case "text": {
      const said = message.text.split("\n").filter((line) => line.trim() !== "");
      const kept = said.slice(-MAX_LINES).map((text) => line("text", text));
      return [...lines, ...kept].slice(-MAX_LINES);
    }
    case "tool": {
      const text = [message.name, message.summary].filter((part) => part !== "").join(" ");
      const tone: Tone = message.state === "failed" ? "bad" : "plain";
      const at = message.call === "" ? -1 : lines.findLastIndex((l) => l.call === message.call);
      const earlier = at < 0 ? undefined : lines[at];
      if (earlier === undefined) {
        return [...lines, { kind: "tool", text, tone, call: message.call }];
      }
      return lines.with(at, { ...earlier, tone });
    }
    case "file":
      return [...lines, line("file", `${message.action} ${message.path}`)];
    case "todo": {
      const done = message.items.filter(({ state }) => state === "done").length;
      return [...lines, line("todo", `its own list: ${done} of ${message.items.length} done`)];
    }
    case "usage":
      return lines;
    default:
      // One of a newer server.
      return lines;
  }
}

function line(kind: Line["kind"], text: string): Line {
  return { kind, text, tone: "plain", call: "" };
}
