/** The parts of the dashboard above and below the charts: state, figures, trouble, agents. */

import type {
  DashboardFolder,
  DashboardRun,
  FigureGroup,
  LaneSpan,
} from "../../generated/protocol";
import { t } from "../../l10n";
import { element, type Child } from "./dom";
import { compact, count, dollars, duration, moment, percent, rate, UNKNOWN } from "./format";
import { endWords, failureWords, laneWords, type View } from "./model";

/** A figure; `exact` is the number as the document has it. */
function figure(name: string, text: string, exact: number | undefined): HTMLElement {
  return element("div", { class: "figure" }, [
    element("dt", {}, [name]),
    element(
      "dd",
      exact === undefined ? {} : { "data-value": String(exact), title: String(exact) },
      [text],
    ),
  ]);
}

function tile(id: string, title: string, children: readonly Child[]): HTMLElement {
  return element("section", { class: "tile", "data-tile": id }, [
    element("h2", {}, [title]),
    element("dl", {}, children),
  ]);
}

/** Text, or the mark of an unknown value. */
function known(value: number | undefined, format: (value: number) => string): string {
  return value === undefined ? UNKNOWN : format(value);
}

/** What each work tree does now, the ones that need the user first. */
export function nowSection(folders: readonly DashboardFolder[]): HTMLElement | undefined {
  const shown = folders.filter(({ now }) => now !== undefined).sort((a, b) => order(a) - order(b));
  if (shown.length === 0) {
    return undefined;
  }
  return element(
    "ul",
    { class: "now", "aria-label": t("What runs now") },
    shown.slice(0, MOST_CARDS).map(card),
  );
}

const MOST_CARDS = 6;

function toneOf({ now }: DashboardFolder): "active" | "warning" | "good" | "plain" {
  if (now?.needs !== undefined) {
    return "warning";
  }
  return now?.live === true ? "active" : now?.phase === "ended" && isDone(now) ? "good" : "plain";
}

function isDone({ done, required }: { done: number; required: number }): boolean {
  return required > 0 && done >= required;
}

function order(folder: DashboardFolder): number {
  return ["warning", "active", "good", "plain"].indexOf(toneOf(folder));
}

function card(folder: DashboardFolder): HTMLElement {
  const { now, name, stopped } = folder;
  const tone = toneOf(folder);
  const state =
    tone === "warning"
      ? t("Needs you")
      : now?.live === true
        ? t("Running")
        : now?.phase === "ended"
          ? t("Not running")
          : (now?.phase ?? "");
  const iteration =
    now?.live === true
      ? now.maxIterations === undefined
        ? t("iteration {0}", now.iteration)
        : t("iteration {0} of {1}", now.iteration, now.maxIterations)
      : undefined;
  const text = now?.needs ?? (now?.live === true ? now.activity : (stopped ?? now?.activity ?? ""));
  return element("li", { class: "card", "data-tone": tone }, [
    element("p", { class: "state" }, [
      element("strong", {}, [state]),
      element("span", { class: "where" }, [name]),
      iteration === undefined ? undefined : element("span", {}, [iteration]),
    ]),
    element("p", { class: "text" }, [text]),
    element("p", { class: "foot" }, [
      ...(now !== undefined && now.required > 0
        ? [
            element("progress", {
              max: String(now.required),
              value: String(now.done),
              "aria-label": t("Tasks completed"),
            }),
            element("span", {}, [t("{0} of {1} tasks", now.done, now.required)]),
          ]
        : []),
      now?.next.startsWith("ralph") === true ? element("code", {}, [now.next]) : undefined,
    ]),
  ]);
}

/** The four questions: what got done, what it cost, whether it works, where it is stuck. */
export function tiles(view: View): HTMLElement {
  return element("div", { class: "tiles" }, [
    doneTile(view),
    costTile(view),
    worksTile(view),
    stuckTile(view),
  ]);
}

function doneTile({ range: { totals }, run }: View): HTMLElement {
  const of = run ?? totals;
  return tile("done", t("What got done"), [
    figure(t("tasks completed"), count(of.tasksDone), of.tasksDone),
    figure(t("commits"), count(of.commits), of.commits),
    figure(
      t("files changed"),
      `${totals.moreFiles && run === undefined ? "≥" : ""}${count(of.files)}`,
      of.files,
    ),
    figure(t("iterations"), count(of.iterations), of.iterations),
    run === undefined ? figure(t("runs"), count(totals.runs), totals.runs) : undefined,
  ]);
}

function costTile({ range: { totals }, run }: View): HTMLElement {
  const of = run ?? totals;
  const perTask = run === undefined ? totals.averageTaskCostUsd : run.costPerTask;
  const isPartial = of.withoutCost > 0 && of.costUsd !== undefined;
  return tile("cost", t("What it cost"), [
    figure(
      isPartial ? t("known cost") : t("cost"),
      known(of.costUsd, (value) => dollars(value, of.estimated)),
      of.costUsd,
    ),
    figure(
      t("a completed task"),
      known(perTask, (value) => dollars(value, of.estimated)),
      perTask,
    ),
    isPartial
      ? figure(t("iterations of unknown cost"), count(of.withoutCost), of.withoutCost)
      : undefined,
    figure(t("tokens"), known(of.tokens, compact), of.tokens),
    figure(t("time"), duration(of.seconds), of.seconds),
    run === undefined
      ? figure(
          t("an iteration"),
          known(totals.averageIterationSeconds, duration),
          totals.averageIterationSeconds,
        )
      : undefined,
  ]);
}

function worksTile({ range: { totals }, run }: View): HTMLElement {
  if (run !== undefined) {
    return tile("works", t("Is it working"), [
      figure(t("clean iterations"), known(run.successRate, percent), run.successRate),
      figure(t("end of the run"), endWords(run.end), undefined),
      figure(
        t("interventions"),
        count(run.answers + run.resets + run.edits),
        run.answers + run.resets + run.edits,
      ),
      figure(t("failed validations"), count(run.failedValidations), run.failedValidations),
      figure(t("breaker openings"), count(run.opens), run.opens),
    ]);
  }
  return tile("works", t("Is it working"), [
    figure(
      t("clean iterations"),
      known(totals.iterationSuccessRate, percent),
      totals.iterationSuccessRate,
    ),
    figure(t("complete runs"), known(totals.runSuccessRate, percent), totals.runSuccessRate),
    figure(
      t("interventions an iteration"),
      known(totals.humanInterventionRate, rate),
      totals.humanInterventionRate,
    ),
    figure(
      t("context used, at most"),
      known(totals.largestContext, percent),
      totals.largestContext,
    ),
    figure(t("answers to questions"), count(totals.answers), totals.answers),
  ]);
}

function stuckTile({ range: { totals, tasks }, run }: View): HTMLElement {
  const worst =
    run === undefined ? tasks.find((task) => !task.isDone && task.iterations > 1) : undefined;
  const ends = Object.entries(totals.ends)
    .map(([end, n]) => `${endWords(end)} ${count(n)}`)
    .join(" · ");
  const failures = Object.entries(totals.failures)
    .map(([failure, n]) => `${failureWords(failure)} ${count(n)}`)
    .join(" · ");
  return tile("stuck", t("Where it is stuck"), [
    worst === undefined
      ? figure(t("open task with the most attempts"), t("none"), undefined)
      : element("div", { class: "figure wide" }, [
          element("dt", {}, [t("open task with the most attempts")]),
          element("dd", { "data-value": String(worst.iterations) }, [
            worst.name,
            element("small", {}, [t("{0} iterations, not done", count(worst.iterations))]),
          ]),
        ]),
    run === undefined && ends !== ""
      ? element("div", { class: "figure wide plain" }, [
          element("dt", {}, [t("how runs ended")]),
          element("dd", {}, [ends]),
        ])
      : undefined,
    run === undefined && failures !== ""
      ? element("div", { class: "figure wide plain" }, [
          element("dt", {}, [t("agent failures")]),
          element("dd", {}, [failures]),
        ])
      : undefined,
  ]);
}

/** The tasks that took the most iterations, as bars with their numbers. */
export function tasksSection(
  tasks: readonly FigureGroup[],
  folders: readonly DashboardFolder[],
): HTMLElement | undefined {
  if (tasks.length === 0) {
    return undefined;
  }
  const most = Math.max(...tasks.map((task) => task.iterations));
  return element("section", { class: "panel tasks" }, [
    element("h2", {}, [t("Tasks that take most attempts")]),
    element(
      "ol",
      {},
      tasks.slice(0, 8).map((task) =>
        element("li", { "data-done": String(task.isDone) }, [
          element("span", { class: "name", title: task.name }, [
            task.name,
            element("span", { class: "where" }, [
              folders.find(({ workspace }) => workspace === task.workspace)?.name ?? "",
            ]),
          ]),
          element("meter", {
            min: "0",
            max: String(most),
            value: String(task.iterations),
            "aria-hidden": "true",
          }),
          element("span", { class: "numbers", "data-value": String(task.iterations) }, [
            [
              task.iterations === 1
                ? t("1 iteration")
                : t("{0} iterations", count(task.iterations)),
              task.isDone ? t("done") : t("not done"),
              known(task.costUsd, (value) => dollars(value, task.estimated)),
            ].join(" · "),
          ]),
        ]),
      ),
    ),
  ]);
}

const MOST_PARALLEL_RUNS = 5;

/** The newest parallel runs: what side by side gained, and their lanes over time. */
export function parallelSection(runs: readonly DashboardRun[]): HTMLElement | undefined {
  const shown = runs.filter(({ parallel }) => parallel !== undefined).slice(0, MOST_PARALLEL_RUNS);
  if (shown.length === 0) {
    return undefined;
  }
  return element("section", { class: "panel parallel" }, [
    element("h2", {}, [t("Tasks side by side")]),
    ...shown.map(parallelRun),
  ]);
}

function parallelRun(run: DashboardRun): HTMLElement {
  const { parallel, startedAt, endedAt } = run;
  const spans = parallel?.spans ?? [];
  const begin = Date.parse(startedAt ?? spans[0]?.startedAt ?? "");
  const ends = spans.map((span) => Date.parse(span.endedAt ?? endedAt ?? span.startedAt));
  const length = Math.max(1, ...ends.map((end) => end - begin));
  const words = [
    moment(begin, "time"),
    t("{0} lanes", count(parallel?.lanes ?? 0)),
    parallel?.merged === 1
      ? t("1 task merged")
      : t("{0} tasks merged", count(parallel?.merged ?? 0)),
    parallel?.parked === undefined || parallel.parked === 0
      ? undefined
      : t("{0} parked", count(parallel.parked)),
    parallel?.conflicts === 1
      ? t("1 conflict")
      : t("{0} conflicts", count(parallel?.conflicts ?? 0)),
  ].filter((part) => part !== undefined);
  return element("figure", { class: "lanes" }, [
    element("figcaption", {}, [
      words.join(" · "),
      parallel?.speedUp === undefined
        ? undefined
        : element("strong", { "data-value": String(parallel.speedUp) }, [
            t("{0} times as fast", rate(parallel.speedUp)),
          ]),
    ]),
    element(
      "ol",
      {},
      spans.map((span, index) => lane(span, begin, ends[index] ?? begin, length)),
    ),
  ]);
}

/** One task, as a bar from its start to its end. */
function lane(span: LaneSpan, begin: number, end: number, length: number): HTMLElement {
  const from = Date.parse(span.startedAt);
  const share = (milliseconds: number): string => `${((100 * milliseconds) / length).toFixed(2)}%`;
  const bar = element("span", { class: "bar", "data-state": span.state, "aria-hidden": "true" });
  bar.style.marginInlineStart = share(from - begin);
  bar.style.inlineSize = share(Math.max(end - from, length / 200));
  return element("li", {}, [
    element("span", { class: "name", title: span.task.title }, [
      t("Lane {0}: {1}", span.lane, span.task.title),
    ]),
    element("span", { class: "track" }, [bar]),
    element("span", { class: "numbers" }, [`${laneWords(span.state)} · ${duration(span.seconds)}`]),
  ]);
}

/** Agents and models side by side. */
export function agentsSection(agents: readonly FigureGroup[]): HTMLElement | undefined {
  if (agents.length === 0) {
    return undefined;
  }
  const heads = [
    t("Agent"),
    t("Model"),
    t("Iterations"),
    t("Clean"),
    t("Tasks"),
    t("Cost"),
    t("A task"),
    t("Tokens"),
    t("Time"),
  ];
  const row = (agent: FigureGroup): HTMLElement =>
    element("tr", {}, [
      element("th", { scope: "row" }, [agent.name]),
      element("td", {}, [agent.model ?? t("its own")]),
      ...[
        count(agent.iterations),
        known(agent.successRate, percent),
        count(agent.tasksDone),
        known(agent.costUsd, (value) => dollars(value, agent.estimated)),
        known(agent.costPerTask, (value) => dollars(value, agent.estimated)),
        known(agent.tokens, compact),
        duration(agent.seconds),
      ].map((text) => element("td", { class: "number" }, [text])),
    ]);
  return element("section", { class: "panel agents" }, [
    element("h2", {}, [t("Agents and models")]),
    element(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": t("Agents and models") },
      [
        element("table", {}, [
          element("thead", {}, [
            element(
              "tr",
              {},
              heads.map((head, index) =>
                element("th", { scope: "col", ...(index > 1 ? { class: "number" } : {}) }, [head]),
              ),
            ),
          ]),
          element("tbody", {}, agents.map(row)),
        ]),
      ],
    ),
  ]);
}
