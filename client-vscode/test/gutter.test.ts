import assert from "node:assert/strict";
import { describe, test } from "vitest";

import type { TaskRow } from "../src/generated/protocol";
import { linesOf } from "../src/gutterMarks";
import { task } from "./samples";

describe("beside a task", () => {
  test.each<[Partial<TaskRow>, string | undefined]>([
    [{}, undefined],
    [{ state: "skipped" }, undefined],
    [{ state: "done" }, "done"],
    [{ inWork: true }, "current"],
    [{ state: "blocked" }, "blocked"],
    [{ blocks: true, inWork: true }, "blocked"],
    [{ asks: true, inWork: true, blocks: true }, "asks"],
  ])("that is %o stands %s", (changes, mark) => {
    const lines = linesOf([task({ line: 7, ...changes })], { isOn: true });
    const found = [...lines].filter(([, places]) => places.length > 0);
    assert.deepEqual(found, mark === undefined ? [] : [[mark, [6]]]);
  });

  test("nothing stands where marks are switched off, and what stood there goes", () => {
    const lines = linesOf([task({ state: "done" })], { isOn: false });
    assert.deepEqual([...lines.values()], [[], [], [], []]);
  });
});
