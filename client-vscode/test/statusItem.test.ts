import assert from "node:assert/strict";
import { describe, test } from "vitest";

import type { Panel } from "../src/generated/protocol";
import { statusItem, type StatusModel, type StatusOptions } from "../src/status/statusItem";
import {
  ASKS,
  BLOCKED,
  folder,
  idleFolder,
  LETTERS,
  OPEN,
  PARSER,
  snapshot,
  unknownFolder,
} from "./samples";

const OPTIONS: StatusOptions = {
  show: "whenActive",
  reducedMotion: false,
  seenEnds: new Set(),
  clock: () => "17:00",
};

function item(
  changes: Partial<Panel>,
  options: Partial<StatusOptions> = {},
): StatusModel | undefined {
  return statusItem(snapshot([folder(changes)]), { ...OPTIONS, ...options });
}

const ended = (state: Panel["state"], short: string): Partial<Panel> => ({
  ...{ state, short, headline: short, live: false, tone: "plain" },
});

test.each<[string, Partial<Panel>, string, "error" | "warning" | undefined]>([
  ["running", {}, "$(sync~spin) Ralph 3/20", undefined],
  ["half open", { tone: "warning" }, "$(warning) Ralph 3/20", "warning"],
  ["stopping", { state: "stopping", short: "stopping" }, "$(sync~spin) Ralph stopping", undefined],
  [
    "paused",
    { state: "paused", short: "paused", tone: "warning" },
    "$(debug-pause) Ralph paused",
    undefined,
  ],
  ["asks", ASKS, "$(question) Ralph asks", "warning"],
  ["blocked", BLOCKED, "$(circle-slash) Ralph blocked", "warning"],
  ["breaker open", OPEN, "$(error) Ralph: breaker open", "error"],
  [
    "waits for a limit",
    { state: "waiting", short: "waits", until: "2026-01-31T17:00:00Z" },
    "$(clock) Ralph until 17:00",
    undefined,
  ],
  ["waits shortly", { state: "waiting", short: "waits" }, "$(clock) Ralph waits", undefined],
  ["complete", ended("complete", "complete"), "$(pass) Ralph: complete", undefined],
  ["limit", ended("ended", "limit"), "$(stop-circle) Ralph: limit", undefined],
  ["fatal", ended("fatal", "fatal"), "$(error) Ralph: fatal", undefined],
  [
    "engine gone",
    { ...ended("crashed", "engine gone"), needsPerson: true },
    "$(debug-disconnect) Ralph: engine gone",
    "error",
  ],
])("%s", (_, changes, text, background) => {
  const shown = item(changes);
  assert.equal(shown?.text, text);
  assert.equal(shown.background, background);
});

describe("a click", () => {
  test("answers where a question waits", () => {
    assert.equal(item(ASKS)?.command, "answer");
  });

  test("shows the loop otherwise", () => {
    assert.equal(item(OPEN)?.command, "show");
  });
});

describe("the tooltip", () => {
  const linksOf = (...given: Parameters<typeof snapshot>): readonly string[] =>
    (statusItem(snapshot(...given), OPTIONS)?.links ?? []).map(({ command }) => command);

  test("has the six answers, and what can be done now before what only shows", () => {
    assert.equal(item({})?.lines.length, 6);
    assert.deepEqual(linksOf([folder()]), ["pause", "stopAfterIteration", "loop.focus"]);
    assert.deepEqual(linksOf([folder(ASKS)]), ["answer", "stopAfterIteration", "loop.focus"]);
    assert.deepEqual(linksOf([folder(OPEN)]), ["resetBreaker", "loop.focus"]);
    assert.deepEqual(linksOf([folder(BLOCKED)]), ["resolveBlocked", "loop.focus"]);
    assert.deepEqual(linksOf([idleFolder()]), ["startLoop", "loop.focus"]);
  });

  test("only shows what is in a folder without trust", () => {
    assert.deepEqual(linksOf([folder()], { trusted: false }), ["loop.focus"]);
  });

  test("leads to a question of another folder too", () => {
    const own = ["pause", "stopAfterIteration", "loop.focus"];
    assert.deepEqual(linksOf([folder(), folder({}, LETTERS)], { active: PARSER }), own);
    assert.deepEqual(linksOf([folder(), folder(ASKS, LETTERS)], { active: PARSER }), [
      "answer",
      ...own,
    ]);
  });

  test("leads to the output where there is no server", () => {
    const server = { kind: "failed", why: "it died" } as const;
    assert.deepEqual(linksOf([folder()], { server }), ["loop.focus", "showOutput"]);
  });

  test("does not offer to stop what stops already", () => {
    assert.deepEqual(linksOf([folder({ state: "stopping" })]), ["pause", "loop.focus"]);
  });
});

describe("when it is seen", () => {
  test("not where nothing is set up", () => {
    assert.equal(statusItem(snapshot([unknownFolder()]), OPTIONS), undefined);
    assert.equal(statusItem(snapshot([]), OPTIONS), undefined);
  });

  test("there too, where it is wanted always", () => {
    const shown = statusItem(snapshot([unknownFolder()]), { ...OPTIONS, show: "always" });
    assert.equal(shown?.text, "$(sync-ignored) Ralph");
  });

  test("never, where that is wanted", () => {
    assert.equal(item(ASKS, { show: "never" }), undefined);
  });

  test("quietly, where there is a plan and no run", () => {
    const shown = statusItem(snapshot([idleFolder()]), OPTIONS);
    assert.equal(shown?.text, "$(sync-ignored) Ralph");
  });

  test("an end that was seen is quiet too", () => {
    const shown = item(ended("complete", "complete"), { seenEnds: new Set([PARSER]) });
    assert.equal(shown?.text, "$(sync-ignored) Ralph");
  });

  test("nothing turns where a person wants that", () => {
    assert.equal(item({}, { reducedMotion: true })?.text, "$(sync) Ralph 3/20");
  });
});

describe("the server", () => {
  test("being set up", () => {
    const server = { kind: "installing", step: "testing the server" } as const;
    const shown = statusItem(snapshot([unknownFolder()], { server }), OPTIONS);
    assert.equal(shown?.text, "$(sync~spin) Ralph: setting up");
  });

  test.each([
    { kind: "failed", why: "it died" } as const,
    { kind: "missing", why: "no Python", remedy: "python", attempted: true } as const,
  ])("is $kind", (server) => {
    const shown = statusItem(snapshot([folder()], { server }), OPTIONS);
    assert.equal(shown?.text, "$(error) Ralph: no server");
    assert.equal(shown.background, "error");
    assert.ok(shown.label.includes(server.why));
  });
});

describe("several folders", () => {
  const lines = (model: StatusModel | undefined): readonly string[] =>
    model?.lines.map(({ heading }) => heading) ?? [];

  test("the one that is looked at comes first, and what the others need behind it", () => {
    const folders = [folder(), folder(ASKS, LETTERS)];
    const shown = statusItem(snapshot(folders, { active: PARSER }), OPTIONS);
    assert.equal(shown?.text, "$(sync~spin) Ralph 3/20 · letters: asks");
    assert.equal(shown.label, "Ralph: Running, 3/20; letters: asks");
    assert.equal(shown.background, "warning");
    assert.equal(shown.command, "answer");
    assert.equal(lines(shown).at(-1), "letters");
  });

  test("that run and need nothing are in the tooltip alone", () => {
    const folders = [folder(OPEN), folder({}, LETTERS)];
    const shown = statusItem(snapshot(folders, { active: PARSER }), OPTIONS);
    assert.equal(shown?.text, "$(error) Ralph: breaker open");
    assert.equal(lines(shown).at(-1), "letters");
  });

  test("several that need the user are counted", () => {
    const third = folder(ASKS, "file:///srv/third");
    const folders = [folder(), folder(BLOCKED, LETTERS), third];
    const shown = statusItem(snapshot(folders, { active: PARSER }), OPTIONS);
    assert.equal(shown?.text, "$(sync~spin) Ralph 3/20 · 2 others need you");
  });

  test("where nothing happens in the one that is looked at, the most urgent one is named", () => {
    const folders = [idleFolder(), folder({}, "file:///srv/third"), folder(ASKS, LETTERS)];
    const shown = statusItem(snapshot(folders, { active: PARSER }), OPTIONS);
    assert.equal(shown?.text, "$(question) Ralph letters asks");
    const busy = statusItem(snapshot(folders.slice(0, 2), { active: PARSER }), OPTIONS);
    assert.equal(busy?.text, "$(sync~spin) Ralph third 3/20");
  });
});

describe("a start", () => {
  test("is said before anything of it is seen", () => {
    const shown = statusItem(snapshot([idleFolder()], { starting: PARSER }), OPTIONS);
    assert.equal(shown?.text, "$(sync~spin) Ralph: starting");
    assert.equal(shown.label, "Ralph is starting in parser");
  });

  test("is over once the run is seen", () => {
    const shown = statusItem(snapshot([folder()], { starting: PARSER }), OPTIONS);
    assert.equal(shown?.text, "$(sync~spin) Ralph 3/20");
  });
});

test("a screen reader hears the state in words", () => {
  assert.equal(item({})?.label, "Ralph: Running, 3/20");
});
