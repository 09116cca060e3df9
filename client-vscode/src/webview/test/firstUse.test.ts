/** The form of a first loop, and the card that shows what would run. */

import assert from "node:assert/strict";
import { beforeEach, describe, test } from "vitest";

import { Window } from "happy-dom";

import type { ClaimView } from "../../generated/protocol";
import { budgetNames, readDescribed, type FirstUse } from "../firstUse";
import { readFromPage, type FromPage, type LoopSnapshot } from "../messages";
import { LoopPage, type Memory } from "../page";
import { HandClock } from "./clock";

const WORKSPACE = "file:///srv/greeter";

const AGENTS: FirstUse["agents"] = [
  { name: "claude", detail: "/usr/bin/claude", found: true, reportsCost: true },
  { name: "house", detail: "/usr/bin/house", found: true, reportsCost: false },
  { name: "codex", detail: "install it with npm", found: false, reportsCost: false },
];

let root: HTMLElement;
let sent: FromPage[];
let remembered: Memory | undefined;

beforeEach(() => {
  const { document } = new Window();
  document.body.innerHTML = '<main id="loop"></main><p id="announcer"></p>';
  root = document.getElementById("loop") as unknown as HTMLElement;
  sent = [];
  remembered = undefined;
});

function open(): LoopPage {
  const host = {
    postMessage: (message: FromPage) => void sent.push(message),
    getState: () => remembered,
    setState: (state: Memory) => void (remembered = structuredClone(state)),
  };
  const announcer = root.ownerDocument.createElement("p");
  return new LoopPage(root, announcer, host, new HandClock());
}

function show(page: LoopPage, given: Partial<FirstUse>, more: Partial<LoopSnapshot> = {}): void {
  const firstUse = { agents: AGENTS, agent: "claude", ready: true, beginning: false, ...given };
  const snapshot = {
    workspace: WORKSPACE,
    name: "",
    receivedAt: 0,
    canAct: true,
    starting: false,
    folders: [],
    ...more,
  };
  page.receive({ type: "snapshot", snapshot: { ...snapshot, firstUse } });
}

function one(selector: string): HTMLElement {
  const found = root.querySelector<HTMLElement>(selector);
  assert.ok(found, selector);
  return found;
}

const select = (selector: string): HTMLSelectElement => one(selector) as HTMLSelectElement;

const field = (): HTMLTextAreaElement => one("#describe") as HTMLTextAreaElement;
const choices = (id: string): string[] => [...select(id).options].map(({ value }) => value);

function fire(element: HTMLElement, name: string, init: object = {}): void {
  const { defaultView } = root.ownerDocument;
  const kinds = defaultView as unknown as Record<string, new (n: string, i: object) => Event>;
  const Kind = kinds[name.startsWith("key") ? "KeyboardEvent" : "Event"];
  assert.ok(Kind);
  element.dispatchEvent(new Kind(name, { bubbles: true, ...init }));
}

function type(text: string): void {
  field().value = text;
  fire(field(), "input");
}

const begun = (): FromPage[] => sent.filter(({ type: kind }) => kind === "begin");

describe("the form", () => {
  test("sends what was typed and chosen, and says at once that it begins", () => {
    show(open(), {});
    type("A page that greets");
    one(".first .primary").click();
    const described = {
      description: "A page that greets",
      agent: "claude",
      budget: "iterations20",
    };
    assert.deepEqual(begun(), [{ type: "begin", workspace: WORKSPACE, described }]);
    assert.match(one(".hint").textContent, /starting the loop/);
  });

  test("begins by keys too", () => {
    show(open(), {});
    type("A page");
    fire(field(), "keydown", { key: "Enter" });
    assert.equal(begun().length, 0);
    fire(field(), "keydown", { key: "Enter", ctrlKey: true });
    assert.equal(begun().length, 1);
  });

  test("asks for words where there are none", () => {
    show(open(), {});
    type("  ");
    one(".first .primary").click();
    assert.equal(begun().length, 0);
    assert.match(one(".hint").textContent, /Say what should be built/);
  });

  test.each([{ ready: false }, { beginning: true }])("starts nothing while %o", (given) => {
    show(open(), given);
    type("A page");
    one(".first .primary").click();
    assert.equal(begun().length, 0);
    assert.equal(one(".first .primary").getAttribute("aria-disabled"), "true");
  });

  test("offers the agents that were found, and money where an agent reports it", () => {
    const page = open();
    show(page, {});
    assert.deepEqual(choices("#agent"), ["claude", "house"]);
    assert.deepEqual(choices("#budget"), [...budgetNames()]);
    select("#budget").value = "dollars5";
    select("#agent").value = "house";
    fire(one("#agent"), "input");
    assert.deepEqual(choices("#budget"), [...budgetNames(false)]);
    assert.equal(select("#budget").value, "iterations20");
  });

  test("keeps what is typed when agents are found, and when it was hidden", () => {
    const page = open();
    show(page, { agents: undefined });
    assert.equal(select("#agent").disabled, true);
    type("Half a senten");
    show(page, {});
    assert.equal(field().value, "Half a senten");
    assert.equal(select("#agent").disabled, false);
    root.replaceChildren();
    show(open(), {});
    assert.equal(field().value, "Half a senten");
  });

  test("names what can be installed where no agent was found", () => {
    show(open(), { agents: AGENTS.filter(({ found }) => !found) });
    assert.match(one(".hint").textContent, /codex \(install it with npm\)/);
  });

  test("leads to the set-up in steps, the demo, a plan and the walkthrough", () => {
    show(open(), {});
    for (const button of root.querySelectorAll<HTMLElement>(".first .button, .first .link")) {
      button.click();
    }
    const commands = sent.flatMap((message) =>
      message.type === "command" ? [message.command] : [],
    );
    assert.deepEqual(commands, ["setup", "demo", "openPlan", "walkthrough"]);
  });

  test("each control has a name", () => {
    show(open(), {});
    for (const control of root.querySelectorAll("textarea, select")) {
      assert.notEqual(one(`label[for="${control.id}"]`).textContent, "");
    }
  });
});

describe("what a page may send of it", () => {
  const good = { description: "A page", agent: "", budget: "hour" };

  test.each([
    undefined,
    null,
    "A page",
    { ...good, description: " " },
    { ...good, description: "x".repeat(100_001) },
    { ...good, agent: 1 },
    { ...good, budget: "toString" },
    { ...good, budget: "all" },
  ])("not %o", (value) => {
    assert.equal(readDescribed(value), undefined);
    const message = { type: "begin", workspace: WORKSPACE, described: value };
    assert.equal(readFromPage(message), undefined);
  });

  test("a description with an agent and a limit that are known", () => {
    assert.deepEqual(readDescribed({ ...good, more: 1 }), good);
  });
});

describe("what would run", () => {
  const claim = (key: string, changes: Partial<ClaimView> = {}): ClaimView => ({
    ...{ key, text: "#!/bin/sh\nmake\n", cut: false, path: key, allowed: false, notCovered: [] },
    ...changes,
  });

  function drawn(claims: readonly ClaimView[]): readonly HTMLElement[] {
    const page = open();
    const notice = {
      tone: "warning",
      title: "Approve",
      text: "Look",
      buttons: [],
      claims,
    } as const;
    page.receive({
      type: "snapshot",
      snapshot: {
        workspace: WORKSPACE,
        name: "",
        receivedAt: 0,
        canAct: true,
        starting: false,
        folders: [],
        notice,
      },
    });
    return [...root.querySelectorAll<HTMLElement>(".claim")];
  }

  test("is shown with its text as text, and opened by its key", () => {
    const [first, second] = drawn([
      claim("agent.sh", { text: "<img src=x onerror=alert(1)>", notCovered: ["make"] }),
      claim("validate.sh", { cut: true }),
    ]);
    assert.equal(first?.querySelector("pre")?.textContent, "<img src=x onerror=alert(1)>");
    assert.equal(first.querySelector(".note")?.textContent, "Not covered by the approval: make");
    assert.match(second?.querySelector("pre")?.textContent ?? "", /open the file for the rest$/);
    second?.querySelector("button")?.click();
    assert.deepEqual(sent.at(-1), { type: "claim", key: "validate.sh" });
  });

  test("a file that git ignores is not shown, and can be opened", () => {
    const [only] = drawn([claim("secret.sh", { text: "" })]);
    assert.match(only?.querySelector("pre")?.textContent ?? "", /open the file/);
  });
});
