/**
 * Where a task goes that is dropped on a row: it takes that row's place; it never knows VS Code.
 *
 * Whether the plan's format has an order at all, and what may be moved where, the server knows.
 */

import { tasksOf, type Node, type TaskNode } from "./nodes";

/** What the server is asked for: before which task, or at the end of the list that it is in. */
export interface Move {
  readonly task: TaskNode;
  readonly before: string | undefined;
}

/**
 * The move that a drop means; none where it changes nothing.
 *
 * `siblings` are the rows beside the dragged one. Dropped on its own heading, or on nothing, a task
 * goes to the end; on another heading, to the beginning of what is there.
 */
export function moveOf(
  task: TaskNode,
  target: Node | undefined,
  siblings: readonly Node[],
): Move | undefined {
  const tasks = siblings.filter((node) => node.kind === "task");
  const from = tasks.findIndex(({ id }) => id === task.id);
  switch (target?.kind) {
    case "task": {
      const to = tasks.findIndex(({ id }) => id === target.id);
      if (to === from) {
        return undefined;
      }
      // Further down it takes the place of a row that moves up, so it comes behind that one.
      return to > from && from >= 0
        ? { task, before: tasks[to + 1]?.task.id }
        : { task, before: target.task.id };
    }
    case "group": {
      const there = tasksOf(target);
      const own = there.some(({ id }) => id === task.id);
      return own ? toEnd(task, tasks) : { task, before: there[0]?.task.id };
    }
    case undefined:
      return toEnd(task, tasks);
    default:
      return undefined;
  }
}

function toEnd(task: TaskNode, tasks: readonly TaskNode[]): Move | undefined {
  return tasks.at(-1)?.id === task.id ? undefined : { task, before: undefined };
}
