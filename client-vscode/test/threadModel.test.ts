import assert from "node:assert/strict";
import { describe, test } from "vitest";

import {
  settledLabel,
  stepsFor,
  wantedOf,
  type Shown,
  type Wanted,
} from "../src/answer/threadModel";
import { action, ASKS, BLOCKED, folder, PARSER, question, RUN, state, task } from "./samples";

const PLAN = `${PARSER}/@fix_plan.md`;
const OPEN: Shown = { key: "q1", line: 6, plan: PLAN, settled: undefined, hasDraft: false };
const BY_NEOVIM = { answer: "SQLite", by: "Neovim" };
const SETTLED: Shown = { ...OPEN, settled: BY_NEOVIM };

function asks(changes: Parameters<typeof question>[0] = {}): Wanted {
  return wantedOf(folder({ ...ASKS, question: question(changes) }));
}

function kinds(shown: Shown | undefined, wanted: Wanted): readonly string[] {
  return stepsFor(shown, wanted).map(({ kind }) => kind);
}

describe("what is wanted", () => {
  test("a question with its place, its choices and who asks", () => {
    const { matter, settled } = asks({ options: ["SQLite", "Redis"] });
    assert.equal(settled, undefined);
    assert.deepEqual(matter, {
      kind: "question",
      key: "q1",
      folder: PARSER,
      plan: PLAN,
      line: 6,
      asker: "Ralph · iteration 2",
      text: "Which engine?",
      options: [
        { label: "SQLite", answer: "SQLite" },
        { label: "Redis", answer: "Redis" },
      ],
      goOn: false,
    });
  });

  test("an answer to a run without an engine goes on with it, where the server says so", () => {
    const actions = [action("answer", { run: RUN, continue: true })];
    const { matter } = wantedOf(folder({ ...ASKS, actions }));
    assert.equal(matter?.goOn, true);
  });

  test("a blocker, at the task that it blocks", () => {
    const blocked = folder(BLOCKED);
    const plan = { uri: PLAN, path: "", tasks: [task({ line: 9, blocks: true })], problems: [] };
    const { matter } = wantedOf({
      ...blocked,
      state: { ...state({ panel: blocked.state?.panel ?? assert.fail() }), plan },
    });
    assert.equal(matter?.kind, "blocked");
    assert.equal(matter.line, 8);
    assert.equal(matter.goOn, true);
  });

  test("nothing, where nothing waits", () => {
    assert.deepEqual(wantedOf(folder()), { matter: undefined, settled: undefined });
  });

  test("an answer that was given, and by whom", () => {
    const { matter, settled } = asks({ answer: "SQLite", answeredBy: "Neovim" });
    assert.equal(matter, undefined);
    assert.deepEqual(settled, { key: "q1", answer: "SQLite", by: "Neovim" });
  });
});

describe("the thread", () => {
  test("appears with the question", () => {
    assert.deepEqual(kinds(undefined, asks()), ["create"]);
  });

  test("does not appear for a question that was answered before anybody looked", () => {
    assert.deepEqual(kinds(undefined, asks({ answer: "SQLite" })), []);
  });

  test("does not appear where there is no plan to stand in", () => {
    const { matter, settled } = asks();
    const without = { matter: { ...(matter ?? assert.fail()), plan: undefined }, settled };
    assert.deepEqual(kinds(undefined, without), []);
  });

  test("stays as it is while nothing changes", () => {
    assert.deepEqual(kinds(OPEN, asks()), []);
  });

  test("follows its task", () => {
    assert.deepEqual(stepsFor(OPEN, asks({ line: 8 })), [{ kind: "move", line: 8 }]);
  });

  test("goes over to another file with the plan", () => {
    assert.deepEqual(kinds({ ...OPEN, plan: "file:///old.md" }, asks()), ["remove", "create"]);
  });

  test("shows the answer and who gave it, wherever that was", () => {
    assert.deepEqual(stepsFor(OPEN, asks({ answer: "SQLite", answeredBy: "Neovim" })), [
      { kind: "settle", settled: { key: "q1", answer: "SQLite", by: "Neovim" } },
    ]);
  });

  test("goes with a question that nobody answered", () => {
    assert.deepEqual(kinds(OPEN, wantedOf(folder())), ["remove"]);
  });

  test("makes way for the next question, also after an answer", () => {
    const next = asks({ key: "q2" });
    assert.deepEqual(kinds(OPEN, next), ["remove", "create"]);
    assert.deepEqual(kinds(SETTLED, next), ["remove", "create"]);
  });

  test("stays readable once it is answered", () => {
    assert.deepEqual(kinds(SETTLED, asks({ answer: "SQLite", answeredBy: "Neovim" })), []);
    assert.deepEqual(kinds(SETTLED, wantedOf(folder())), []);
  });

  test("names who answered as soon as that is known", () => {
    const anonymous: Shown = { ...OPEN, settled: { answer: "SQLite", by: "" } };
    const told = asks({ answer: "SQLite", answeredBy: "Neovim" });
    assert.deepEqual(kinds(anonymous, told), ["settle"]);
    assert.deepEqual(kinds({ ...anonymous, hasDraft: true }, told), ["label"]);
  });
});

describe("a draft that somebody writes", () => {
  const drafting: Shown = { ...OPEN, hasDraft: true };
  const nothingHappensToIt = ["label", "move"];

  test.each<[string, Wanted]>([
    ["answered elsewhere", asks({ answer: "SQLite", answeredBy: "Neovim" })],
    ["the question is gone", wantedOf(folder())],
    ["another question came", asks({ key: "q2" })],
    ["the task moved", asks({ line: 8 })],
    ["blocked instead", wantedOf(folder(BLOCKED))],
  ])("is never taken away: %s", (_, wanted) => {
    for (const kind of kinds(drafting, wanted)) {
      assert.ok(nothingHappensToIt.includes(kind), kind);
    }
    for (const kind of kinds({ ...SETTLED, hasDraft: true }, wanted)) {
      assert.ok(nothingHappensToIt.includes(kind), kind);
    }
  });

  test("is told who answered", () => {
    const [step] = stepsFor(drafting, asks({ answer: "SQLite", answeredBy: "Neovim" }));
    assert.equal(step?.kind === "label" && settledLabel(step.settled), "Answered in Neovim");
  });
});
