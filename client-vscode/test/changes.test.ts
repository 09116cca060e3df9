import assert from "node:assert/strict";
import { describe, test } from "vitest";

import type { ChangesResult, FileChange } from "../src/generated/protocol";
import { diffsOf, MOST_FILES, titleOf, type Diff } from "../src/rows/changesModel";
import { textOf } from "../src/rows/gitText";
import { without } from "./samples";

const BASE = "a".repeat(40);
const HEAD = "b".repeat(40);

function changes(files: readonly FileChange[], more: Partial<ChangesResult> = {}): ChangesResult {
  return {
    iteration: 2,
    start: 2,
    base: BASE,
    head: HEAD,
    commits: [],
    files,
    moreFiles: 0,
    ...more,
  };
}

function file(status: FileChange["status"], more: Partial<FileChange> = {}): FileChange {
  return { path: "src/new.py", status, binary: false, ...more };
}

function sides(diffs: readonly Diff[]): readonly unknown[] {
  return diffs.map(({ left, right }) =>
    [left, right].map((side) =>
      side === undefined
        ? "-"
        : side.kind === "disk"
          ? `disk:${side.path}`
          : `${side.commit.charAt(0)}:${side.path}`,
    ),
  );
}

describe("what an iteration changed", () => {
  test.each<[FileChange, readonly string[]]>([
    [file("modified"), ["a:src/new.py", "b:src/new.py"]],
    [file("typeChanged"), ["a:src/new.py", "b:src/new.py"]],
    [file("added"), ["-", "b:src/new.py"]],
    [file("deleted"), ["a:src/new.py", "-"]],
    [file("renamed", { oldPath: "old.py" }), ["a:old.py", "b:src/new.py"]],
    [file("copied", { oldPath: "old.py" }), ["a:old.py", "b:src/new.py"]],
  ])("%# has each side where it was", (one, expected) => {
    assert.deepEqual(sides(diffsOf(changes([one]))), [expected]);
  });

  test("is held against the disk while nothing is committed", () => {
    const uncommitted = without("head", changes([file("modified"), file("deleted")]));
    assert.deepEqual(sides(diffsOf(uncommitted)), [
      ["a:src/new.py", "disk:src/new.py"],
      ["a:src/new.py", "-"],
    ]);
  });

  test("says which iteration it was", () => {
    assert.equal(titleOf(changes([file("added")])), "src/new.py (iteration 2)");
    assert.equal(titleOf(changes([file("added"), file("added")])), "Iteration 2");
  });

  test("is cut where nobody would look through it, and says so", () => {
    const many = changes(
      Array.from({ length: MOST_FILES + 50 }, (_, n) => file("added", { path: `${n}` })),
      { moreFiles: 7 },
    );
    assert.equal(diffsOf(many).length, MOST_FILES);
    assert.equal(titleOf(many), "Iteration 2: first 200 of 257 files");
    assert.equal(
      titleOf(changes([file("added")], { moreFiles: 1 })),
      "Iteration 2: first 1 of 2 files",
    );
  });
});

describe("a file at a commit", () => {
  test("is its text, nothing where it was not there, and a word where it is none", () => {
    assert.equal(textOf({ text: "a\n", binary: false, size: 2 }), "a\n");
    assert.equal(textOf({ text: "", binary: false, size: 0 }), "");
    assert.equal(textOf({ binary: false }), "");
    assert.equal(textOf({ binary: true, size: 9 }), "This is not a text file (9 bytes).");
    assert.equal(
      textOf({ binary: false, size: 6_000_000 }),
      "This file is too large to show (6000000 bytes).",
    );
  });
});
