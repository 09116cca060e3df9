/** The set-up wizard as the user goes through it. */

import assert from "node:assert/strict";
import { describe, test } from "vitest";

import { setupParams } from "../../src/wizard/answers";
import { answersNow } from "../../src/wizard/state";
import { answers, choices, item, Person, problem, RESULT, SKELETON } from "./samples";

const LONG = "Build a parser that reads numbers; it is done when every test passes.";

test("from the first screen to the files that are written, each screen asked once", () => {
  const person = new Person();
  person.chooses("fixplan").chooses("none");
  assert.equal(person.step, "description");
  person.types(LONG);
  assert.deepEqual(person.effect, { kind: "judge", draft: { description: LONG } });
  person.hears();
  assert.equal(person.step, "completionPhrase");
  assert.equal(person.wizard.text, "COMPLETE");
  person.confirms();
  assert.deepEqual(person.effect, { kind: "judge", draft: { completionPhrase: "COMPLETE" } });
  person.hears().chooses("claude");
  assert.equal(person.step, "limits");
  person.chooses("keep");
  assert.deepEqual(person.effect, { kind: "judge", draft: { timeout: 1800 } });
  person.hears().chooses("generate");
  assert.deepEqual(person.effect, { kind: "propose" });
  const items = [
    { title: "Read numbers", priority: "P0", detail: "" },
    { title: "Read names", priority: "P1", detail: "Also long ones." },
  ] as const;
  person.does({ kind: "proposed", result: { items, notes: ["It looked around."] } });
  assert.equal(person.step, "items");
  assert.deepEqual(person.wizard.notes, ["It looked around."]);
  person.does({ kind: "ticked", rows: ["1"] }).confirms();
  assert.deepEqual(person.effect, { kind: "judge", draft: { items: [items[1]] } });
  person.hears();
  assert.equal(person.step, "launch");
  assert.deepEqual(person.effect, { kind: "plan" });
  person.does({ kind: "planned", result: RESULT });
  assert.equal(person.wizard.result, RESULT);
  person.chooses("start");
  assert.deepEqual(person.effect, { kind: "write", start: true });
  assert.deepEqual(setupParams(person.answers, choices(), "file:///w", { dryRun: false }), {
    ...{ workspace: "file:///w", description: LONG, profile: "fixplan", agent: "claude" },
    ...{ completionPhrase: "COMPLETE", maxIterations: 20, timeout: 1800, dryRun: false },
    items: [items[1]],
  });
});

test("where the tasks are kept elsewhere, nobody is asked for some", () => {
  const beads = { title: "Issues", detail: "Kept by bd.", plan: "", needsItems: false };
  const given = choices({ profiles: [...choices().profiles, { name: "beads", ...beads }] });
  const kept = { step: "limits" as const, answers: answers({ profile: "beads" }) };
  const person = new Person(kept, given).chooses("keep").hears();
  assert.equal(person.step, "launch");
  assert.deepEqual(person.effect, { kind: "plan" });
  assert.deepEqual(setupParams(person.answers, given, "file:///w", { dryRun: true }).items, []);
  assert.equal(person.does({ kind: "wentBack" }).step, "limits");
});

test("only the last screen, once its files are known, can write", () => {
  const person = new Person({ step: "launch" });
  assert.equal(person.chooses("start").effect, undefined);
  assert.equal(person.chooses("write").effect, undefined);
  person.does({ kind: "planned", result: RESULT });
  assert.deepEqual(person.chooses("write").effect, { kind: "write", start: false });
  assert.equal(person.wizard.busy, "writing");
  assert.equal(person.chooses("start").effect, undefined, "not twice");
  assert.equal(person.does({ kind: "wentBack" }).step, "launch");
});

describe("what is said of a text", () => {
  const two = [
    problem(),
    problem({ severity: "information", code: "no-tests", message: "Tests?" }),
  ];

  test("stops the person where it is an error, until the text is another", () => {
    const error = problem({ severity: "error", code: "empty", message: "Needed." });
    const person = new Person({ step: "description" }).types("").hears(error);
    assert.equal(person.effect, undefined);
    assert.deepEqual(person.confirms().effect, { kind: "judge", draft: { description: "" } });
    person.hears(error);
    assert.deepEqual(person.said, ["Needed."]);
    person.does({ kind: "typed", text: "a" });
    assert.deepEqual(person.said, []);
  });

  test("is said one after the other, each kept by one more Enter", () => {
    const person = new Person({ step: "description" }).types("short").hears(...two);
    assert.deepEqual(person.said, ["Short.", "Tests?"]);
    assert.deepEqual(person.confirms().said, ["Tests?"]);
    assert.equal(person.step, "description");
    assert.equal(person.confirms().step, "completionPhrase");
    assert.equal(person.answers.description, "short");
  });

  test("is forgotten when something is typed, and said again", () => {
    const person = new Person({ step: "description" })
      .types("short")
      .hears(...two)
      .confirms();
    person.does({ kind: "typed", text: "shorter" });
    assert.deepEqual(person.wizard.accepted, []);
    assert.deepEqual(person.confirms().hears(...two).said, ["Short.", "Tests?"]);
  });

  test("is not heard where something was typed meanwhile", () => {
    const person = new Person({ step: "description" }).types("short");
    person.does({ kind: "typed", text: "short and" }).hears(...two);
    assert.deepEqual(person.said, []);
    assert.equal(person.step, "description");
  });

  test("is settled by its button, which leaves the others", () => {
    const fix = { title: "Add it", text: "All new code has tests and they pass." };
    const told = problem({ severity: "information", code: "no-tests", message: "Tests?", fix });
    const person = new Person({ step: "description" }).types("short").hears(problem(), told);
    assert.equal(person.presses("fix").wizard.text, "short", "the first one has no button");
    person.confirms().presses("fix");
    assert.equal(person.wizard.text, `short ${fix.text}`);
    assert.deepEqual(person.said, []);
    // What the editor says of the text that it was given changes nothing.
    person.does({ kind: "typed", text: `short ${fix.text}` });
    person.confirms().hears(problem());
    assert.equal(person.step, "completionPhrase", "what was kept is not said again");
  });

  test("does not go on while the answer is awaited", () => {
    const person = new Person({ step: "description" }).types("short").confirms();
    assert.equal(person.effect, undefined);
    assert.equal(person.presses("edit").effect, undefined);
  });

  test("tells of a request that failed, and asks again at the next Enter", () => {
    const person = new Person({ step: "completionPhrase" }).types("DONE");
    person.does({ kind: "failed", message: "Ralph's server is not running." });
    assert.deepEqual(person.said, ["Ralph's server is not running."]);
    assert.equal(person.confirms().effect?.kind, "judge");
  });
});

describe("a description of several lines", () => {
  test("comes from a template, is written in an editor, and then kept", () => {
    const person = new Person({ step: "template" }).chooses("bug-fix");
    assert.equal(person.answers.description, SKELETON);
    person.chooses("edit");
    assert.deepEqual(person.effect, { kind: "openDraft", draft: "description", text: SKELETON });
    person.does({ kind: "drafted", draft: "description", text: `\n${LONG}\n- done\n` });
    assert.equal(person.answers.description, `${LONG}\n- done`);
    person.chooses("keep");
    assert.deepEqual(person.effect, { kind: "judge", draft: { description: `${LONG}\n- done` } });
  });

  test("gets what a button inserts on a line of its own", () => {
    const fix = { title: "Add it", text: "They pass." };
    const person = new Person({ step: "description", answers: answers({ description: "a\nb" }) });
    person.chooses("keep").hears(problem({ fix })).chooses("fix");
    assert.equal(person.answers.description, "a\nb\nThey pass.");
  });

  test("is not replaced by a template where the person wrote it", () => {
    const person = new Person({ step: "template", answers: answers({ description: "Mine." }) });
    assert.equal(person.chooses("bug-fix").answers.description, "Mine.");
  });

  test("is replaced where it is another template's", () => {
    const person = new Person({ step: "template" }).chooses("own:mine");
    assert.equal(person.answers.description, "One line");
    person.does({ kind: "wentBack" }).chooses("bug-fix");
    assert.equal(person.answers.description, SKELETON);
    person.does({ kind: "wentBack" }).chooses("none");
    assert.equal(person.answers.description, "");
    assert.equal(person.answers.template, undefined);
  });

  test("of one line can be written in an editor too", () => {
    const person = new Person({ step: "description" }).does({ kind: "typed", text: "half" });
    const effect = { kind: "openDraft", draft: "description", text: "half" };
    assert.deepEqual(person.presses("edit").effect, effect);
    assert.equal(answersNow(person.wizard).description, "half", "nor is it lost by leaving");
  });
});

describe("the way back", () => {
  test("leads to the screen before, with what was typed", () => {
    const person = new Person({ step: "description" }).does({ kind: "typed", text: "half" });
    person.does({ kind: "wentBack" });
    assert.equal(person.step, "template");
    assert.equal(person.answers.description, "half");
    person.chooses("none");
    assert.equal(person.wizard.text, "half");
  });

  test("keeps a completion phrase, and ends at the first screen", () => {
    const person = new Person({ step: "completionPhrase" }).does({ kind: "typed", text: "DONE" });
    person.does({ kind: "wentBack" });
    assert.equal(person.answers.completionPhrase, "DONE");
    assert.equal(new Person().does({ kind: "wentBack" }).step, "profile");
  });

  test("leads out of a field to its list, and changes nothing", () => {
    const person = new Person({ step: "limits" }).chooses("timeout");
    person.does({ kind: "typed", text: "45" });
    assert.equal(answersNow(person.wizard).timeout, 30);
    person.does({ kind: "wentBack" });
    assert.equal(person.step, "limits");
    assert.equal(person.answers.timeout, 30);
  });

  test("passes by the items of a plan that is used as it is", () => {
    const existing = answers({ source: "existing", plan: "PLAN.md" });
    const person = new Person({ step: "launch", answers: existing }).does({ kind: "wentBack" });
    assert.equal(person.step, "source");
    const written = new Person({ step: "launch", answers: answers({ source: "write" }) });
    assert.equal(written.does({ kind: "wentBack" }).step, "items");
  });

  test("does not take for the files of now what was asked before", () => {
    const person = new Person({ step: "launch" }).does({ kind: "wentBack" });
    person.does({ kind: "planned", result: RESULT });
    assert.equal(person.wizard.result, undefined);
  });
});

describe("agent and limits", () => {
  test("a program of one's own is asked for, and kept apart from the one of the settings", () => {
    const person = new Person({ step: "agent" }).chooses("own").types(" ");
    assert.equal(person.said.length, 1);
    person.types("sh 'my agent.sh'");
    assert.equal(person.step, "limits");
    assert.deepEqual(person.answers.agentCommand, ["sh", "my agent.sh"]);
    person.does({ kind: "wentBack" }).chooses("own");
    assert.equal(person.wizard.text, 'sh "my agent.sh"');
    person.does({ kind: "wentBack" }).chooses("command");
    assert.deepEqual(person.answers.agentCommand, []);
    assert.equal(person.answers.agent, "command");
  });

  test.each([
    ["maxIterations", "7", 7],
    ["maxCostUsd", "2.50", 2.5],
    ["maxCostUsd", "", undefined],
  ] as const)("%s is taken from %j", (row, typed, value) => {
    const person = new Person({ step: "limits", answers: answers({ maxCostUsd: 9 }) });
    person.chooses(row).types(typed);
    assert.equal(person.answers[row], value);
    assert.equal(person.wizard.asking, undefined);
  });

  test.each([
    ["maxIterations", "0"],
    ["maxIterations", "many"],
    ["maxCostUsd", "0"],
    ["maxCostUsd", "$5"],
    ["timeout", "half an hour"],
  ])("%s cannot be %j", (row, typed) => {
    const person = new Person({ step: "limits" }).chooses(row).types(typed);
    assert.equal(person.wizard.problems[0]?.severity, "error");
    assert.equal(person.wizard.asking?.kind, row);
    assert.equal(person.effect, undefined);
  });

  test("a timeout is judged by the server, in its field", () => {
    const person = new Person({ step: "limits" }).chooses("timeout");
    assert.equal(person.wizard.text, "30");
    person.types("90");
    assert.deepEqual(person.effect, { kind: "judge", draft: { timeout: 5400 } });
    person.hears(problem({ field: "timeout", severity: "error", message: "5 to 60." }));
    assert.equal(person.answers.timeout, 30);
    person.types("45").hears();
    assert.equal(person.answers.timeout, 45);
    assert.equal(person.step, "limits");
  });

  test("a timeout of the settings that is out of bounds is told before the plan", () => {
    const person = new Person({ step: "limits", answers: answers({ timeout: 90 }) });
    person.chooses("keep").hears(problem({ severity: "error", message: "5 to 60." }));
    assert.deepEqual(person.said, ["5 to 60."]);
    assert.deepEqual(person.chooses("timeout").said, []);
  });

  test("a budget that is there stands in its field", () => {
    const person = new Person({ step: "limits", answers: answers({ maxCostUsd: 9 }) });
    assert.equal(person.chooses("maxCostUsd").wizard.text, "9");
    assert.equal(person.does({ kind: "wentBack" }).chooses("maxIterations").wizard.text, "20");
  });
});

describe("where the plan comes from", () => {
  test("an agent that proposes nothing is told, with what it says", () => {
    const person = new Person({ step: "source" }).chooses("generate");
    person.does({ kind: "proposed", result: { items: [], notes: ["It was silent."] } });
    assert.equal(person.step, "source");
    assert.match(person.said.join(), /proposed no items.*It was silent\./);
    assert.equal(person.chooses("generate").effect?.kind, "propose");
  });

  test.each(["stop", "back"])("%s ends the agent, and what it still says is not heard", (how) => {
    const person = new Person({ step: "source" }).chooses("generate");
    assert.equal(person.chooses("write").effect, undefined, "nothing else can be chosen");
    if (how === "stop") {
      person.chooses("stop");
    } else {
      person.does({ kind: "wentBack" });
    }
    assert.deepEqual(person.effect, { kind: "stopProposing" });
    const items = [{ title: "Late", priority: "P0", detail: "" }] as const;
    person.does({ kind: "proposed", result: { items, notes: [] } });
    assert.equal(person.step, "source");
    assert.deepEqual(person.answers.items, []);
  });

  test("written by oneself it begins with the template's items, else with a field", () => {
    const withTemplate = answers({ template: "bug-fix" });
    const first = new Person({ step: "source", answers: withTemplate }).chooses("write");
    assert.deepEqual(
      first.answers.items.map(({ title, isTicked }) => [title, isTicked]),
      [["Write a failing test", true]],
    );
    assert.equal(first.wizard.asking, undefined);
    const second = new Person({ step: "source" }).chooses("write");
    assert.deepEqual(second.wizard.asking, { kind: "title", item: undefined });
    second.types("One").types("Two").types("");
    assert.deepEqual(
      second.answers.items.map(({ id, title }) => [id, title]),
      [
        [0, "One"],
        [1, "Two"],
      ],
    );
    assert.equal(second.step, "items");
    assert.equal(second.wizard.asking, undefined);
  });

  test("a plan that lies here is used as it is", () => {
    const given = choices({ existingPlan: "@fix_plan.md" });
    const person = new Person({ step: "source" }, given).chooses("existing");
    assert.equal(person.step, "launch");
    const params = setupParams(person.answers, given, "w", { dryRun: true });
    assert.deepEqual([params.existingPlan, params.items], ["@fix_plan.md", []]);
  });

  test("another file is chosen outside of the wizard", () => {
    const person = new Person({ step: "source" }).chooses("file");
    assert.deepEqual(person.effect, { kind: "chooseFile" });
    person.does({ kind: "fileChosen", path: "docs/plan.md" });
    assert.equal(person.step, "launch");
    assert.equal(person.answers.plan, "docs/plan.md");
  });

  test("items of before are kept where the person wants that", () => {
    const person = new Person({ step: "source", answers: answers({ items: [item(0)] }) });
    assert.equal(person.chooses("items").step, "items");
    assert.equal(person.answers.items.length, 1);
  });
});

describe("the last screen", () => {
  test("shows what would be written", () => {
    const person = new Person({ step: "launch" }).does({ kind: "planned", result: RESULT });
    assert.deepEqual(person.chooses("dryRun").effect, { kind: "preview", path: undefined });
    const effect = { kind: "preview", path: "@fix_plan.md" };
    assert.deepEqual(person.chooses("file:@fix_plan.md").effect, effect);
    assert.equal(person.chooses("note:0").effect, undefined);
    assert.equal(person.confirms().effect, undefined);
  });

  test("tells why nothing can be written, and asks again", () => {
    const person = new Person({ step: "launch" });
    person.does({ kind: "failed", message: "The profile cannot run yet." });
    assert.deepEqual(person.said, ["The profile cannot run yet."]);
    assert.deepEqual(person.chooses("again").effect, { kind: "plan" });
    assert.deepEqual(person.said, []);
  });
});

test("a row that is not there is not chosen", () => {
  for (const step of ["profile", "source", "completionPhrase", "items"] as const) {
    const person = new Person({ step });
    const before = person.wizard;
    assert.equal(person.chooses("nothing of the kind").wizard, before, step);
  }
});
