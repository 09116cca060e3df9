/**
 * The tree of runs: what is live or waits in any folder, then every run of the one that is shown.
 *
 * Made from the server's reports; it must never know VS Code.
 */

import type { IterationRow, KeptRun, RunAnywhere } from "../generated/protocol";
import { clockTime, count, spokenDuration } from "../intl";
import { t } from "../l10n";
import type { FolderSnapshot } from "../state/snapshot";
import { costWords, iterationNode, olderWords } from "../trees/iterations";
import type { AnywhereNode, MoreNode, Node, NodeIcon, RunNode, SectionNode } from "../trees/nodes";
import { duration } from "../webview/model";

/** Iterations of a run that the server has sent, the newest first. */
export interface Page {
  readonly rows: readonly IterationRow[];
  /** How many came before these. */
  readonly older: number;
}

/** What is known of a folder's runs; the pages are by the ids of their runs. */
export interface History {
  readonly runs: readonly KeptRun[];
  readonly pages: ReadonlyMap<string, Page>;
}

/** Nothing before the first answer. `anywhere`: the user's live and waiting runs. */
export function runNodes(
  folder: FolderSnapshot | undefined,
  history: History | undefined,
  anywhere: readonly RunAnywhere[],
  now: number,
): readonly Node[] {
  const own =
    folder === undefined || history === undefined
      ? []
      : history.runs.map((run) => runNode(folder, run, pageOf(folder, run, history), now));
  return anywhere.length === 0 ? own : [sectionNode(anywhere), ...own];
}

/** Those of the newest run are reported anyway; the ones before them are asked for. */
function pageOf({ state }: FolderSnapshot, { key }: KeptRun, { pages }: History): Page | undefined {
  const known = pages.get(key);
  if (state?.run?.run !== key) {
    return known;
  }
  const newest = state.panel?.rows ?? [];
  const last = newest.at(-1)?.start ?? 1;
  const earlier = known?.rows.filter(({ start }) => start < last) ?? [];
  return { rows: [...newest, ...earlier], older: (earlier.at(-1)?.start ?? last) - 1 };
}

/** The id of a run's row. */
export function runNodeId({ uri }: FolderSnapshot, key: string): string {
  return `${uri}#runs:${key}`;
}

function runNode(
  folder: FolderSnapshot,
  run: KeptRun,
  page: Page | undefined,
  now: number,
): RunNode {
  const { key, end } = run;
  const iterations =
    run.iterations === 1 ? t("1 iteration") : t("{0} iterations", count(run.iterations));
  const [title = t("1 task"), ...others] = run.tasks;
  const tasks = run.tasksDone > 1 || others.length > 0 ? tasksWords(run.tasksDone) : title;
  const cost = costWords(run);
  const began = run.startedAt === undefined ? key : clockTime(run.startedAt, now);
  const pruned = run.pruned ? t("its output was deleted") : "";
  const facts = (time: string): readonly string[] =>
    // Of a run that has only begun there is nothing to count.
    (run.iterations === 0
      ? [endWords(end)]
      : [endWords(end), run.tasksDone > 0 ? tasks : "", iterations, time, cost]
    ).filter(isSaid);
  return {
    kind: "run",
    id: runNodeId(folder, key),
    label: began,
    description: facts(duration(run.seconds)).join(" · "),
    tooltip: [t("Run {0}", key), ...facts(duration(run.seconds)), pruned, ...run.tasks.map(dotted)]
      .filter(isSaid)
      .join("\n"),
    spoken: [began, ...facts(spokenDuration(run.seconds)), pruned].filter(isSaid).join(", "),
    context: "run",
    icon: RUN_ICONS[end],
    folder: folder.uri,
    run,
    children: page === undefined ? [loadingNode(folder, key)] : iterationsOf(folder, run, page),
  };
}

function tasksWords(n: number): string {
  return n === 1 ? t("1 task") : t("{0} tasks", count(n));
}

function iterationsOf(folder: FolderSnapshot, { key }: KeptRun, page: Page): readonly Node[] {
  const rows = page.rows.map((row) => iterationNode(folder, key, row));
  const before = page.rows.at(-1)?.start;
  if (before === undefined || page.older <= 0) {
    return rows;
  }
  const words = olderWords(page.older);
  const more: MoreNode = {
    ...plainNode("more", `${folder.uri}#more:${key}`, t("Older…"), words),
    kind: "more",
    folder: folder.uri,
    run: key,
    before,
  };
  return [...rows, more];
}

function loadingNode(folder: FolderSnapshot, key: string): Node {
  return {
    ...plainNode("loading", `${folder.uri}#loading:${key}`, t("Loading…"), ""),
    kind: "loading",
  };
}

function sectionNode(anywhere: readonly RunAnywhere[]): SectionNode {
  const label = t("Live and waiting");
  return {
    ...plainNode("section", "#anywhere", label, count(anywhere.length)),
    kind: "section",
    spoken: `${label}, ${count(anywhere.length)}`,
    children: anywhere.map(anywhereNode),
  };
}

function anywhereNode(run: RunAnywhere): AnywhereNode {
  const { workspace, iteration, maxIterations, task, needs, live, activity } = run;
  const folder = workspace.split(/[\\/]/).findLast((part) => part !== "") ?? workspace;
  const name = run.fleetTask ?? folder;
  const limit = maxIterations === undefined ? "" : `/${count(maxIterations)}`;
  const state = needs ?? activity;
  // A task of a fleet that waits has no lane, so it is no run now.
  const place = run.fleetState === undefined ? `#${count(iteration)}${limit}` : (task?.title ?? "");
  return {
    kind: "anywhere",
    id: `#anywhere:${run.fleetState === undefined ? workspace : name}`,
    label: name,
    description: [place, state].filter(isSaid).join(" · "),
    tooltip: [...new Set([workspace, task?.title ?? "", activity, needs ?? ""])]
      .filter(isSaid)
      .join("\n"),
    spoken: [name, live ? t("live") : t("waiting"), state, task?.title ?? ""]
      .filter(isSaid)
      .join(", "),
    context: "anywhere",
    icon:
      needs === undefined
        ? { name: "sync", color: "charts.blue" }
        : { name: "bell-dot", color: "list.warningForeground" },
    anywhere: run,
  };
}

function plainNode(
  context: string,
  id: string,
  label: string,
  description: string,
): Omit<MoreNode, "kind" | "folder" | "run" | "before"> {
  const spoken = [label, description].filter(isSaid).join(", ");
  return { id, label, description, tooltip: spoken, spoken, context, icon: undefined };
}

/** How a run ended, or how it is. */
export function endWords(end: string): string {
  switch (end) {
    case "complete":
      return t("complete");
    case "limit":
      return t("limit reached");
    case "blocked":
      return t("blocked");
    case "decide":
      return t("asks");
    case "stuck":
      return t("stuck");
    case "fatal":
      return t("failed");
    case "stopped":
      return t("stopped");
    case "running":
      return t("running");
    case "parked":
      return t("waits for you");
    case "crashed":
      return t("the engine died");
    default:
      return end;
  }
}

/** A shape for each end, beside its word. */
const RUN_ICONS: Readonly<Record<string, NodeIcon | undefined>> = {
  complete: { name: "pass", color: "testing.iconPassed" },
  limit: { name: "clock", color: undefined },
  blocked: { name: "circle-slash", color: "list.warningForeground" },
  decide: { name: "question", color: "list.warningForeground" },
  stuck: { name: "warning", color: "list.warningForeground" },
  fatal: { name: "error", color: "list.errorForeground" },
  stopped: { name: "debug-stop", color: undefined },
  running: { name: "sync", color: "charts.blue" },
  parked: { name: "debug-pause", color: "list.warningForeground" },
  crashed: { name: "debug-disconnect", color: "list.errorForeground" },
};

function dotted(title: string): string {
  return `• ${title}`;
}

function isSaid(text: string): boolean {
  return text !== "";
}
