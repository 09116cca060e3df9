import assert from "node:assert/strict";
import { describe, test } from "vitest";

import type { TaskRow } from "../src/generated/protocol";
import type { FolderSnapshot } from "../src/state/snapshot";
import { iterationNodes } from "../src/trees/iterations";
import { byId, changedRows, type Node } from "../src/trees/nodes";
import { currentTask, planNodes } from "../src/trees/plan";
import { folder, idleFolder, iteration, panel, PARSER, RUN, state, task } from "./samples";

function withTasks(...tasks: readonly TaskRow[]): FolderSnapshot {
  const plan = { uri: `${PARSER}/plan.md`, path: "plan.md", tasks, problems: [] };
  return { ...folder(), state: state({ plan }) };
}

function withRows(...rows: readonly ReturnType<typeof iteration>[]): FolderSnapshot {
  return { ...folder(), state: state({ panel: panel({ rows }) }) };
}

function outline(nodes: readonly Node[]): readonly unknown[] {
  return nodes.map((node) =>
    node.kind === "group"
      ? [`${node.label} ${node.description}`, outline(node.children)]
      : `${node.label}|${node.description}`,
  );
}

describe("the plan", () => {
  test("stands under its headings, with how much of each is done", () => {
    const nodes = planNodes(
      withTasks(
        task({ id: "a", title: "One", state: "done", iteration: 2, words: "done in iteration 2" }),
        task({ id: "b", title: "Two" }),
        task({ id: "c", title: "Three", section: "Standard" }),
      ),
    );
    assert.deepEqual(outline(nodes), [
      ["High Priority 1/2", [["1 done ", ["One|#2"]], "Two|"]],
      ["Standard 0/1", ["Three|"]],
    ]);
  });

  test("counts a task as done that is merged into the branch of a parallel run", () => {
    const merged = task({ id: "a", title: "One", merged: true, words: "merged into r" });
    const [before, after] = [[merged, task({ id: "b", title: "Two" })], [merged]].map((tasks) =>
      planNodes(withTasks(...tasks)),
    );
    assert.deepEqual(outline(before ?? []), [
      ["High Priority 1/2", [["1 done ", ["One|merged into r"]], "Two|"]],
    ]);
    assert.deepEqual(outline(after ?? []), [["High Priority 1/1", ["One|merged into r"]]]);
    const [row] = [...byId(after ?? []).values()].filter(({ kind }) => kind === "task");
    assert.equal(row?.icon?.name, "git-merge");
    assert.equal(row.spoken, "One, merged, merged into r");
  });

  test("without headings stands under its priorities, else by itself", () => {
    const nodes = planNodes(
      withTasks(
        task({ id: "a", section: "", priority: "P0", title: "One" }),
        task({ id: "b", section: "", title: "Two" }),
      ),
    );
    assert.deepEqual(outline(nodes), [["P0 0/1", ["One|"]], "Two|"]);
  });

  test("two headings of one name, or two tasks of one id, have ids of their own", () => {
    const nodes = planNodes(
      withTasks(
        task({ id: "a" }),
        task({ id: "b", section: "Other" }),
        task({ id: "a", title: "Again" }),
      ),
    );
    assert.equal(byId(nodes).size, 6);
  });

  test.each<[Partial<TaskRow>, string, string]>([
    [{}, "circle-large-outline", "task todo"],
    [{ state: "inProgress" }, "circle-large", "task inProgress"],
    [{ inWork: true, iteration: 3 }, "sync", "task todo tried"],
    [{ asks: true, inWork: true }, "question", "task todo asks"],
    [{ blocks: true }, "circle-slash", "task todo blocks"],
    [{ state: "blocked" }, "circle-slash", "task blocked"],
    [{ state: "done", iteration: 2 }, "pass", "task done tried"],
    [{ state: "done", skipped: true }, "pass", "task done"],
    [{ state: "skipped" }, "debug-step-over", "task skipped"],
    [{ skipped: true }, "debug-step-over", "task todo"],
  ])("a task that is %o has its own shape", (changes, icon, context) => {
    const [group] = planNodes(withTasks(task(changes)));
    const node = group?.kind === "group" ? group.children[0] : undefined;
    assert.equal(node?.icon?.name, icon);
    assert.equal(node.context.split(" can:")[0], context);
  });

  test("a task is read aloud with its state and its priority", () => {
    const [group] = planNodes(
      withTasks(
        task({ title: "Fix the bug", state: "done", priority: "P0", words: "iteration 2" }),
      ),
    );
    const node = group?.kind === "group" ? group.children[0] : undefined;
    assert.equal(node?.spoken, "Fix the bug, done, priority P0, iteration 2");
  });

  test("a task that is done tells its iteration and commit, short enough for a narrow view", () => {
    const done = { state: "done", iteration: 2, words: "done in iteration 2 · a1b2c3d" } as const;
    const [group] = planNodes(withTasks(task({ ...done, commit: "a1b2c3d4e5" })));
    const node = group?.kind === "group" ? group.children[0] : undefined;
    assert.equal(node?.description, "#2 a1b2c3d");
    assert.equal(node.spoken, "Write the parser, done, done in iteration 2 · a1b2c3d");
    assert.equal(node.tooltip, "Write the parser\ndone in iteration 2 · a1b2c3d");
  });

  test("a task that is skipped in this run says so aloud", () => {
    const [group] = planNodes(withTasks(task({ skipped: true })));
    const node = group?.kind === "group" ? group.children[0] : undefined;
    assert.equal(node?.spoken, "Write the parser, skipped in this run");
  });

  test("every row says aloud what its icon shows", () => {
    const states = ["todo", "inProgress", "done", "blocked", "skipped"] as const;
    const nodes = planNodes(withTasks(...states.map((each) => task({ id: each, state: each }))));
    const spoken = [...byId(nodes).values()].map((node) => node.spoken);
    // The heading, and the row in which what is done is folded, are rows too.
    assert.equal(new Set(spoken).size, states.length + 2);
  });

  test("a heading whose last task is done is another row with others in it, and folded", () => {
    const before = planNodes(withTasks(task({ id: "a" }), task({ id: "b" })));
    const done = { state: "done" } as const;
    const after = planNodes(withTasks(task({ id: "a", ...done }), task({ id: "b", ...done })));
    const both = [...byId(before).keys()].filter((id) => byId(after).has(id));
    assert.deepEqual(both, []);
  });

  test("what is done is folded: within its heading, or with it where all of it is", () => {
    const done = { state: "done" } as const;
    const nodes = planNodes(
      withTasks(
        task({ id: "a", ...done }),
        task({ id: "b", inWork: true }),
        task({ id: "c", section: "Standard", ...done }),
      ),
    );
    const folded = [...byId(nodes).values()].flatMap((node) =>
      node.kind === "group" && node.isFolded ? [node.label] : [],
    );
    assert.deepEqual(folded, ["1 done", "Standard"]);
    assert.equal(currentTask(nodes)?.task.id, "b");
  });

  test("a task that was ticked while it is in work is not brought into sight", () => {
    const ticked = { id: "a", inWork: true, state: "done" } as const;
    assert.equal(currentTask(planNodes(withTasks(task(ticked)))), undefined);
    assert.equal(currentTask(planNodes(withTasks(task(ticked), task({ id: "b" })))), undefined);
  });

  test("the row that waits for the user comes before the one in work", () => {
    const nodes = planNodes(
      withTasks(task({ id: "a", inWork: true }), task({ id: "b", asks: true })),
    );
    assert.equal(currentTask(nodes)?.task.id, "b");
    assert.equal(currentTask(planNodes(withTasks(task()))), undefined);
  });

  test("a task tells its criteria", () => {
    const [group] = planNodes(withTasks(task({ criteria: ["tests pass"] })));
    const node = group?.kind === "group" ? group.children[0] : undefined;
    assert.equal(node?.tooltip, "Write the parser\nopen\n• tests pass");
  });

  test("that no file is has rows all the same, which lead nowhere", () => {
    const plan = { path: "bd", tasks: [task()], problems: [] };
    const nodes = planNodes({ ...folder(), state: state({ plan }) });
    assert.deepEqual(outline(nodes), [["High Priority 0/1", ["Write the parser|"]]]);
    const rows = [...byId(nodes).values()].filter((node) => node.kind === "task");
    assert.deepEqual(
      rows.map(({ plan: file }) => file),
      [undefined],
    );
  });

  test("is empty where there is none", () => {
    assert.deepEqual(planNodes(undefined), []);
    assert.deepEqual(
      planNodes({
        ...folder(),
        state: state({ plan: { path: "", tasks: [], problems: [] } }),
      }),
      [],
    );
  });
});

describe("the iterations", () => {
  test("tell the task first, then state, files, time and cost", () => {
    const nodes = iterationNodes(
      withRows(
        iteration({ iteration: 2, task: "Write the parser" }),
        iteration({
          iteration: 1,
          task: "Write the parser",
          outcome: "progress",
          commit: "a1b2c3d4e5",
          seconds: 66,
          costUsd: 0.09,
          files: 4,
          claimedFiles: 4,
        }),
      ),
    );
    assert.deepEqual(outline(nodes), [
      "Write the parser|#2 · running",
      "Write the parser|#1 · progress · 4 files · 1:06 · $0.09",
    ]);
  });

  test("say of one without a task that it makes the plan, where it does", () => {
    const nodes = iterationNodes(withRows(iteration({ planning: true }), iteration()));
    assert.deepEqual(
      nodes.map(({ label }) => label),
      ["making the plan", "no task assigned"],
    );
  });

  test("put what was claimed beside what was seen, where they differ", () => {
    const nodes = iterationNodes(
      withRows(iteration({ outcome: "noProgress", seconds: 3723, files: 0, claimedFiles: 5 })),
    );
    assert.deepEqual(outline(nodes), [
      "no task assigned|#1 · no progress · 0 files (report 5) · 1:02:03",
    ]);
  });

  test.each([
    [iteration(), "sync"],
    [iteration({ outcome: "progress", commit: "abc" }), "git-commit"],
    [iteration({ outcome: "progress" }), "pass"],
    [iteration({ outcome: "noProgress" }), "dash"],
    [iteration({ outcome: "stopped" }), "debug-stop"],
    [iteration({ outcome: "limited" }), "clock"],
    [iteration({ outcome: "lost" }), "debug-disconnect"],
  ])("%# have a shape for each outcome", (row, icon) => {
    assert.equal(iterationNodes(withRows(row))[0]?.icon?.name, icon);
  });

  test("that do not count say why", () => {
    const [node] = iterationNodes(withRows(iteration({ outcome: "limited", seconds: 12 })));
    assert.equal(node?.description, "#1 · usage limit · 0:12");
    assert.equal(node.tooltip.split("\n")[1], "Iteration 1: usage limit, not counted");
  });

  test("say how their agents failed, and what is an estimate", () => {
    const failed = { failure: "model overloaded", costUsd: 0.1, estimated: true };
    const [held] = iterationNodes(withRows(iteration({ ...failed, outcome: "limited" })));
    assert.equal(held?.description, "#1 · model overloaded · ≈$0.10");
    const [worked] = iterationNodes(withRows(iteration({ ...failed, outcome: "progress" })));
    assert.match(worked?.tooltip ?? "", /model overloaded/);
  });

  test("that only confirmed are neither progress nor none", () => {
    const row = iteration({ outcome: "noProgress", confirmed: true });
    const nodes = iterationNodes(withRows(row));
    assert.equal(nodes[0]?.icon?.name, "pass");
    assert.match(nodes[0].tooltip, /confirmed that nothing is left/);
  });

  test("are read aloud briefly: the task, what came of it, and what it took", () => {
    const row = iteration({
      ...{ outcome: "progress", why: "the head moved", task: "Fix it", commit: "a1b2c3d4" },
      ...{ files: 2, claimedFiles: 3, seconds: 66, costUsd: 0.1, tests: "PASSING", tasksDone: 1 },
    });
    const [node] = iterationNodes(withRows(row));
    assert.equal(
      node?.spoken,
      "Fix it, progress, 2 files (report 3), 1 minute 6 seconds, $0.10, iteration 1",
    );
    for (const more of ["the head moved", "commit a1b2c3d", "tests: passing", "tasks done: 1"]) {
      assert.ok(node.tooltip.includes(more), more);
    }
  });

  test("whose work was rolled back are struck, and say so in words", () => {
    const row = iteration({ outcome: "progress", commit: "a1b2c3d4", task: "Fix", undone: true });
    const [node] = iterationNodes(withRows(row));
    assert.equal(node?.label, "F\u0336i\u0336x\u0336");
    assert.equal(node.description, "#1 · undone");
    assert.equal(node.icon?.name, "discard");
    assert.equal(node.spoken, "Fix, undone: rolled back, iteration 1");
  });

  test("with a long title leave room for their state", () => {
    const task = "Round VAT half up on each line of an invoice that has a discount";
    const [node] = iterationNodes(withRows(iteration({ task })));
    assert.equal(node?.label, "Round VAT half up on ea…");
    assert.equal(node.tooltip.split("\n")[0], task);
  });

  test("that are not shown are counted", () => {
    const nodes = iterationNodes(
      withRows(iteration({ iteration: 4 }), iteration({ iteration: 3 })),
    );
    const older = nodes.at(-1);
    assert.equal(older?.description, "2 older iterations");
    assert.equal(older.kind === "older" && older.summary, "/srv/parser/.ralph/logs/summary.csv");
  });

  test("belong to a run: another run has other rows", () => {
    const node = iterationNodes(withRows(iteration()))[0];
    assert.ok(node?.id.includes(RUN));
    assert.deepEqual(iterationNodes(idleFolder()), []);
    assert.deepEqual(iterationNodes(undefined), []);
  });
});

describe("what is drawn again", () => {
  const before = planNodes(withTasks(task({ id: "a" }), task({ id: "b" })));

  test("nothing, where all reads the same", () => {
    const same = planNodes(withTasks(task({ id: "a" }), task({ id: "b" })));
    assert.deepEqual(changedRows(before, same), { kind: "rows", ids: [] });
  });

  test("a row that reads otherwise, and its heading where its count does", () => {
    const done = task({ id: "c", state: "done" });
    const open = planNodes(withTasks(task({ id: "a" }), task({ id: "b" }), done));
    const after = planNodes(withTasks(task({ id: "a" }), task({ id: "b", inWork: true }), done));
    assert.deepEqual(changedRows(open, after), { kind: "rows", ids: [`${PARSER}#task:b`] });
    const finished = planNodes(withTasks(task({ id: "a" }), task({ id: "b", state: "done" })));
    assert.deepEqual(changedRows(before, finished), {
      kind: "rows",
      ids: [`${PARSER}#group:High Priority`],
    });
  });

  test("a row that only moved to another line, since a click opens that", () => {
    const after = planNodes(withTasks(task({ id: "a" }), task({ id: "b", line: 9 })));
    assert.deepEqual(changedRows(before, after), { kind: "rows", ids: [`${PARSER}#task:b`] });
  });

  test("a heading with all below it, where rows came, went or changed places there", () => {
    const other = task({ id: "c", section: "Other" });
    const headed = planNodes(withTasks(task({ id: "a" }), task({ id: "b" }), other));
    const group = { kind: "rows", ids: [`${PARSER}#group:High Priority`] };
    const moved = planNodes(withTasks(task({ id: "b" }), task({ id: "a" }), other));
    assert.deepEqual(changedRows(headed, moved), group);
    const gone = planNodes(withTasks(task({ id: "a" }), other));
    assert.deepEqual(changedRows(headed, gone), group);
  });

  test("everything, where a heading or a row without one came or went", () => {
    assert.deepEqual(changedRows([], before), { kind: "all" });
    const one = iterationNodes(withRows(iteration({ iteration: 1 })));
    const two = iterationNodes(withRows(iteration({ iteration: 2 }), iteration({ iteration: 1 })));
    assert.deepEqual(changedRows(one, two), { kind: "all" });
  });
});
