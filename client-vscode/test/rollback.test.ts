import assert from "node:assert/strict";
import { describe, test } from "vitest";

import type { RollbackResult } from "../src/generated/protocol";
import { doneWords, stepOf } from "../src/rows/rollbackModel";
import { without } from "./samples";

function told(changes: Partial<RollbackResult> = {}): RollbackResult {
  return {
    done: false,
    run: "20260131T120000Z-abcd",
    iteration: 3,
    start: 3,
    branch: "main",
    target: "a1b2c3d4".repeat(5),
    commits: [
      { hash: "b".repeat(40), subject: "ralph: Write\n  the  parser", foreign: false },
      { hash: "c".repeat(40), subject: "ralph: Begin", foreign: false },
    ],
    files: ["a.py", "b.py"],
    moreFiles: 0,
    backup: "ralph/backup-20260131T120500Z",
    ...changes,
  };
}

describe("before anything is undone", () => {
  test("a person sees what goes, where it is kept, and what is not done", () => {
    const step = stepOf(told({ forcePush: "git push --force-with-lease origin main" }));
    assert.ok(step.kind === "confirm");
    assert.equal(step.title, "Roll back to before iteration 3?");
    assert.equal(step.button, "Roll Back");
    assert.equal(
      step.detail,
      [
        "Branch main will move back to a1b2c3d.",
        "2 commits will be undone:\n• bbbbbbb ralph: Write the parser\n• ccccccc ralph: Begin",
        "2 files will change:\n• a.py\n• b.py",
        "The current state will be kept on branch ralph/backup-20260131T120500Z.",
        "Ralph does not force-push. To update the remote, run:\n" +
          "git push --force-with-lease origin main",
      ].join("\n\n"),
    );
  });

  test("what is not there is not spoken of", () => {
    const step = stepOf(without("backup", told({ files: [], commits: [] })));
    assert.equal(step.kind === "confirm" && step.detail, "Branch main will move back to a1b2c3d.");
  });

  test("of many commits and files the first are named and all are counted", () => {
    const step = stepOf(
      told({ files: Array.from({ length: 12 }, (_, n) => `${n}.py`), moreFiles: 30 }),
    );
    assert.ok(step.kind === "confirm");
    assert.match(step.detail, /42 files will change:\n• 0\.py\n/);
    assert.match(step.detail, /\n• 9\.py\n• … and 32 more\n/);
    const one = stepOf(told({ files: ["a.py"], commits: told().commits.slice(1) }));
    assert.ok(one.kind === "confirm");
    assert.match(one.detail, /1 commit will be undone:.*1 file will change:/s);
  });

  test("commits that no iteration made are asked about on their own", () => {
    const foreign = { hash: "d".repeat(40), subject: "By hand", foreign: true };
    const commits = [...told().commits, foreign];
    const refused = { code: "foreign-commits", message: "1 commit is of no iteration" };
    const step = stepOf(told({ commits, refused }));
    assert.ok(step.kind === "foreign");
    assert.equal(step.button, "Undo Them Too…");
    assert.match(step.detail, /^1 commit is of no iteration\n\nThese would also be undone:\n• ddd/);
    assert.doesNotMatch(step.detail, /bbbbbbb/);
    const forced = stepOf(told({ commits }));
    assert.ok(forced.kind === "confirm");
    assert.match(forced.detail, /• ddddddd By hand \(not made by an iteration\)/);
  });

  test("any other refusal is told as it is", () => {
    const refused = { code: "dirty-tree", message: "a.py has changes that are not committed" };
    assert.deepEqual(stepOf(told({ refused })), {
      kind: "refused",
      text: "a.py has changes that are not committed",
      code: "dirty-tree",
    });
  });
});

test("afterwards it says where the undone is kept", () => {
  const unkept = without("backup", told({ done: true }));
  assert.equal(doneWords(unkept), "Rolled main back to before iteration 3.");
  assert.equal(
    doneWords(told({ done: true })),
    "Rolled main back to before iteration 3. " +
      "The undone work is kept on branch ralph/backup-20260131T120500Z.",
  );
});
