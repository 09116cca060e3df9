import assert from "node:assert/strict";
import { beforeEach, describe, test } from "vitest";

import { Window } from "happy-dom";

import type { FromPage } from "../messages";
import { LoopPage, TOLD_INTERVAL, type Clock, type Memory } from "../page";
import { NOW, panel, QUESTION, snapshot } from "./samples";

/** A clock that goes on when it is told to. */
class HandClock implements Clock {
  private time = NOW;
  private waiting: { at: number; callback: () => void }[] = [];

  now(): number {
    return this.time;
  }

  later(milliseconds: number, callback: () => void): () => void {
    const timer = { at: this.time + milliseconds, callback };
    this.waiting.push(timer);
    return () => {
      this.waiting = this.waiting.filter((each) => each !== timer);
    };
  }

  /** Let time pass; what is due is done at its own time. */
  pass(milliseconds: number): void {
    const until = this.time + milliseconds;
    for (;;) {
      const [next] = this.waiting.filter(({ at }) => at <= until).sort((a, b) => a.at - b.at);
      if (next === undefined) {
        break;
      }
      this.waiting = this.waiting.filter((each) => each !== next);
      this.time = next.at;
      next.callback();
    }
    this.time = until;
  }

  get n_waiting(): number {
    return this.waiting.length;
  }
}

let root: HTMLElement;
let told: HTMLElement;
let sent: FromPage[];
let remembered: unknown;
let clock: HandClock;

beforeEach(() => {
  const { document } = new Window();
  document.body.innerHTML = '<main id="loop"></main><p id="told"></p>';
  root = document.getElementById("loop") as unknown as HTMLElement;
  told = document.getElementById("told") as unknown as HTMLElement;
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
    assert.deepEqual(sent, [{ type: "ready" }]);
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
      title: "No server",
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
    const text = { kind: "text" as const, iteration: 1, offset: 0, text: "I begin." };
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
    clock.pass(TOLD_INTERVAL);
    assert.equal(told.textContent, "Waiting for you");
  });
});
