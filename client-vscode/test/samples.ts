/** Folders as the server sends them, for tests without VS Code. */

import type {
  Action,
  IterationRow,
  LaneRow,
  Panel,
  QuestionView,
  RunAnywhere,
  RunState,
  StateResult,
  TaskRow,
  Verb,
} from "../src/generated/protocol";
import type { FolderSnapshot, Snapshot } from "../src/state/snapshot";
import { panel } from "../src/webview/test/samples";

export { panel };

export const PARSER = "file:///srv/parser";
export const LETTERS = "file:///srv/letters";
export const RUN = "20260131T120000Z-abcd";

export function action(verb: Verb, given: Readonly<Record<string, unknown>> = {}): Action {
  return { title: verb, verb, arguments: given };
}

export function task(changes: Partial<TaskRow> = {}): TaskRow {
  return {
    id: "t1",
    title: "Write the parser",
    state: "todo",
    section: "High Priority",
    line: 5,
    optional: false,
    criteria: [],
    attempts: 0,
    inWork: false,
    asks: false,
    blocks: false,
    skipped: false,
    canBlock: true,
    merged: false,
    words: "",
    ...changes,
  };
}

export function iteration(changes: Partial<IterationRow> = {}): IterationRow {
  return {
    iteration: 1,
    start: changes.iteration ?? 1,
    tries: 1,
    tasksDone: 0,
    why: "",
    changes: false,
    canRollBack: false,
    ...changes,
  };
}

export function lane(changes: Partial<LaneRow> = {}): LaneRow {
  return {
    lane: 1,
    task: { id: "t1", title: "Write the parser" },
    state: "working",
    words: "works",
    branch: "ralph/r1/t1-1",
    worktree: "/lanes/t1-1",
    run: "r1-lane",
    options: [],
    conflicts: [],
    commits: 0,
    iterations: 0,
    estimated: false,
    ...changes,
  };
}

export function question(changes: Partial<QuestionView> = {}): QuestionView {
  return { key: "q1", text: "Which engine?", options: [], line: 6, iteration: 2, ...changes };
}

/** Only what the client reads of a run. */
export function run(changes: Partial<RunState> = {}): RunState {
  const config = {
    agent: "command",
    agents: {},
    paths: { decide: ".ralph/decide.txt", logs: ".ralph/logs" },
  };
  return { run: RUN, workspace: "/srv/parser", iteration: 3, config, ...changes } as RunState;
}

export function state(changes: Partial<StateResult> = {}): StateResult {
  return {
    run: run(),
    live: true,
    needsPerson: changes.panel?.needsPerson ?? false,
    answers: [],
    panel: panel(),
    plan: { uri: `${PARSER}/@fix_plan.md`, path: "@fix_plan.md", tasks: [task()], problems: [] },
    journal: `/state/runs/${RUN}/journal.jsonl`,
    ...changes,
  };
}

/** A folder whose panel differs so from one that runs. */
export function folder(changes: Partial<Panel> = {}, uri = PARSER): FolderSnapshot {
  const shown = panel(changes);
  return {
    uri,
    name: uri.split("/").at(-1) ?? "",
    receivedAt: 0,
    state: state({ panel: shown, live: shown.live, needsPerson: shown.needsPerson }),
  };
}

/** A folder with a plan and no run. */
export function idleFolder(uri = PARSER): FolderSnapshot {
  const shown = panel({
    state: "none",
    headline: "No loop has run here",
    short: "",
    tone: "plain",
    live: false,
    ticking: false,
    iterations: { value: 0 },
    actions: [action("start")],
  });
  const { plan, answers } = state();
  const told = { live: false, needsPerson: false, answers, panel: shown, plan };
  return { uri, name: uri.split("/").at(-1) ?? "", receivedAt: 0, state: told };
}

/** A folder of which nothing is known yet. */
export function unknownFolder(uri = PARSER): FolderSnapshot {
  return { uri, name: uri.split("/").at(-1) ?? "", receivedAt: 0, state: undefined };
}

export function snapshot(
  folders: readonly FolderSnapshot[],
  changes: Partial<Snapshot> = {},
): Snapshot {
  return {
    trusted: true,
    server: { kind: "ok", version: "0.1.0", from: "PATH" },
    folders,
    active: undefined,
    others: new Map(),
    anywhere: [],
    refusal: undefined,
    starting: undefined,
    beginning: undefined,
    chosen: undefined,
    ...changes,
  };
}

/** A live run of another folder. */
export function anywhere(changes: Partial<RunAnywhere> = {}): RunAnywhere {
  return {
    ...{ workspace: "/srv/letters", run: RUN, plan: "@fix_plan.md", live: true, phase: "running" },
    ...{ activity: "the agent works", iteration: 3, maxIterations: 20, done: 1, required: 4 },
    ...{ estimated: false, next: "ralph watch" },
    ...changes,
  };
}

/** The same with a field left out, as the server leaves out what there is not. */
export function without<Value extends object, Key extends keyof Value>(
  key: Key,
  value: Value,
): Omit<Value, Key> {
  const kept = Object.entries(value).filter(([name]) => name !== key);
  return Object.fromEntries(kept) as Omit<Value, Key>;
}

/** What a panel says while a question waits. */
export const ASKS: Partial<Panel> = {
  state: "asks",
  headline: "Waiting for your answer",
  short: "asks",
  tone: "warning",
  needsPerson: true,
  waiting: 1,
  badge: 1,
  question: question(),
  actions: [action("answer", { run: RUN }), action("stop", { run: RUN })],
};

/** What it says while a blocker does. */
export const BLOCKED: Partial<Panel> = {
  state: "blocked",
  headline: "Blocked",
  short: "blocked",
  tone: "bad",
  needsPerson: true,
  waiting: 1,
  badge: 1,
  card: {
    kind: "run-blocked",
    tone: "bad",
    title: "Blocked (iteration 2)",
    text: "needs an API key",
    actions: [action("resume", { run: RUN, continue: true })],
  },
  actions: [action("resume", { run: RUN, continue: true })],
};

/** What it says while the breaker is open. */
export const OPEN: Partial<Panel> = {
  state: "stuck",
  headline: "Breaker open",
  short: "breaker open",
  tone: "bad",
  needsPerson: true,
  badge: 1,
  breaker: "OPEN",
  card: {
    kind: "breaker-open",
    tone: "bad",
    title: "Breaker open",
    text: "3 iterations without progress\nsince then",
    actions: [action("reset")],
  },
  actions: [action("reset")],
};
