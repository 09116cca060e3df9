import assert from "node:assert/strict";
import { describe, test } from "vitest";

import type { IterationRow, TaskRow } from "../src/generated/protocol";
import { iterationOffers, offerWords, taskOffers } from "../src/trees/offers";
import { iteration, task } from "./samples";

describe("with a task", () => {
  test.each<[Partial<TaskRow>, string]>([
    [{}, "run skip block"],
    [{ state: "inProgress" }, "run skip reset block"],
    [{ attempts: 2, iteration: 3 }, "run skip reset block log"],
    [{ skipped: true }, "run reset block"],
    [{ state: "blocked" }, "reset unblock"],
    [{ state: "skipped" }, "reset"],
    [{ canBlock: false }, "run skip"],
    [{ state: "blocked", canBlock: false }, "reset"],
    [{ state: "done" }, ""],
    [{ state: "done", attempts: 1, iteration: 1, commit: "a1b2" }, "log commit"],
  ])("that is %o can be done %s", (changes, offers) => {
    assert.equal(taskOffers(task(changes)).join(" "), offers);
  });
});

describe("with an iteration", () => {
  test.each<[Partial<IterationRow>, string]>([
    [{}, "log"],
    [{ changes: true }, "log changes"],
    [{ changes: true, commit: "a1b2", canRollBack: true }, "log changes commit rollBack"],
  ])("that is %o can be done %s", (changes, offers) => {
    assert.equal(iterationOffers(iteration(changes)).join(" "), offers);
  });
});

test("menus find an offer by its name", () => {
  assert.deepEqual(offerWords(["skip", "rollBack"]), ["can:skip", "can:rollBack"]);
});
