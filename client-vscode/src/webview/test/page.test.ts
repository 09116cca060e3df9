import assert from "node:assert/strict";
import { beforeEach, describe, test } from "vitest";

import { Window } from "happy-dom";

import type { FromPage } from "../messages";
import { LoopPage, ANNOUNCE_INTERVAL, type Memory } from "../page";
import { HandClock } from "./clock";
import { EMPTY, NOW, panel, QUESTION, snapshot } from "./samples";

let root: HTMLElement;
let told: HTMLElement;
let sent: FromPage[];
let remembered: unknown;
let clock: HandClock;

beforeEach(() => {
  const { document } = new Window();
  document.body.innerHTML = '<main id="loop"></main><p id="announcer"></p>';
  root = document.getElementById("loop") as unknown as HTMLElement;
  told = document.getElementById("announcer") as unknown as HTMLElement;
  sent = [];
  remembered = undefined;
  clock = new HandClock();
});

function open(): LoopPage {
  const host = {
    postMessage: (message: FromPage) => void sent.push(message),
    getState: () => remembered,
    setState: (state: Memory) => void (remembered = structuredClone(state)),
  };
  return new LoopPage(root, told, host, clock);
}

const show = (page: LoopPage, ...given: Parameters<typeof snapshot>): void => {
  page.receive({ type: "snapshot", snapshot: snapshot(...given) });
};

const classes = (): string[] => [...root.children].map(({ className }) => className);

const button = (title: string): HTMLButtonElement => {
  const found = [...root.querySelectorAll("button")].find((each) => each.textContent === title);
  assert.ok(found, `no button ${title} in ${root.textContent}`);
  return found;
};

describe("the page", () => {
  test("says that it is ready, and is empty until it is told something", () => {
    open();
    assert.deepEqual(sent, [{ type: "ready", reducedMotion: false }]);
    assert.equal(root.childElementCount, 0);
  });

  test("draws the card before the answers, and the answers before any badge", () => {
    show(open(), panel(QUESTION));
    assert.deepEqual(classes(), ["head", "progress", "cards", "buttons", "answers", "facts"]);
  });

  test("names the folder where there are several", () => {
    const page = open();
    show(page);
    assert.equal(root.getAttribute("aria-label"), "Ralph Loop");
    show(page, panel(), { name: "parser" });
    assert.equal(root.getAttribute("aria-label"), "Ralph Loop, parser");
  });

  test("lists all folders where there are several, and each of them can be shown", () => {
    const line = { words: "Running · 3/20", tone: "active", needsPerson: false } as const;
    const folders = [
      { ...line, workspace: "file:///work", name: "work", isShown: true },
      { ...line, workspace: "file:///letters", name: "letters", isShown: false, needsPerson: true },
    ];
    open().receive({ type: "snapshot", snapshot: { ...snapshot(), folders } });
    assert.equal(classes()[0], "folders");
    const shown = [...root.querySelectorAll(".folders button")];
    assert.deepEqual(
      shown.map((each) => each.getAttribute("aria-current")),
      ["true", null],
    );
    button("lettersRunning · 3/20").click();
    assert.deepEqual(sent.at(-1), { type: "show", workspace: "file:///letters" });
  });

  test("what headline, card or buttons say has no row of its own", () => {
    const answers = [
      { heading: "Running", text: "yes", redundant: true },
      { heading: "Last change", text: "#2: 1 commit" },
    ];
    show(open(), panel({ answers }));
    const headings = [...root.querySelectorAll(".answers .heading")];
    assert.deepEqual(
      headings.map(({ textContent }) => textContent),
      ["Last change"],
    );
  });

  test("writes what strangers said as text", () => {
    show(open(), panel(QUESTION));
    assert.equal(root.querySelector(".card .text")?.textContent, "Which <b>engine</b>?");
    assert.equal(root.querySelector("b"), null);
  });

  test("a button sends its verb, its arguments and the folder", () => {
    show(open(), panel(QUESTION));
    button("Answer…").click();
    assert.deepEqual(sent.at(-1), {
      type: "act",
      workspace: "file:///work",
      verb: "answer",
      arguments: { run: "r1" },
    });
  });

  test("a button of the host's own notice sends its command", () => {
    const notice = {
      tone: "bad" as const,
      title: "Server unavailable",
      text: "",
      buttons: [{ title: "Show Output", command: "showOutput" as const }],
    };
    show(open(), panel(), { notice });
    button("Show Output").click();
    assert.deepEqual(sent.at(-1), { type: "command", command: "showOutput" });
  });

  test("a button that cannot act keeps the keyboard and sends nothing", () => {
    show(open(), panel(QUESTION), { canAct: false });
    const answer = button("Answer…");
    assert.equal(answer.getAttribute("aria-disabled"), "true");
    assert.equal(answer.disabled, false);
    answer.click();
    assert.equal(sent.length, 1);
  });

  test("a button stays the same button while what is around it changes", () => {
    const page = open();
    show(page, panel());
    const stop = button("Stop");
    show(page, panel(QUESTION));
    assert.equal(button("Stop"), stop);
    show(page, panel());
    assert.equal(button("Stop"), stop);
  });

  test("an opened line stays open when the words around it change", () => {
    const page = open();
    show(page, panel());
    const details = root.querySelector("details");
    assert.ok(details);
    details.open = true;
    show(page, panel({ seconds: 999 }));
    assert.equal(root.querySelector("details"), details);
    assert.equal(details.open, true);
    assert.equal(details.textContent, "Wire the token…and test it");
  });

  test("what is gone is taken away", () => {
    const page = open();
    show(page, panel(QUESTION));
    show(page, panel({ answers: [], facts: [], actions: [] }));
    assert.deepEqual(classes(), ["head", "progress"]);
  });

  test("two buttons of one verb are both there, and each does its own", () => {
    const actions = [
      { title: "Stop", verb: "stop" as const, arguments: {} },
      { title: "Stop Now", verb: "stop" as const, arguments: { now: true } },
    ];
    show(open(), panel({ actions }));
    button("Stop Now").click();
    assert.deepEqual(sent.at(-1), {
      type: "act",
      workspace: "file:///work",
      verb: "stop",
      arguments: { now: true },
    });
    button("Stop").click();
    assert.deepEqual(sent.at(-1), {
      type: "act",
      workspace: "file:///work",
      verb: "stop",
      arguments: {},
    });
  });

  test("shows what the agent says, of its own folder only", () => {
    const page = open();
    show(page);
    const text = { kind: "text" as const, start: 1, offset: 0, text: "I begin." };
    page.receive({ type: "messages", workspace: "file:///other", run: "r1", messages: [text] });
    assert.equal(root.querySelector(".feed"), null);
    page.receive({ type: "messages", workspace: "file:///work", run: "r1", messages: [text] });
    assert.deepEqual(
      [...root.querySelectorAll(".feed li")].map((line) => line.textContent),
      ["I begin."],
    );
  });

  test("the time ticks while the run goes on, and nothing waits when it does not", () => {
    const page = open();
    const time = (): string | null | undefined =>
      root.querySelector('.facts [data-key="time"] .words')?.textContent;
    show(page);
    clock.pass(2500);
    assert.equal(time(), "6m 14s");
    show(page, panel({ ticking: false }));
    assert.equal(time(), "6m 12s");
    assert.equal(clock.n_waiting, 0);
  });

  test("a page that was hidden comes back as it was, before the host has said anything", () => {
    show(open(), panel(QUESTION));
    root.replaceChildren();
    open();
    assert.equal(root.querySelector(".headline")?.textContent, "Waiting for you");
  });

  test("what it remembers stands still until the host has spoken, and then goes on", () => {
    show(open());
    root.replaceChildren();
    // The page that was hidden is gone, and its clock with it.
    clock = new HandClock();
    const page = open();
    const time = (): string | null | undefined =>
      root.querySelector('.facts [data-key="time"] .words')?.textContent;
    clock.pass(60_000);
    assert.equal(time(), "6m 12s");
    assert.equal(root.dataset["stale"], "true");
    show(page, panel(), { receivedAt: clock.now() });
    clock.pass(2000);
    assert.equal(time(), "6m 14s");
    assert.equal(root.dataset["stale"], undefined);
  });

  test("what it remembers stays while the server starts, and no longer than that", () => {
    show(open(), panel(QUESTION));
    const page = open();
    const starting = EMPTY;
    page.receive({ type: "snapshot", snapshot: starting });
    assert.equal(root.querySelector(".headline")?.textContent, "Waiting for you");
    page.receive({ type: "snapshot", snapshot: { ...starting, workspace: "file:///other" } });
    assert.equal(root.querySelector(".headline")?.textContent, "Looking for a loop…");
  });

  test("a wait is counted down, and one that is over says so", () => {
    const until = new Date(NOW + 125_000).toISOString();
    const title = "Waiting for the usage limit";
    const card = { kind: "run-waits", tone: "plain" as const, title, text: "", actions: [] };
    const when = (): string => root.querySelector(".when")?.textContent ?? "";
    show(open(), panel({ until, card }));
    assert.match(when(), /^Continues at .* \(in 2 min\.?\)$/);
    clock.pass(100_000);
    assert.match(when(), /^Continues at .* \(in 25 sec\.?\)$/);
    clock.pass(26_000);
    assert.equal(when(), "About to continue");
  });

  test("an engine that is gone grows older, though nothing is told of it", () => {
    const since = new Date(NOW - 30_000).toISOString();
    const card = { kind: "engine-gone", tone: "bad" as const, title: "", text: "", actions: [] };
    show(open(), panel({ ticking: false, card: { ...card, since } }));
    assert.match(root.querySelector(".when")?.textContent ?? "", /\(30 sec\.? ago\)$/);
    clock.pass(180_000);
    assert.match(root.querySelector(".when")?.textContent ?? "", /\(3 min\.? ago\)$/);
  });

  test("the keyboard stays where it is while events pour in", () => {
    const page = open();
    show(page, panel());
    const stop = button("Stop");
    stop.focus();
    for (let second = 1; second <= 50; second += 1) {
      const changes = second % 2 === 0 ? QUESTION : { iterations: { value: second, of: 99 } };
      show(page, panel({ ...changes, seconds: second }));
      const text = { kind: "text" as const, start: 1, offset: second, text: `line ${second}` };
      page.receive({ type: "messages", workspace: "file:///work", run: "r1", messages: [text] });
      clock.pass(1000);
      // Not compared by assert, which would write down the whole page where it fails.
      assert.ok(root.ownerDocument.activeElement === stop, `in second ${second}`);
    }
  });

  test("the keyboard stays in the page where its button went away, and with one that moved", () => {
    const page = open();
    const [pause, stop] = panel().actions;
    assert.ok(pause !== undefined && stop !== undefined);
    show(page, panel());
    const stopping = button("Stop");
    stopping.focus();
    show(page, panel({ actions: [stop, pause] }));
    assert.ok(root.ownerDocument.activeElement === stopping);
    show(page, panel({ actions: [pause] }));
    assert.ok(root.ownerDocument.activeElement === root);
    button("Pause").blur();
    (root.ownerDocument.activeElement as HTMLElement).blur();
    show(page, panel({ actions: [] }));
    assert.ok(root.ownerDocument.activeElement !== root, "it takes no keyboard by itself");
  });

  test("what another version remembered is forgotten", () => {
    for (const left of [null, 7, {}, { snapshot: {} }, { snapshot: { workspace: "w" } }]) {
      remembered = left;
      open();
      assert.equal(root.childElementCount, 0);
    }
  });

  test("a message that it does not know changes nothing", () => {
    const page = open();
    page.receive({ type: "dance" } as never);
    assert.equal(root.childElementCount, 0);
  });
});

describe("what is read aloud", () => {
  test("is a change of state, not what was found at the opening", () => {
    const page = open();
    show(page);
    assert.equal(told.textContent, "");
    show(page, panel(QUESTION));
    assert.equal(told.textContent, "Waiting for you");
  });

  test("is not the time, nor anything else that changes in the meantime", () => {
    const page = open();
    show(page);
    clock.pass(10_000);
    show(page, panel({ iterations: { value: 4, of: 20 } }));
    assert.equal(told.textContent, "");
  });

  test("is at most one sentence in five seconds, and then the newest", () => {
    const page = open();
    show(page);
    show(page, panel({ headline: "Paused", ticking: false }));
    assert.equal(told.textContent, "Paused");
    clock.pass(1000);
    show(page, panel({ headline: "Running", ticking: false }));
    show(page, panel(QUESTION));
    assert.equal(told.textContent, "Paused");
    clock.pass(ANNOUNCE_INTERVAL);
    assert.equal(told.textContent, "Waiting for you");
  });
});
