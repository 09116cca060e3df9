/** The words of the dashboard: every kind of end and failure has its own, and none is a wire name. */

import assert from "node:assert/strict";
import { describe, test } from "vitest";

import { AGENT_FAILURES, END_REASONS } from "../src/generated/protocol";
import {
  endWords,
  failureWords,
  laneWords,
  ticksOf,
  type Point,
} from "../src/webview/dashboard/model";

describe("the words of the dashboard", () => {
  test.each([
    ["an end", END_REASONS, endWords],
    ["a failure of an agent", AGENT_FAILURES, failureWords],
  ] as const)("are those of %s, and never its name in a journal", (_, names, words) => {
    const shown = names.map((name) => words(name));
    assert.equal(new Set(shown).size, names.length);
    for (const text of shown) {
      assert.doesNotMatch(text, /[a-z][A-Z]/);
    }
    assert.equal(words("ofTomorrow"), "ofTomorrow");
  });
});

test("a lane that waits to be merged reads the same from its end to its merge", () => {
  assert.equal(laneWords("queued"), laneWords("merging"));
  assert.notEqual(laneWords("parked"), laneWords("dropped"));
  assert.equal(laneWords("ofTomorrow"), "ofTomorrow");
});

test("the axis of one day has times, and of several the days", () => {
  const point = (tick: string, clock: string): Point => ({ tick, clock }) as Point;
  const days = [point("Nov 27", "10:00"), point("Nov 28", "9:00"), undefined];
  assert.deepEqual(ticksOf(days), ["Nov 27", "Nov 28", ""]);
  const hours = [point("Nov 28", "9:00"), point("Nov 28", "9:40"), point("Nov 28", "10:20")];
  assert.deepEqual(ticksOf(hours), ["Nov 28", "9:40", "10:20"]);
});
