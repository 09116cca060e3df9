/** What each state of the set-up wizard looks like. */

import assert from "node:assert/strict";
import { describe, test } from "vitest";

import { STEPS, type Step } from "../../src/wizard/answers";
import type { Row } from "../../src/wizard/lists";
import { screenOf, type Field, type Pick } from "../../src/wizard/screens";
import { answers, choices, item, Person, problem, RESULT } from "./samples";

function pick({ wizard }: Person): Pick {
  const screen = screenOf(wizard);
  assert.equal(screen.kind, "pick");
  return screen;
}

function field({ wizard }: Person): Field {
  const screen = screenOf(wizard);
  assert.equal(screen.kind, "field");
  return screen;
}

function rows(person: Person): readonly Row[] {
  return pick(person).rows.filter((row) => row.kind === "row");
}

function labels(person: Person): readonly string[] {
  return pick(person).rows.map((row) => (row.kind === "row" ? row.label : `- ${row.label}`));
}

function buttons({ wizard }: Person): readonly string[] {
  return screenOf(wizard).buttons.map(({ id }) => id);
}

const ITEMS = answers({ source: "write", items: [item(0), item(1, { detail: "a\n  b" })] });

test.each([
  ["profile", "Set Up a Loop: Task Setup · Profile"],
  ["template", "Set Up a Loop: Task Setup · Template"],
  ["description", "Set Up a Loop: Task Setup · Task Description"],
  ["completionPhrase", "Set Up a Loop: Task Setup · Completion Phrase"],
  ["agent", "Set Up a Loop: Task Setup · Agent"],
  ["limits", "Set Up a Loop: Task Setup · Limits"],
  ["source", "Set Up a Loop: Plan Generation · Create the Plan"],
  ["items", "Set Up a Loop: Plan Generation · Plan Items"],
  ["launch", "Set Up a Loop: Launch · Files to Write"],
] as const)("%s is the screen %s", (step, title) => {
  const screen = screenOf(new Person({ step, answers: ITEMS }).wizard);
  assert.equal(screen.title, title);
  assert.deepEqual([screen.step, screen.steps], [STEPS.indexOf(step) + 1, 9]);
  assert.equal(screen.canGoBack, step !== "profile");
});

test("each screen has a key of its own, which a message does not change", () => {
  const keys = STEPS.map((step) => screenOf(new Person({ step }).wizard).key);
  assert.equal(new Set(keys).size, STEPS.length);
  const person = new Person({ step: "description" });
  const [before] = [field(person).key];
  assert.equal(field(person.types("short")).key, before);
  assert.equal(field(person.hears(problem())).key, before);
  assert.notEqual(screenOf(new Person({ step: "limits" }).chooses("timeout").wizard).key, keys[5]);
});

describe("lists", () => {
  test("profiles: the one that fits is said, the chosen one stands under the cursor", () => {
    const person = new Person({}, choices({ profile: "spec" }));
    assert.deepEqual(
      rows(person).map(({ description }) => description),
      ["@fix_plan.md", "IMPLEMENTATION_PLAN.md · suggested here"],
    );
    assert.equal(pick(person).active, "spec");
    assert.match(pick(person).prompt, /Nothing is written until the last step/);
    const again = new Person({}, choices({ alreadySetUp: true }));
    assert.match(pick(again).prompt, /already set up here/);
  });

  test("templates: own ones apart, and where those lie", () => {
    const person = new Person({ step: "template" }, choices({ notes: ["bad.md is no text"] }));
    assert.deepEqual(labels(person), [
      ...["In My Own Words", "- Templates", "Bug Fix", "- My templates", "Mine"],
    ]);
    assert.match(pick(person).prompt, /\/t\. bad\.md is no text/);
    assert.equal(pick(person).active, "none");
    const chosen = new Person({ step: "template", answers: answers({ template: "own:mine" }) });
    assert.equal(pick(chosen).active, "own:mine");
    const none = new Person({ step: "template" }, choices({ templates: [] }));
    assert.deepEqual(labels(none), ["In My Own Words"]);
  });

  test("agents: the found ones first", () => {
    assert.deepEqual(labels(new Person({ step: "agent" })), [
      ...["- Found", "claude", "command", "- Not found", "demo", "- "],
      "Custom Command…",
    ]);
    const found = rows(new Person({ step: "agent" })).map(({ description }) => description);
    assert.deepEqual(found.slice(0, 3), ["", "needs your approval first", "not found"]);
    const own = answers({ agent: "command", agentCommand: ["sh", "a b"] });
    const person = new Person({ step: "agent", answers: own });
    assert.equal(pick(person).active, "own");
    assert.equal(rows(person).at(-1)?.detail, 'sh "a b"');
  });

  test("limits: what holds now", () => {
    const held = (changes = {}): readonly (string | undefined)[] =>
      rows(new Person({ step: "limits", answers: answers(changes) }))
        .slice(1)
        .map(({ description }) => description);
    assert.deepEqual(held(), ["20", "30 min", "none"]);
    assert.deepEqual(held({ maxCostUsd: 2.5 }), ["20", "30 min", "$2.5"]);
  });

  test("a description of several lines: filled in first, then gone on with", () => {
    const person = new Person({ step: "template" }).chooses("bug-fix");
    assert.deepEqual(labels(person), ["Fill Out in Editor…", "Use Template as Is"]);
    assert.equal(pick(person).active, "edit");
    assert.equal(rows(person)[0]?.detail, "# What is wrong · It is done when:");
    const fix = { title: "Add it", text: "They pass." };
    person.does({ kind: "drafted", draft: "description", text: "a\nb" });
    person.chooses("keep").hears(problem({ fix }));
    assert.deepEqual(labels(person), [
      "Edit in Editor…",
      "Continue with This Description",
      "Add it",
    ]);
    assert.equal(pick(person).active, "keep");
    assert.equal(pick(person).prompt, "Short. Press Enter again to keep it.");
    assert.equal(rows(person)[1]?.description, "2 lines");
    assert.deepEqual(buttons(person), ["startOver"]);
  });

  test("sources: what there is decides what is under the cursor", () => {
    assert.deepEqual(labels(new Person({ step: "source" })), [
      ...["Generate with claude", "Write It Myself", "Use Another File…"],
    ]);
    assert.equal(pick(new Person({ step: "source" })).active, "generate");
    const existing = new Person({ step: "source" }, choices({ existingPlan: "PLAN.md" }));
    assert.ok(labels(existing).includes("Use PLAN.md as Is"));
    assert.equal(pick(existing).active, "existing");
    const again = new Person({ step: "source", answers: { ...ITEMS, template: "bug-fix" } });
    assert.deepEqual(labels(again).slice(0, 2), ["Keep These Items", "Ask claude Again"]);
    assert.equal(pick(again).active, "items");
    assert.match(rows(again)[2]?.detail ?? "", /template's items \(1\)/);
  });

  test("an agent at work can be stopped, and nothing else", () => {
    const person = new Person({ step: "source" }).chooses("generate");
    assert.deepEqual(labels(person), ["Stop"]);
    assert.equal(pick(person).isBusy, true);
    assert.match(pick(person).prompt, /claude is writing a plan/);
    assert.deepEqual(buttons(person), []);
  });

  test("items: boxes, buttons on each row, and what is more about it in one line", () => {
    const person = new Person({ step: "items", answers: ITEMS });
    person.does({ kind: "ticked", rows: ["1"] });
    assert.equal(pick(person).many, true);
    assert.deepEqual(
      rows(person).map(({ isTicked, description, detail }) => [isTicked, description, detail]),
      [
        [false, "P1", undefined],
        [true, "P1", "a · b"],
      ],
    );
    const [first] = rows(person);
    assert.deepEqual(
      first?.buttons?.map(({ id }) => id),
      ["up", "down", "priority", "title", "remove"],
    );
    assert.deepEqual(buttons(person), ["add", "edit", "startOver"]);
    assert.match(pick(person).placeholder, /press Enter/);
  });

  test("items: what the agent wants known of them", () => {
    const person = new Person({ step: "source" }).chooses("generate");
    const items = [{ title: "a", priority: "P0", detail: "" }] as const;
    person.does({ kind: "proposed", result: { items, notes: ["It is", "scripted."] } });
    assert.equal(pick(person).prompt, "It is scripted.");
  });

  test("launch: what is written, then that it is being written", () => {
    const person = new Person({ step: "launch" });
    assert.deepEqual(labels(person), []);
    assert.equal(pick(person).isBusy, true);
    person.does({ kind: "planned", result: RESULT });
    assert.deepEqual(labels(person), [
      ...["Start Now", "Write Files Only", "Dry Run", "- Files"],
      ...RESULT.files.map(({ path }) => path),
      ...["- Notes", "Allow it first."],
    ]);
    assert.deepEqual(
      rows(person)
        .slice(3, 6)
        .map(({ description }) => description),
      ["new · 3 lines", "changed · 1 line", "unchanged"],
    );
    assert.equal(pick(person).active, "start");
    person.chooses("write");
    assert.deepEqual(labels(person), []);
    assert.equal(pick(person).placeholder, "Writing files…");
  });

  test("launch: what went wrong, and another try", () => {
    const person = new Person({ step: "launch" }).does({ kind: "failed", message: "No." });
    assert.deepEqual(labels(person), ["Try Again"]);
    assert.equal(pick(person).prompt, "No.");
  });
});

describe("fields", () => {
  test("say the most severe thing, what Enter does about it, and how much more there is", () => {
    const person = new Person({ step: "description" }).types("short");
    person.hears(problem(), problem({ code: "b" }));
    assert.deepEqual(field(person).message, {
      severity: "warning",
      text: "Short. Press Enter again to keep it. (1 more)",
    });
    person.confirms();
    assert.equal(field(person).message?.text, "Short. Press Enter again to keep it.");
    person.types("other").hears(problem({ severity: "error" }));
    assert.deepEqual(field(person).message, { severity: "error", text: "Short." });
    assert.equal(field(person).value, "other");
  });

  test("have a button that inserts what settles it", () => {
    const fix = { title: "Add it", text: "They pass." };
    const person = new Person({ step: "description" });
    assert.deepEqual(buttons(person), ["edit", "startOver"]);
    person.types("short").hears(problem({ severity: "information", fix }));
    assert.deepEqual(buttons(person), ["fix", "edit", "startOver"]);
    assert.equal(field(person).buttons[0]?.tooltip, "Insert: They pass.");
  });

  test("are busy while the server judges, with all their buttons", () => {
    const person = new Person({ step: "description" }).types("short");
    assert.equal(field(person).isBusy, true);
    assert.deepEqual(buttons(person), ["edit", "startOver"]);
  });

  const asked: readonly [Step, string, string][] = [
    ["limits", "maxIterations", "Maximum Iterations"],
    ["limits", "timeout", "Iteration Timeout"],
    ["limits", "maxCostUsd", "Budget"],
    ["agent", "own", "Custom Command"],
    ["source", "write", "New Item"],
  ];
  test.each(asked)("of %s, for %s, are called %s", (step, row, title) => {
    const person = new Person({ step }).chooses(row);
    assert.ok(field(person).title.endsWith(` · ${title}`), field(person).title);
    assert.notEqual(field(person).prompt, "");
    assert.deepEqual(buttons(person), []);
  });

  test("of an item say whether it is new", () => {
    const person = new Person({ step: "items", answers: ITEMS }).presses("title", 1);
    assert.ok(field(person).title.endsWith("Edit Item"));
    assert.equal(field(person).prompt, "Edit the item's text.");
  });

  test("of the completion phrase and of the description say what they are for", () => {
    const phrase = field(new Person({ step: "completionPhrase" }));
    assert.deepEqual([phrase.value, phrase.placeholder], ["COMPLETE", "COMPLETE"]);
    assert.match(field(new Person({ step: "description" })).prompt, /how will you know it's done/);
  });
});
