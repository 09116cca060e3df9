/**
 * What the dashboard shows of a document under a choice of folder, range, run and grouping.
 *
 * Pure. Figures come from the document as they are: nothing is added up here.
 */

import type {
  AgentFailure,
  BreakerState,
  Dashboard,
  DashboardFolder,
  DashboardRange,
  DashboardRun,
  FigureGroup,
} from "../../generated/protocol";
import { t } from "../../l10n";
import { moment } from "./format";

/** What each value of the charts stands for. */
export type Grouping = "iteration" | "run" | "day";

/** What the user has chosen; a missing part is all of it. */
export interface Choice {
  readonly folder?: number | undefined;
  readonly days?: number | undefined;
  readonly run?: string | undefined;
  /** Left out: the one that suits the number of iterations. */
  readonly by?: Grouping | undefined;
}

/** Iterations that are drawn one by one, where nothing else was chosen. */
const MOST_BARS = 120;

/** One value of every chart, and one row of the table. */
export interface Point {
  /** Short, below the axis. */
  readonly tick: string;
  /** In its place, where the value before it has the same. */
  readonly clock: string;
  /** Whole, where the value is read out. */
  readonly label: string;
  /** The task, the end of a run, or nothing. */
  readonly detail: string;
  readonly agent: string;
  readonly tasksDone: number;
  readonly files: number;
  readonly cost: number | undefined;
  readonly estimated: boolean;
  /** Iterations whose cost is unknown. */
  readonly withoutCost: number;
  readonly tokens: number | undefined;
  readonly seconds: number;
  readonly context: number | undefined;
  readonly passed: number;
  readonly failed: number;
  /** Of an iteration: 0 closed, 1 half open, 2 open; of a group: how often it opened. */
  readonly breaker: number;
}

/** Everything that is shown, before it is drawn. */
export interface View {
  readonly choice: Choice;
  readonly by: Grouping;
  readonly folders: readonly DashboardFolder[];
  readonly range: DashboardRange;
  readonly run: DashboardRun | undefined;
  /** The runs of the range, the newest first. */
  readonly runs: readonly DashboardRun[];
  readonly points: readonly Point[];
}

/** The lengths of the ranges, shortest first; undefined is all time. */
export function rangesOf(document: Dashboard): readonly (number | undefined)[] {
  const days = new Set(document.ranges.map((range) => range.days));
  return [...days].sort((a, b) => (a ?? Infinity) - (b ?? Infinity));
}

/** The part of the choice that the document still has. */
export function validChoice(document: Dashboard, choice: Choice): Choice {
  const only = document.folders.length === 1 ? 0 : undefined;
  const folder =
    choice.folder !== undefined && choice.folder < document.folders.length ? choice.folder : only;
  const days = rangesOf(document).includes(choice.days) ? choice.days : undefined;
  const known = document.folders.some((one) => one.runs.some(({ key }) => key === choice.run));
  return { by: choice.by, folder, days, run: known ? choice.run : undefined };
}

/** Everything that is shown. */
export function viewOf(document: Dashboard, wanted: Choice): View {
  const choice = validChoice(document, wanted);
  const folders =
    choice.folder === undefined
      ? document.folders
      : document.folders.slice(choice.folder, choice.folder + 1);
  const range = document.ranges.find(
    (one) => one.folder === choice.folder && one.days === choice.days,
  ) ?? { totals: { ...NO_TOTALS }, perDay: [], agents: [], tasks: [] };
  const isShown = activeSince(range.since, choice.run);
  const runs = folders.flatMap((folder) => folder.runs.filter(isShown));
  const run = choice.run === undefined ? undefined : runs[0];
  const isLong = run === undefined && range.totals.iterations > MOST_BARS;
  // A run is on one day or two.
  const wantedBy = choice.by === "day" && run !== undefined ? undefined : choice.by;
  const by = wantedBy ?? (isLong ? "day" : "iteration");
  return {
    choice,
    by,
    folders,
    range,
    run,
    runs: [...folders.flatMap((one) => one.runs.filter(activeSince(range.since, undefined)))].sort(
      (a, b) => timeOf(b) - timeOf(a),
    ),
    points: pointsOf(by, folders, range, isShown),
  };
}

const NO_TOTALS = { runs: 0, iterations: 0 } as DashboardRange["totals"];

function activeSince(
  since: string | undefined,
  run: string | undefined,
): (one: DashboardRun) => boolean {
  const from = since === undefined ? -Infinity : Date.parse(since);
  return (one) => (run === undefined ? timeOf(one) >= from : one.key === run);
}

/** When something of a run happened last. */
function timeOf({ startedAt, endedAt }: DashboardRun): number {
  return Date.parse(endedAt ?? startedAt ?? "") || 0;
}

function pointsOf(
  by: Grouping,
  folders: readonly DashboardFolder[],
  range: DashboardRange,
  isShown: (run: DashboardRun) => boolean,
): readonly Point[] {
  switch (by) {
    case "day":
      return range.perDay.map(dayPoint);
    case "run":
      return folders
        .flatMap(({ runs }) => runs.filter(isShown))
        .sort((a, b) => Date.parse(a.startedAt ?? "") - Date.parse(b.startedAt ?? ""))
        .map(runPoint);
    case "iteration": {
      const dated = folders.flatMap((folder) => iterationPoints(folder, isShown));
      return dated.sort(([a], [b]) => a - b).map(([, point]) => point);
    }
  }
}

function groupPoint(group: FigureGroup): Omit<Point, "tick" | "clock" | "label" | "detail"> {
  return {
    agent: "",
    tasksDone: group.tasksDone,
    files: group.files,
    cost: group.costUsd,
    estimated: group.estimated,
    withoutCost: group.withoutCost,
    tokens: group.tokens,
    seconds: group.seconds,
    context: group.largestContext,
    passed: group.validations - group.failedValidations,
    failed: group.failedValidations,
    breaker: group.opens,
  };
}

function dayPoint(group: FigureGroup): Point {
  // A day without a time is one of the reader's own calendar.
  const at = new Date(`${group.key}T12:00:00`).getTime();
  return {
    ...groupPoint(group),
    tick: moment(at, "day"),
    clock: "",
    label: moment(at, "date"),
    detail: "",
  };
}

function runPoint(run: DashboardRun): Point {
  const at = Date.parse(run.startedAt ?? "") || 0;
  return {
    ...groupPoint(run),
    tick: moment(at, "day"),
    clock: moment(at, "clock"),
    label: t("Run {0}, {1}", run.key.slice(-4), moment(at, "time")),
    detail: endWords(run.end),
  };
}

const BREAKER: Readonly<Record<BreakerState, number>> = { CLOSED: 0, HALF_OPEN: 1, OPEN: 2 };

function iterationPoints(
  { runs, iterations: columns }: DashboardFolder,
  isShown: (run: DashboardRun) => boolean,
): (readonly [number, Point])[] {
  const shown = runs.map(isShown);
  const found: (readonly [number, Point])[] = [];
  for (let i = 0; i < columns.numbers.length; i++) {
    if (shown[columns.runs[i] ?? -1] !== true) {
      continue;
    }
    const at = columns.endedAt[i] ?? 0;
    const validated = columns.validated[i] ?? undefined;
    const cost = columns.costUsd[i] ?? undefined;
    found.push([
      at,
      {
        // Written out only where it is seen: ten thousand dates take a while.
        get tick(): string {
          return moment(at, "day");
        },
        get clock(): string {
          return moment(at, "clock");
        },
        get label(): string {
          return t("Iteration {0}, {1}", columns.numbers[i] ?? 0, moment(at, "time"));
        },
        detail: columns.taskTitles[columns.tasks[i] ?? -1] ?? columns.modes[i] ?? "",
        agent: columns.agentNames[columns.agents[i] ?? -1] ?? "",
        tasksDone: columns.tasksDone[i] ?? 0,
        files: columns.files[i] ?? 0,
        cost,
        estimated: columns.estimated[i] ?? false,
        withoutCost: cost === undefined ? 1 : 0,
        tokens: columns.tokens[i] ?? undefined,
        seconds: columns.seconds[i] ?? 0,
        context: columns.context[i] ?? undefined,
        passed: validated === true ? 1 : 0,
        failed: validated === false ? 1 : 0,
        breaker: BREAKER[columns.breakers[i] ?? "CLOSED"],
      },
    ]);
  }
  return found;
}

/** What is below the axis: days, and times where the day is that of the value before. */
export function ticksOf(points: readonly (Point | undefined)[]): string[] {
  let before = "";
  return points.map((point) => {
    if (point === undefined) {
      return "";
    }
    const { tick } = point;
    const text = tick === before ? point.clock : tick;
    before = tick;
    return text;
  });
}

/** The end of a run in words; a reason of another version stays as it is. */
export function endWords(end: string): string {
  const words: Readonly<Record<string, string>> = {
    complete: t("complete"),
    limit: t("limit reached"),
    blocked: t("blocked"),
    decide: t("waits for a decision"),
    stuck: t("stuck"),
    fatal: t("failed"),
    stopped: t("stopped by you"),
    running: t("running"),
    parked: t("waits for you"),
    crashed: t("engine gone"),
  };
  return words[end] ?? end;
}

/** Where a lane is, in words; a state of another version stays as it is. */
export function laneWords(state: string): string {
  const words: Readonly<Record<string, string>> = {
    working: t("working"),
    queued: t("to be merged"),
    merging: t("to be merged"),
    merged: t("merged"),
    parked: t("waits for you"),
    dropped: t("set aside"),
  };
  return words[state] ?? state;
}

/** How an agent failed, in words; a kind of another version stays as it is. */
export function failureWords(failure: string): string {
  const words: Readonly<Record<AgentFailure, string>> = {
    notLoggedIn: t("not logged in"),
    limit: t("usage limit"),
    overloaded: t("model overloaded"),
    unreachable: t("API unreachable"),
    contextFull: t("context window full"),
    maxTurns: t("turn limit reached"),
    budget: t("cost limit reached"),
    refusedAsRoot: t("refuses root"),
    wrongCall: t("wrong flag or setting"),
    crashed: t("crashed"),
    noOutput: t("no output"),
    killed: t("killed"),
    idle: t("silent for too long"),
    timedOut: t("timed out"),
    other: t("agent failed"),
  };
  return failure in words ? words[failure as AgentFailure] : failure;
}
