/**
 * What can be done with a row, in one place: menus, lists to choose from and tests ask here.
 *
 * Each offer is in the row's context value as `can:NAME`, where package.json asks for it. What
 * really can be done the server decides when it is asked. It must never know VS Code.
 */

import type { IterationRow, LaneRow, TaskRow } from "../generated/protocol";

export const TASK_OFFERS = ["run", "skip", "reset", "block", "unblock", "log", "commit"] as const;
export type TaskOffer = (typeof TASK_OFFERS)[number];

export const ITERATION_OFFERS = ["log", "changes", "commit", "rollBack"] as const;
export type IterationOffer = (typeof ITERATION_OFFERS)[number];

export const LANE_OFFERS = ["answer", "conflict", "folder", "log"] as const;
export type LaneOffer = (typeof LANE_OFFERS)[number];

/** What can be done with a task as it is. */
export function taskOffers(task: TaskRow): readonly TaskOffer[] {
  const isOpen = task.state === "todo" || task.state === "inProgress";
  const holds: Readonly<Record<TaskOffer, boolean>> = {
    run: isOpen,
    skip: isOpen && !task.skipped,
    // There is something to take back: attempts, a wish to skip it, or a state of the plan.
    reset: task.state !== "done" && (task.state !== "todo" || task.attempts > 0 || task.skipped),
    block: isOpen && task.canBlock,
    unblock: task.state === "blocked" && task.canBlock,
    log: task.iteration !== undefined,
    commit: task.commit !== undefined,
  };
  return TASK_OFFERS.filter((offer) => holds[offer]);
}

/** What can be done with an iteration. */
export function iterationOffers(row: IterationRow): readonly IterationOffer[] {
  const holds: Readonly<Record<IterationOffer, boolean>> = {
    log: true,
    changes: row.changes,
    commit: row.commit !== undefined,
    rollBack: row.canRollBack,
  };
  return ITERATION_OFFERS.filter((offer) => holds[offer]);
}

/** What can be done with a lane. */
export function laneOffers(row: LaneRow): readonly LaneOffer[] {
  // The work tree of a lane that is closed is removed, unless something was left in it.
  const isClosed = row.state === "merged" || row.state === "dropped";
  const isThere = !isClosed || row.kept !== undefined;
  const holds: Readonly<Record<LaneOffer, boolean>> = {
    answer: row.question !== undefined,
    conflict: !isClosed && row.conflicts.length > 0,
    folder: isThere,
    log: row.run !== undefined,
  };
  return LANE_OFFERS.filter((offer) => holds[offer]);
}

/** As menus ask for it. */
export function offerWords(
  offers: readonly (TaskOffer | IterationOffer | LaneOffer)[],
): readonly string[] {
  return offers.map((offer) => `can:${offer}`);
}
