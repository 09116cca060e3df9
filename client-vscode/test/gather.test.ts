import assert from "node:assert/strict";
import { beforeEach, describe, test } from "vitest";

import { Gathering, TOGETHER } from "../src/notifications/gather";
import { stillHolds, type Notice } from "../src/notifications/notices";
import { HandClock } from "../src/webview/test/clock";
import { ASKS, folder, OPEN, PARSER, question, snapshot } from "./samples";

const asks: Notice = {
  kind: "question",
  key: "question:q1",
  severity: "warning",
  text: "Ralph asks: Which engine?",
  actions: ["answer", "silence"],
  folder: PARSER,
};
const broke: Notice = { ...asks, kind: "ended", key: "ended:1", severity: "error", text: "fatal" };

let clock: HandClock;
let told: Notice[];
let gathering: Gathering;

beforeEach(() => {
  clock = new HandClock();
  told = [];
  gathering = new Gathering(
    (milliseconds, callback) => clock.later(milliseconds, callback),
    (notice) => void told.push(notice),
  );
});

describe("notices", () => {
  test("of two seconds are told as one, the gravest with its buttons", () => {
    gathering.add([asks]);
    clock.pass(TOGETHER - 1);
    assert.deepEqual(told, []);
    gathering.add([broke]);
    clock.pass(1);
    assert.deepEqual(
      told.map(({ text, severity }) => [text, severity]),
      [["fatal · Ralph asks: Which engine?", "error"]],
    );
    clock.pass(10 * TOGETHER);
    assert.equal(told.length, 1);
  });

  test("later ones are told on their own", () => {
    gathering.add([asks]);
    clock.pass(TOGETHER);
    gathering.add([broke]);
    clock.pass(TOGETHER);
    assert.deepEqual(
      told.map(({ key }) => key),
      ["question:q1", "ended:1"],
    );
  });

  test("of what was settled meanwhile are not told", () => {
    gathering.add([asks, broke]);
    gathering.keepOnly(({ kind }) => kind !== "question");
    clock.pass(TOGETHER);
    assert.deepEqual(
      told.map(({ key }) => key),
      ["ended:1"],
    );
    gathering.add([asks]);
    gathering.keepOnly(() => false);
    clock.pass(TOGETHER);
    assert.equal(told.length, 1);
  });

  test("are not told when nobody is there any more, nor of nothing", () => {
    gathering.add([]);
    assert.equal(clock.n_waiting, 0);
    gathering.add([asks]);
    gathering.dispose();
    clock.pass(TOGETHER);
    assert.deepEqual(told, []);
  });
});

describe("what a notice tells", () => {
  test("of a question holds until it is answered, or another one waits", () => {
    assert.equal(stillHolds(asks, snapshot([folder(ASKS)])), true);
    const answered = question({ answer: "SQLite" });
    assert.equal(stillHolds(asks, snapshot([folder({ question: answered })])), false);
    const other = question({ key: "q2" });
    assert.equal(stillHolds(asks, snapshot([folder({ question: other })])), false);
    assert.equal(stillHolds(asks, snapshot([folder()])), false);
  });

  test.each<[Notice["kind"], boolean, boolean]>([
    ["breaker", true, false],
    ["limitWait", false, false],
    ["server", false, false],
    ["ended", true, true],
  ])("of %s", (kind, whileOpen, whileRunning) => {
    const notice = { ...asks, kind };
    assert.equal(stillHolds(notice, snapshot([folder(OPEN)])), whileOpen);
    assert.equal(stillHolds(notice, snapshot([folder()])), whileRunning);
  });
});
