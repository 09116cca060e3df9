import assert from "node:assert/strict";
import { describe, test } from "vitest";

import type { TaskRow } from "../src/generated/protocol";
import { moveOf } from "../src/trees/drag";
import { tasksOf, type GroupNode, type Node, type TaskNode } from "../src/trees/nodes";
import { iterationNodes } from "../src/trees/iterations";
import { planNodes } from "../src/trees/plan";
import { folder, iteration, panel, PARSER, state, task } from "./samples";

function plan(...tasks: readonly TaskRow[]): readonly Node[] {
  const rows = { uri: `${PARSER}/plan.md`, path: "plan.md", tasks, problems: [] };
  return planNodes({ ...folder(), state: state({ plan: rows }) });
}

const [high, other] = plan(
  ...["a", "b", "c"].map((id) => task({ id })),
  ...["x", "y"].map((id) => task({ id, section: "Other" })),
) as [GroupNode, GroupNode];

function row(id: string): TaskNode {
  const found = [...tasksOf(high), ...tasksOf(other)].find((node) => node.task.id === id);
  assert.ok(found !== undefined);
  return found;
}

/** Before which task it goes; "end" for the end of its list, "stays" for nowhere. */
function moved(id: string, target: Node | undefined): string {
  const own = tasksOf(high).some((node) => node.task.id === id) ? high : other;
  const move = moveOf(row(id), target, own.children);
  return move === undefined ? "stays" : (move.before ?? "end");
}

describe("a task that is dropped", () => {
  test.each([
    ["c", "a", "a"],
    ["c", "b", "b"],
    ["a", "b", "c"],
    ["a", "c", "end"],
    ["b", "c", "end"],
    ["b", "b", "stays"],
  ])("%s on %s takes its place: before %s", (id, target, before) => {
    assert.equal(moved(id, row(target)), before);
  });

  test("on a task of another heading goes before that one", () => {
    assert.equal(moved("a", row("y")), "y");
    assert.equal(moved("x", row("b")), "b");
  });

  test("on its own heading, or below all rows, goes to the end", () => {
    assert.equal(moved("a", high), "end");
    assert.equal(moved("a", undefined), "end");
    assert.equal(moved("c", high), "stays");
    assert.equal(moved("y", undefined), "stays");
  });

  test("on another heading goes to the beginning there", () => {
    assert.equal(moved("a", other), "x");
  });

  test("on what is no part of a plan stays", () => {
    const rows = [iteration()];
    const [node] = iterationNodes({ ...folder(), state: state({ panel: panel({ rows }) }) });
    assert.ok(node !== undefined);
    assert.equal(moved("a", node), "stays");
  });

  test("where there are no headings is moved among all of them", () => {
    const nodes = plan(...["a", "b"].map((id) => task({ id, section: "" })));
    const [a, b] = nodes as [TaskNode, TaskNode];
    assert.deepEqual(moveOf(b, a, nodes), { task: b, before: "a" });
    assert.deepEqual(moveOf(a, b, nodes), { task: a, before: undefined });
  });
});
