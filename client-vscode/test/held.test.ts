import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test, vi } from "vitest";

import type { TaskRow } from "../src/generated/protocol";
import { HeldRows, REST, type ChangedRows } from "../src/trees/held";
import type { Node } from "../src/trees/nodes";
import { planNodes } from "../src/trees/plan";
import { folder, PARSER, state, task } from "./samples";

function plan(...tasks: readonly TaskRow[]): readonly Node[] {
  const rows = { uri: `${PARSER}/plan.md`, path: "plan.md", tasks, problems: [] };
  return planNodes({ ...folder(), state: state({ plan: rows }) });
}

const GROUP = `${PARSER}#group:High Priority`;
const A = `${PARSER}#task:a`;
const B = `${PARSER}#task:b`;

describe("rows that are held", () => {
  let told: ChangedRows[];
  let held: HeldRows;

  beforeEach(() => {
    vi.useFakeTimers();
    told = [];
    held = new HeldRows((what) => {
      told.push(what);
    });
    held.show(plan(task({ id: "a" }), task({ id: "b" })));
    vi.advanceTimersByTime(REST);
    told = [];
  });

  afterEach(() => {
    held.dispose();
    vi.useRealTimers();
  });

  test("tell of those alone that read otherwise", () => {
    held.show(plan(task({ id: "a" }), task({ id: "b", words: "attempt 2 of 3" })));
    assert.deepEqual(told, [[B]]);
  });

  test("tell of nothing while all reads the same, however much happens", () => {
    for (let n = 0; n < 1000; n += 1) {
      held.show(plan(task({ id: "a" }), task({ id: "b" })));
      vi.advanceTimersByTime(10);
    }
    assert.deepEqual(told, []);
  });

  test("tell at once, and then at most four times a second, the newest last", () => {
    for (let n = 1; n <= 100; n += 1) {
      held.show(plan(task({ id: "a" }), task({ id: "b", words: `${n}` })));
      vi.advanceTimersByTime(10);
    }
    assert.deepEqual(told, [[B], [B], [B], [B]]);
    vi.advanceTimersByTime(REST);
    assert.equal(held.find(B)?.description, "100");
    assert.equal(told.length, 5);
    vi.advanceTimersByTime(10 * REST);
    assert.equal(told.length, 5);
  });

  test("tell nothing of what was taken back before it could be told", () => {
    held.show(plan(task({ id: "a", words: "x" }), task({ id: "b" })));
    held.show(plan(task({ id: "a", words: "x" }), task({ id: "b", words: "y" })));
    held.show(plan(task({ id: "a", words: "x" }), task({ id: "b" })));
    vi.advanceTimersByTime(REST);
    assert.deepEqual(told, [[A]]);
  });

  test("show what was told, so that a row is drawn as it was announced", () => {
    held.show(plan(task({ id: "a", words: "x" }), task({ id: "b" })));
    held.show(plan(task({ id: "a", words: "x" }), task({ id: "b", words: "later" })));
    assert.equal(held.find(B)?.description, "");
  });

  test("keep their ids while what they say changes: what is selected stays so", () => {
    const before = held.childrenOf(GROUP);
    held.show(plan(task({ id: "a", inWork: true, line: 9 }), task({ id: "b", title: "New" })));
    assert.deepEqual(held.childrenOf(GROUP), before);
    assert.deepEqual(told, [[A, B]]);
  });

  test("know their heading and who stands beside them", () => {
    assert.deepEqual(held.childrenOf(undefined), [GROUP]);
    assert.deepEqual(held.childrenOf(A), []);
    assert.equal(held.parentOf(B), GROUP);
    assert.equal(held.parentOf(GROUP), undefined);
    assert.deepEqual(
      held.siblingsOf(A).map(({ id }) => id),
      [A, B],
    );
    assert.deepEqual(
      held.siblingsOf(GROUP).map(({ id }) => id),
      [GROUP],
    );
  });
});
