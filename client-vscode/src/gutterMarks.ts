/** Which mark is beside which task of a plan. Does not import VS Code. */

import type { TaskRow } from "./generated/protocol";

/** One shape each, so that colour alone distinguishes none. */
export const MARKS = ["done", "current", "asks", "blocked"] as const;
export type Mark = (typeof MARKS)[number];

/** The lines (from 0) of each mark; every list is empty where the marks are switched off. */
export function linesOf(
  rows: readonly TaskRow[],
  { isOn }: { readonly isOn: boolean },
): ReadonlyMap<Mark, readonly number[]> {
  const shown = isOn ? rows : [];
  return new Map(
    MARKS.map((mark) => [
      mark,
      shown.filter((row) => markOf(row) === mark).map(({ line }) => line - 1),
    ]),
  );
}

function markOf(row: TaskRow): Mark | undefined {
  if (row.asks) {
    return "asks";
  }
  if (row.blocks || row.state === "blocked") {
    return "blocked";
  }
  if (row.inWork) {
    return "current";
  }
  return row.state === "done" ? "done" : undefined;
}
