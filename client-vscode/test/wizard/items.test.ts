/** The plan's items in the set-up wizard, as the user moves, changes and adds them. */

import assert from "node:assert/strict";
import { describe, test } from "vitest";

import { answers, item, Person, problem } from "./samples";

describe("the items", () => {
  const three = answers({ source: "write", items: [item(0), item(1), item(2)] });
  const order = (person: Person): string => person.answers.items.map(({ id }) => id).join("");

  test("are moved, and keep their ticks", () => {
    const person = new Person({ step: "items", answers: three });
    person.does({ kind: "ticked", rows: ["0", "2"] }).presses("up", 2);
    assert.equal(order(person), "021");
    assert.deepEqual(
      person.answers.items.map(({ isTicked }) => isTicked),
      [true, true, false],
    );
    assert.equal(order(person.presses("down", 0)), "201");
    assert.equal(order(person.presses("up", 2)), "201", "the first stays the first");
    assert.equal(order(person.presses("down", 1)), "201", "the last stays the last");
  });

  test("are removed, and get another priority, one after the other", () => {
    const person = new Person({ step: "items", answers: three }).presses("remove", 1);
    assert.equal(order(person), "02");
    const seen = ["P2", "P0", "P1"].map((wanted) => {
      person.presses("priority", 0);
      return [person.answers.items[0]?.priority, wanted];
    });
    assert.ok(seen.every(([priority, wanted]) => priority === wanted));
  });

  test("are edited; one without words stays what it was", () => {
    const person = new Person({ step: "items", answers: three }).presses("title", 1);
    assert.equal(person.wizard.text, "Item 1");
    person.types("Better");
    assert.equal(person.answers.items[1]?.title, "Better");
    person.presses("title", 1).types(" ");
    assert.equal(person.answers.items.at(1)?.title, "Better");
    assert.equal(person.wizard.asking, undefined);
  });

  test("are added with the priority of the last one", () => {
    const last = answers({ items: [item(4, { priority: "P2" })] });
    const person = new Person({ step: "items", answers: last }).presses("add").types("More");
    assert.deepEqual(person.answers.items[1], item(5, { title: "More", priority: "P2" }));
  });

  test("are edited as a text, and come back from it", () => {
    const person = new Person({ step: "items", answers: three }).presses("edit");
    assert.equal(person.effect?.kind, "openDraft");
    const text = "- [ ] P0 First\n- [x] P2 Second\n";
    person.does({ kind: "drafted", draft: "plan", text });
    assert.deepEqual(
      person.answers.items.map(({ title, priority, isTicked }) => [title, priority, isTicked]),
      [
        ["First", "P0", false],
        ["Second", "P2", true],
      ],
    );
    assert.equal(person.answers.source, "write");
    assert.equal(person.does({ kind: "drafted", draft: "plan", text: "" }).step, "source");
  });

  test("that are all left out do not make a plan", () => {
    const person = new Person({ step: "items", answers: three });
    person.does({ kind: "ticked", rows: [] }).confirms();
    assert.deepEqual(person.effect, { kind: "judge", draft: { items: [] } });
    person.hears(problem({ field: "items", severity: "error", message: "Select one." }));
    assert.deepEqual(person.said, ["Select one."]);
    person.does({ kind: "ticked", rows: ["1"] });
    assert.deepEqual(person.said, []);
  });

  test("are not changed by what changes nothing", () => {
    const person = new Person({ step: "items", answers: three });
    const before = person.wizard;
    person.does({ kind: "ticked", rows: ["0", "1", "2"] });
    person
      .presses("up", 0)
      .presses("up", 9)
      .presses("title", 9)
      .presses("other", 1)
      .presses("add2");
    person.presses("fix").chooses("0");
    assert.equal(person.wizard, before);
  });
});
