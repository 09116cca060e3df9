import assert from "node:assert/strict";
import { describe, test } from "vitest";

import type { Message, Panel, RunState, StateResult, ToolMessage } from "../../generated/protocol";
import { feedFor, feedLines, MAX_LINES, NO_FEED, withMessages, type Feed } from "../feed";
import { duration, loopModel } from "../model";
import { EMPTY, NOW, panel, QUESTION, snapshot } from "./samples";

const ENDED = { kind: "run-ended", tone: "plain", title: "Ended", text: "", actions: [] } as const;

describe("the model of the view", () => {
  test("shows the server's words as they are", () => {
    const model = loopModel(snapshot(), NOW);
    assert.equal(model.headline, "Running");
    assert.equal(model.count, "3 / 20");
    assert.equal(model.countLabel, "iteration 3 of 20");
    assert.deepEqual(
      model.answers.map(({ heading }) => heading),
      ["Running", "Doing", "Last change", "Needs you", "Stopped", "Next"],
    );
  });

  test("a loop without a limit shows its tasks as progress, and no limit", () => {
    const model = loopModel(snapshot(panel({ iterations: { value: 7 } })), NOW);
    assert.equal(model.count, "7");
    assert.deepEqual(model.progress, { value: 2, of: 6, label: "2 of 6 tasks" });
  });

  test("the bar shows how much of the plan is done, during the run and after it", () => {
    for (const live of [true, false]) {
      const model = loopModel(snapshot(panel({ live })), NOW);
      assert.deepEqual(model.progress, { value: 2, of: 6, label: "2 of 6 tasks" });
    }
  });

  test("what headline, card or buttons say is not said once more below", () => {
    const answers = [
      { heading: "Running", text: "yes", redundant: true },
      { heading: "Last change", text: "#2: 1 commit" },
    ];
    const model = loopModel(snapshot(panel({ answers })), NOW);
    assert.deepEqual(
      model.answers.map(({ isRedundant }) => isRedundant),
      [true, false],
    );
  });

  test("a start is seen before the run is, and ends what was said of the run before", () => {
    const ended = panel({ state: "ended", live: false, card: ENDED });
    const model = loopModel({ ...snapshot(ended), starting: true }, NOW);
    assert.equal(model.headline, "Starting…");
    assert.deepEqual([model.cards, model.buttons, model.answers, model.facts], [[], [], [], []]);
    const begun = loopModel({ ...snapshot(), starting: true }, NOW);
    assert.equal(begun.headline, "Running");
  });

  test("an option of a question is never the loud button", () => {
    const [option, answer] = [{ text: "red" }, {}].map((given) => ({
      title: "…",
      verb: "answer" as const,
      arguments: given,
    }));
    const card = { kind: "question-waiting", tone: "warning" as const, title: "?", text: "" };
    const actions = [option, option, answer].flatMap((each) => each ?? []);
    const model = loopModel(snapshot(panel({ card: { ...card, actions } })), NOW);
    assert.deepEqual(
      model.cards.flatMap(({ options, buttons }) =>
        [...options, ...buttons].map(({ primary }) => primary),
      ),
      [false, false, true],
    );
  });

  test("where nothing can be counted there is no bar", () => {
    const nothing = panel({ iterations: { value: 0 }, tasks: { value: 0 } });
    const model = loopModel(snapshot(nothing), NOW);
    assert.equal(model.progress, undefined);
    assert.equal(model.count, "");
  });

  test("what the card offers is not offered again below it", () => {
    const model = loopModel(snapshot(panel(QUESTION)), NOW);
    const [card] = model.cards;
    assert.deepEqual(
      card?.buttons.map(({ title, primary }) => [title, primary]),
      [
        ["Answer…", true],
        ["Open decide.txt", false],
      ],
    );
    assert.deepEqual(
      model.buttons.map(({ title }) => title),
      ["Stop"],
    );
  });

  test("a button is loud only where nothing runs and nothing is urgent", () => {
    const isLoud = (...given: Parameters<typeof panel>): boolean | undefined =>
      loopModel(snapshot(panel(...given)), NOW).buttons[0]?.primary;
    assert.equal(isLoud({ live: false }), true);
    assert.equal(isLoud(), false);
    assert.equal(isLoud({ ...QUESTION, live: false }), false);
  });

  test("without trust only what shows something can be pressed", () => {
    const model = loopModel(snapshot(panel(QUESTION), { canAct: false }), NOW);
    assert.deepEqual(
      model.cards[0]?.buttons.map(({ enabled }) => enabled),
      [false, true],
    );
  });

  test("no button of a card is loud where it goes on by itself", () => {
    const loud = (kind: string): boolean | undefined => {
      const actions = [{ title: "Stop now", verb: "stop" as const, arguments: {} }];
      const card = { kind, tone: "plain" as const, title: "", text: "", actions };
      return loopModel(snapshot(panel({ card })), NOW).cards[0]?.buttons[0]?.primary;
    };
    assert.equal(loud("run-stops"), false);
    assert.equal(loud("run-waits"), false);
    assert.equal(loud("run-paused"), true);
  });

  test("a clock elsewhere that is ahead makes nothing begin in the future", () => {
    const since = new Date(NOW + 90_000).toISOString();
    const card = { kind: "breaker-open", tone: "bad" as const, title: "", text: "", actions: [] };
    const [shown] = loopModel(snapshot(panel({ card: { ...card, since } })), NOW).cards;
    assert.match(shown?.when ?? "", /^Since .* \(now\)$/);
  });

  test("the host's notice comes first, and its buttons ask the host", () => {
    const notice = {
      tone: "bad" as const,
      title: "Server unavailable",
      text: "why",
      buttons: [{ title: "Show Output", command: "showOutput" as const }],
    };
    const model = loopModel(snapshot(panel(QUESTION), { notice, canAct: false }), NOW);
    assert.deepEqual(
      model.cards.map(({ key }) => key),
      ["notice", "question-waiting"],
    );
    assert.deepEqual(model.cards[0]?.buttons[0]?.does, { command: "showOutput" });
    assert.deepEqual(
      loopModel({ ...EMPTY, notice }, NOW).cards.map(({ key }) => key),
      ["notice"],
    );
  });

  test.each(["allowAndStart", "startLoop", "setup"] as const)(
    "a start is offered once where the notice has %s",
    (command) => {
      const notice = {
        ...{ tone: "warning" as const, title: "It did not start", text: "why" },
        buttons: [{ title: "It", command }],
      };
      const actions = [
        { title: "Start loop", verb: "start" as const, arguments: {} },
        { title: "Resume loop", verb: "resume" as const, arguments: { continue: true } },
        { title: "Reset breaker", verb: "reset" as const, arguments: {} },
      ];
      const card = { kind: "run-ended", tone: "plain" as const, title: "", text: "" };
      const ended = panel({ card: { ...card, actions: actions.slice(0, 1) }, actions });
      const { cards, buttons } = loopModel(snapshot(ended, { notice }), NOW);
      const shown = [...(cards[1]?.buttons ?? []), ...buttons].map(({ title }) => title);
      const others = command === "setup" ? ["Start loop", "Resume loop"] : [];
      assert.deepEqual(shown, [...others, "Reset breaker"]);
    },
  );

  test("before the server has said anything it says so", () => {
    assert.equal(loopModel(EMPTY, NOW).headline, "Looking for a loop…");
  });

  test("the time goes on by itself while the run does, and stands while it does not", () => {
    const timeOf = (ticking: boolean): string | undefined =>
      loopModel(snapshot(panel({ ticking })), NOW + 3000).facts.find(({ key }) => key === "time")
        ?.text;
    assert.equal(timeOf(true), "6m 15s");
    assert.equal(timeOf(false), "6m 12s");
  });

  test("the time keeps its limit while it goes on", () => {
    const limited = panel({
      ticking: true,
      seconds: 60,
      facts: [{ key: "time", heading: "Time", text: "1m 0s of 2h", tone: "plain", more: "" }],
    });
    const [time] = loopModel(snapshot(limited), NOW + 3000).facts;
    assert.equal(time?.text, "1m 3s of 2h");
  });

  test("a long wait says until when, in the time of whoever looks", () => {
    const headline = "Waiting for the usage limit";
    const card = { kind: "run-waits", tone: "plain", title: headline, text: "", actions: [] };
    const waits = (wait: number, changes: Partial<Panel>): string => {
      const until = new Date(NOW + wait).toISOString();
      return loopModel(snapshot(panel({ headline, until, ...changes })), NOW).headline;
    };
    const long = { card } as Partial<Panel>;
    assert.match(waits(60_000, long), /^Waiting for the usage limit until \d\d:\d\d( [AP]M)?$/u);
    assert.match(waits(3 * 86_400_000, long), / until .*[A-Za-z].*\d\d:\d\d/u);
    assert.equal(waits(1000, {}), headline);
  });

  test("a clock that was set back takes no time away", () => {
    const model = loopModel(snapshot(), NOW - 60_000);
    assert.equal(model.facts.find(({ key }) => key === "time")?.text, "6m 12s");
  });

  test("a duration is written as the server writes it", () => {
    assert.equal(duration(36_000 + 61.4), "10h 1m 1s");
    assert.equal(duration(60), "1m 0s");
    assert.equal(duration(53), "53s");
    assert.equal(duration(-1), "0s");
  });
});

describe("what the agent says", () => {
  const say = (text: string): Message => ({ kind: "text", start: 1, offset: 0, text });
  const tool = (state: "started" | "done" | "failed", call = "c1"): Message => ({
    kind: "tool",
    start: 1,
    offset: 0,
    call,
    name: "Bash",
    summary: "pytest -q",
    state,
  });
  const feed = (...messages: Message[]): Feed => withMessages(NO_FEED, "w", "r", messages);

  test("is one line for each line, without empty ones", () => {
    assert.deepEqual(
      feed(say("one\n\n  \ntwo\n")).lines.map(({ text }) => text),
      ["one", "two"],
    );
  });

  test("leaves out status blocks, even one that comes in pieces", () => {
    const whole = "before\n---RALPH_STATUS---\nSTATUS: COMPLETE\n---END_RALPH_STATUS---\nafter";
    assert.deepEqual(
      feed(say(whole)).lines.map(({ text }) => text),
      ["before", "after"],
    );
    const pieces = ["a\n**---CLARITY_STATUS---**", "STATUS: x", "--END_CLARITY_STATUS--\nb"];
    assert.deepEqual(
      feed(...pieces.map(say)).lines.map(({ text }) => text),
      ["a", "b"],
    );
  });

  test("leaves out promises, of which the card shows what they ask", () => {
    const asks = "Two would do. <promise>DECIDE:Which? (a) One (b) Two</promise>";
    const lines = feed(say(`${asks}\n<promise>BLOCKED:no key`)).lines.map(({ text }) => text);
    assert.deepEqual(lines, ["Two would do. "]);
  });

  test("reads as paths from the work tree on, each file once, with what a tool took", () => {
    const path = "/srv/parser/src/cache.py";
    const edits = (state: ToolMessage["state"], seconds?: number): ToolMessage => ({
      ...{ kind: "tool", call: "c1", start: 1, offset: 0, name: "Edit", summary: path, state },
      ...(seconds === undefined ? {} : { seconds }),
    });
    const changed = { kind: "file", start: 1, offset: 0, path, action: "changed" } as const;
    const run = { run: "r", workspace: "/srv/parser" } as RunState;
    const view = { ...snapshot(), state: { ...snapshot().state, run } as StateResult };
    const read = (...messages: Message[]): readonly string[] =>
      feedLines(feed(...messages), view).map(({ text }) => text);
    assert.deepEqual(read(edits("started"), changed), ["Edit src/cache.py …"]);
    assert.deepEqual(read(edits("started"), changed, edits("done", 0.25)), [
      "Edit src/cache.py · 0.3s",
    ]);
    assert.deepEqual(read(edits("started"), edits("failed", 75)), ["Edit src/cache.py · 1m 15s"]);
    assert.deepEqual(read(edits("started"), edits("done")), ["Edit src/cache.py"]);
    assert.deepEqual(read(changed), ["changed src/cache.py"]);
  });

  test("is at most the newest twenty lines", () => {
    const many = Array.from({ length: 50 }, (_, at) => say(`line ${at}`));
    const { lines } = feed(...many);
    assert.equal(lines.length, MAX_LINES);
    assert.equal(lines.at(-1)?.text, "line 49");
    assert.equal(feed(say("x\n".repeat(1000))).lines.length, MAX_LINES);
  });

  test("the end of a tool call marks the line that it began with", () => {
    const { lines } = feed(tool("started"), say("between"), tool("failed"));
    assert.deepEqual(
      lines.map(({ text, tone }) => [text, tone]),
      [
        ["Bash pytest -q", "bad"],
        ["between", "plain"],
      ],
    );
  });

  test("calls without an id are lines of their own", () => {
    assert.equal(feed(tool("started", ""), tool("done", "")).lines.length, 2);
  });

  test("files and lists are told in words, usage is not told here", () => {
    const { lines } = feed(
      { kind: "file", start: 1, offset: 0, path: "a.py", action: "changed" },
      {
        kind: "todo",
        start: 1,
        offset: 0,
        items: [
          { text: "a", state: "done" },
          { text: "b", state: "pending" },
        ],
      },
      { kind: "usage", start: 1, offset: 0, usage: {} },
    );
    assert.deepEqual(
      lines.map(({ text }) => text),
      ["changed a.py", "agent's to-do list: 1 of 2 done"],
    );
  });

  test("a message of a newer server is passed over", () => {
    assert.deepEqual(feed({ kind: "dance" } as unknown as Message).lines, []);
  });

  test("another run begins with an empty page", () => {
    const first = feed(say("old"));
    assert.deepEqual(
      withMessages(first, "w", "r2", [say("new")]).lines.map(({ text }) => text),
      ["new"],
    );
    assert.equal(feedFor(first, snapshot()), NO_FEED);
    const ours = withMessages(NO_FEED, "file:///work", "r1", [say("ours")]);
    assert.equal(feedFor(ours, snapshot()), ours);
  });
});
