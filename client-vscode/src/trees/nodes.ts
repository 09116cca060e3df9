/**
 * The rows of the two trees, made from what the server told; it must never know VS Code.
 *
 * A row has an id that stays the same while it is about the same thing, so that what is open and
 * selected stays so, and only rows that read otherwise are drawn again.
 */

import type { IterationRow, PlanRows, TaskRow } from "../generated/protocol";
import type { FolderSnapshot } from "../state/snapshot";

/** One row, of whichever kind. */
export type Node = GroupNode | TaskNode | IterationNode | OlderNode;

interface NodeBase {
  readonly id: string;
  readonly label: string;
  readonly description: string;
  readonly tooltip: string;
  /** What a screen reader says. */
  readonly spoken: string;
  /** What menus ask about. */
  readonly context: string;
  readonly icon: NodeIcon | undefined;
}

/** A codicon; its shape says what its colour says. */
export interface NodeIcon {
  readonly name: string;
  readonly color: string | undefined;
}

/** Tasks under one heading. */
export interface GroupNode extends NodeBase {
  readonly kind: "group";
  readonly children: readonly TaskNode[];
}

export interface TaskNode extends NodeBase {
  readonly kind: "task";
  readonly folder: string;
  readonly plan: string;
  readonly task: TaskRow;
}

export interface IterationNode extends NodeBase {
  readonly kind: "iteration";
  readonly folder: string;
  readonly run: string;
  readonly row: IterationRow;
}

/** Stands for iterations that are not shown one by one. */
export interface OlderNode extends NodeBase {
  readonly kind: "older";
}

/** The plan of a folder: its tasks under their headings, in the plan's order. */
export function planNodes(folder: FolderSnapshot | undefined): readonly Node[] {
  const rows = folder?.state?.plan;
  if (folder === undefined || rows?.uri === undefined) {
    return [];
  }
  const ids = new Set<string>();
  const groups: { name: string; tasks: TaskRow[] }[] = [];
  for (const task of rows.tasks) {
    const name = headingOf(task);
    const newest = groups.at(-1);
    if (newest?.name === name) {
      newest.tasks.push(task);
    } else {
      groups.push({ name, tasks: [task] });
    }
  }
  return groups.flatMap<Node>(({ name, tasks }) => {
    const children = tasks.map((task) => taskNode(folder, rows, task, ids));
    return name === "" ? children : [groupNode(folder, name, children, ids)];
  });
}

/** The iterations of a folder's newest run, the newest first. */
export function iterationNodes(folder: FolderSnapshot | undefined): readonly Node[] {
  const state = folder?.state;
  const run = state?.run?.run;
  const rows = state?.panel?.rows ?? [];
  if (folder === undefined || run === undefined) {
    return [];
  }
  const nodes: Node[] = rows.map((row) => iterationNode(folder, run, row));
  const older = (rows.at(-1)?.iteration ?? 1) - 1;
  return older > 0 ? [...nodes, olderNode(folder, older)] : nodes;
}

/** Every row with its id, those inside groups too. */
export function byId(nodes: readonly Node[]): ReadonlyMap<string, Node> {
  const all = nodes.flatMap<Node>((node) =>
    node.kind === "group" ? [node, ...node.children] : [node],
  );
  return new Map(all.map((node) => [node.id, node]));
}

/** What has to be drawn again: nothing, some rows alone, or everything where rows came or went. */
export function changedRows(
  before: readonly Node[],
  after: readonly Node[],
): { readonly kind: "all" } | { readonly kind: "rows"; readonly ids: readonly string[] } {
  if (shape(before) !== shape(after)) {
    return { kind: "all" };
  }
  const old = byId(before);
  const ids = [...byId(after)].flatMap(([id, node]) =>
    look(node) === look(old.get(id)) ? [] : [id],
  );
  return { kind: "rows", ids };
}

// ------------------------------------------------------------------------------------- the plan

function groupNode(
  folder: FolderSnapshot,
  name: string,
  children: readonly TaskNode[],
  ids: Set<string>,
): GroupNode {
  const done = children.filter(({ task }) => task.state === "done").length;
  return {
    kind: "group",
    id: unique(ids, `${folder.uri}#group:${name}`),
    label: name,
    description: `${done}/${children.length}`,
    tooltip: `${name}: ${done} of ${children.length} done`,
    spoken: `${name}, ${done} of ${children.length} done`,
    context: "group",
    icon: undefined,
    children,
  };
}

function taskNode(
  folder: FolderSnapshot,
  plan: PlanRows,
  task: TaskRow,
  ids: Set<string>,
): TaskNode {
  const context = [
    "task",
    task.state,
    ...(task.asks ? ["asks"] : []),
    ...(task.blocks ? ["blocks"] : []),
    ...(task.iteration === undefined ? [] : ["tried"]),
  ];
  const said = [task.title, stateWords(task), priorityWords(task), task.words];
  return {
    kind: "task",
    id: unique(ids, `${folder.uri}#task:${task.id}`),
    label: task.title,
    description: task.words,
    tooltip: [
      task.title,
      task.words === "" ? stateWords(task) : task.words,
      ...task.criteria.map((criterion) => `• ${criterion}`),
    ].join("\n"),
    spoken: said.filter((part) => part !== "").join(", "),
    context: context.join(" "),
    icon: taskIcon(task),
    folder: folder.uri,
    plan: plan.uri ?? "",
    task,
  };
}

function headingOf(task: TaskRow): string {
  return task.section !== "" ? task.section : (task.priority ?? "");
}

function stateWords(task: TaskRow): string {
  if (task.inWork) {
    return "in work";
  }
  switch (task.state) {
    case "todo":
      return "open";
    case "inProgress":
      return "in progress";
    case "done":
    case "blocked":
    case "skipped":
      return task.state;
  }
}

function priorityWords({ priority }: TaskRow): string {
  return priority === undefined ? "" : `priority ${priority}`;
}

function taskIcon(task: TaskRow): NodeIcon {
  if (task.asks) {
    return { name: "question", color: "list.warningForeground" };
  }
  if (task.blocks) {
    return { name: "circle-slash", color: "list.errorForeground" };
  }
  if (task.inWork) {
    return { name: "sync", color: "charts.blue" };
  }
  switch (task.state) {
    case "todo":
      return { name: "circle-large-outline", color: undefined };
    case "inProgress":
      return { name: "circle-large", color: "charts.blue" };
    case "done":
      return { name: "pass", color: "testing.iconPassed" };
    case "blocked":
      return { name: "circle-slash", color: "list.errorForeground" };
    case "skipped":
      return { name: "debug-step-over", color: "testing.iconSkipped" };
  }
}

// ------------------------------------------------------------------------------- the iterations

function iterationNode(folder: FolderSnapshot, run: string, row: IterationRow): IterationNode {
  const number = `#${row.iteration}`;
  const facts = [
    resultWords(row),
    row.seconds === undefined ? "" : clock(row.seconds),
    row.costUsd === undefined ? "" : `$${row.costUsd.toFixed(2)}`,
    row.files === undefined ? "" : filesWords(row),
  ].filter((part) => part !== "");
  const details = [
    row.task ?? "no task assigned",
    row.why,
    row.status === undefined ? "" : `report: ${row.status}`,
    row.tests === undefined ? "" : `tests: ${row.tests.toLowerCase().replaceAll("_", " ")}`,
    row.tasksDone > 0 ? `tasks done: ${row.tasksDone}` : "",
  ].filter((part) => part !== "");
  return {
    kind: "iteration",
    id: `${folder.uri}#${run}:${row.iteration}`,
    label: number,
    description: facts.join(" · "),
    tooltip: [
      `Iteration ${row.iteration}: ${OUTCOME_WORDS[row.outcome ?? "current"]}`,
      ...details,
    ].join("\n"),
    spoken: [
      `iteration ${row.iteration}`,
      OUTCOME_WORDS[row.outcome ?? "current"],
      ...facts.slice(row.outcome === undefined ? 1 : 0),
      ...details,
    ].join(", "),
    context: row.commit === undefined ? "iteration" : "iteration commit",
    icon: iterationIcon(row),
    folder: folder.uri,
    run,
    row,
  };
}

function olderNode(folder: FolderSnapshot, n: number): OlderNode {
  const words = `${n} older ${n === 1 ? "iteration" : "iterations"}`;
  return {
    kind: "older",
    id: `${folder.uri}#older`,
    label: "Older…",
    description: words,
    tooltip: `${words}; summary.csv beside the logs has a row for each`,
    spoken: words,
    context: "older",
    icon: { name: "ellipsis", color: undefined },
  };
}

/** What came of it, in a word or two. */
function resultWords({ outcome, commit }: IterationRow): string {
  if (outcome === undefined) {
    return "in work";
  }
  return commit?.slice(0, 7) ?? (outcome === "limited" ? "usage limit" : "no commit");
}

/** What was seen, and beside it what was claimed where that differs. */
function filesWords({ files, claimedFiles }: IterationRow): string {
  const seen = `${files ?? 0} ${files === 1 ? "file" : "files"}`;
  const differs = claimedFiles !== undefined && claimedFiles !== files;
  return differs ? `${seen} (report ${claimedFiles})` : seen;
}

function iterationIcon(row: IterationRow): NodeIcon {
  if (row.outcome === undefined) {
    return { name: "sync", color: "charts.blue" };
  }
  switch (row.outcome) {
    case "progress":
      return { name: row.commit === undefined ? "pass" : "git-commit", color: undefined };
    case "noProgress":
      return { name: "dash", color: "list.warningForeground" };
    case "stopped":
      return { name: "debug-stop", color: undefined };
    case "limited":
      return { name: "clock", color: undefined };
    case "lost":
      return { name: "debug-disconnect", color: "list.errorForeground" };
  }
}

const OUTCOME_WORDS = {
  current: "in work",
  progress: "progress",
  noProgress: "no progress",
  stopped: "stopped",
  limited: "usage limit, does not count",
  lost: "lost: its engine was gone",
} as const;

/** `1:06`, or `1:02:03` from an hour on. */
function clock(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  const two = (part: number): string => String(part).padStart(2, "0");
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  const rest = two(whole % 60);
  return hours > 0 ? `${hours}:${two(minutes)}:${rest}` : `${minutes}:${rest}`;
}

// ------------------------------------------------------------------------------------- helpers

/** Two tasks with one id: the second gets another, or VS Code refuses the whole tree. */
function unique(ids: Set<string>, wanted: string): string {
  let id = wanted;
  for (let n = 2; ids.has(id); n += 1) {
    id = `${wanted}~${n}`;
  }
  ids.add(id);
  return id;
}

function shape(nodes: readonly Node[]): string {
  return JSON.stringify(
    nodes.map((node) =>
      node.kind === "group" ? [node.id, node.children.map(({ id }) => id)] : node.id,
    ),
  );
}

function look(node: Node | undefined): string {
  return JSON.stringify(node === undefined ? null : { ...node, children: undefined });
}
