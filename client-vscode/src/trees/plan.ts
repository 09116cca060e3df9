/** The rows of the plan's tree, made from the server's reports. Does not import VS Code. */

import type { PlanRows, TaskRow } from "../generated/protocol";
import { t } from "../l10n";
import type { FolderSnapshot } from "../state/snapshot";
import { byId, type GroupNode, type Node, type NodeIcon, type TaskNode } from "./nodes";
import { offerWords, taskOffers } from "./offers";

/** The plan of a folder: its tasks under their headings, in the plan's order, done ones folded. */
export function planNodes(folder: FolderSnapshot | undefined): readonly Node[] {
  const rows = folder?.state?.plan;
  if (folder === undefined || rows === undefined || rows.path === "") {
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
    // VS Code keeps open what was open, by its id: a heading that is finished is another row, and
    // folded, with other rows in it, for a row that moves into a folded one is drawn for ever.
    const end = name !== "" && tasks.every(isDone) ? "#finished" : "";
    const children = tasks.map((task) => taskNode(folder, rows, task, ids, end));
    return name === "" ? children : [groupNode(folder, name, children, ids, end)];
  });
}

/**
 * The row of the task in work, or of the one that waits for the user.
 *
 * One that the agent ticked a moment ago is not: to reveal it would open what is folded because it
 * is done.
 */
export function currentTask(nodes: readonly Node[]): TaskNode | undefined {
  const tasks = [...byId(nodes).values()].filter((node) => node.kind === "task");
  return (
    tasks.find(({ task }) => task.asks || task.blocks) ??
    tasks.find(({ task }) => task.inWork && task.state !== "done")
  );
}

function groupNode(
  folder: FolderSnapshot,
  name: string,
  children: readonly TaskNode[],
  ids: Set<string>,
  end: string,
): GroupNode {
  const finished = children.filter(({ task }) => isDone(task));
  const left = children.filter(({ task }) => !isDone(task));
  const done = finished.length;
  const id = unique(ids, `${folder.uri}#group:${name}${end}`);
  return {
    kind: "group",
    id,
    isFolded: left.length === 0,
    label: name,
    description: `${done}/${children.length}`,
    tooltip: t("{0}: {1} of {2} done", name, done, children.length),
    spoken: t("{0}, {1} of {2} done", name, done, children.length),
    context: "group",
    icon: undefined,
    children:
      done > 0 && left.length > 0 ? [doneNode(`${id}#done`, name, finished), ...left] : children,
  };
}

/** The tasks of a heading that are done, in one row that opens. */
function doneNode(id: string, name: string, tasks: readonly TaskNode[]): GroupNode {
  const label = tasks.length === 1 ? t("1 done") : t("{0} done", tasks.length);
  return {
    kind: "group",
    id,
    isFolded: true,
    label,
    description: "",
    tooltip: tasks.map(({ label: title }) => title).join("\n"),
    spoken: t("{0}: {1}", name, label),
    context: "group done",
    icon: { name: "pass", color: "testing.iconPassed" },
    children: tasks,
  };
}

function taskNode(
  folder: FolderSnapshot,
  plan: PlanRows,
  task: TaskRow,
  ids: Set<string>,
  end: string,
): TaskNode {
  const context = [
    "task",
    task.state,
    ...(task.asks ? ["asks"] : []),
    ...(task.blocks ? ["blocks"] : []),
    ...(task.iteration === undefined ? [] : ["tried"]),
    ...offerWords(taskOffers(task)),
  ];
  const parts = [task.title, stateWords(task), priorityWords(task), task.words];
  return {
    kind: "task",
    id: unique(ids, `${folder.uri}#task:${task.id}${end}`),
    label: task.title,
    description: shortWords(task),
    tooltip: [
      task.title,
      task.words === "" ? stateWords(task) : task.words,
      ...task.criteria.map((criterion) => `• ${criterion}`),
    ].join("\n"),
    spoken: parts.filter((part) => part !== "").join(", "),
    context: context.join(" "),
    icon: taskIcon(task),
    folder: folder.uri,
    plan: plan.uri,
    task,
  };
}

/** Done in the file that is open here, or on the branch of a parallel run. */
function isDone({ state, merged }: TaskRow): boolean {
  return state === "done" || merged;
}

function headingOf(task: TaskRow): string {
  return task.section !== "" ? task.section : (task.priority ?? "");
}

/** What fits beside a title in a side bar: `#2 a1b2c3d` of one that is done. */
function shortWords({ state, iteration, commit, words }: TaskRow): string {
  return state === "done" && iteration !== undefined
    ? [`#${iteration}`, commit?.slice(0, 7) ?? ""].join(" ").trim()
    : words;
}

function stateWords(task: TaskRow): string {
  if (task.inWork) {
    return t("running");
  }
  if (task.skipped) {
    return t("skipped in this run");
  }
  if (task.merged) {
    return t("merged");
  }
  switch (task.state) {
    case "todo":
      return t("open");
    case "inProgress":
      return t("in progress");
    case "done":
      return t("done");
    case "blocked":
      return t("blocked");
    case "skipped":
      return t("skipped");
  }
}

function priorityWords({ priority }: TaskRow): string {
  return priority === undefined ? "" : t("priority {0}", priority);
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
  if (task.merged) {
    return { name: "git-merge", color: "testing.iconPassed" };
  }
  if (task.skipped && task.state !== "done") {
    return { name: "debug-step-over", color: "testing.iconSkipped" };
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

/** Two tasks with one id: the second gets another, or VS Code refuses the whole tree. */
function unique(ids: Set<string>, wanted: string): string {
  let id = wanted;
  for (let n = 2; ids.has(id); n += 1) {
    id = `${wanted}~${n}`;
  }
  ids.add(id);
  return id;
}
