import assert from "node:assert/strict";
import { beforeEach, describe, test } from "vitest";

import { SEEN_AFTER, SeenEnds } from "../src/status/ends";
import { HandClock } from "../src/webview/test/clock";
import { folder, LETTERS, PARSER } from "./samples";

const ended = folder({ state: "ended", live: false });

let clock: HandClock;
let told: number;
let ends: SeenEnds;

beforeEach(() => {
  clock = new HandClock();
  told = 0;
  ends = new SeenEnds(
    (milliseconds, callback) => clock.later(milliseconds, callback),
    () => void (told += 1),
  );
});

describe("an end", () => {
  test("is seen when somebody has looked at the window for a minute", () => {
    ends.watch([ended], false);
    clock.pass(10 * SEEN_AFTER);
    assert.deepEqual([...ends.folders], []);
    ends.watch([ended], true);
    clock.pass(SEEN_AFTER - 1);
    assert.deepEqual([...ends.folders], []);
    clock.pass(1);
    assert.deepEqual([[...ends.folders], told], [[PARSER], 1]);
  });

  test("is counted once, however often the window is looked at", () => {
    ends.watch([ended], true);
    clock.pass(SEEN_AFTER / 2);
    ends.watch([ended], true);
    clock.pass(SEEN_AFTER / 2);
    ends.watch([ended], true);
    clock.pass(SEEN_AFTER);
    assert.equal(told, 1);
  });

  test("of another folder, or of the next run, is an end of its own", () => {
    const other = folder({ state: "complete", live: false }, LETTERS);
    ends.watch([ended, other], true);
    ends.watch([folder(), other], true);
    clock.pass(SEEN_AFTER);
    assert.deepEqual([...ends.folders], [LETTERS]);
    ends.watch([ended], true);
    clock.pass(SEEN_AFTER);
    assert.deepEqual([...ends.folders], [LETTERS, PARSER]);
  });

  test("nothing is told when nobody is there any more", () => {
    ends.watch([ended], true);
    ends.dispose();
    clock.pass(SEEN_AFTER);
    assert.equal(told, 0);
  });
});
