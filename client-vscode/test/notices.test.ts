import assert from "node:assert/strict";
import { describe, test } from "vitest";

import type { Panel, RunState } from "../src/generated/protocol";
import {
  merged,
  notificationsFor,
  type Notice,
  type Surroundings,
} from "../src/notifications/notices";
import type { FolderSnapshot, Snapshot } from "../src/state/snapshot";
import { ASKS, folder, LETTERS, OPEN, panel, question, run, snapshot, state } from "./samples";

const NOW = Date.UTC(2026, 0, 31, 12, 0, 0);

const AWAY: Surroundings = {
  settings: { which: "important", except: [] },
  focused: false,
  planVisible: () => true,
  clock: () => "17:00",
  now: NOW,
};

function told(
  before: Snapshot | readonly FolderSnapshot[],
  after: Snapshot | readonly FolderSnapshot[],
  around: Partial<Surroundings> = {},
): readonly Notice[] {
  const whole = (given: Snapshot | readonly FolderSnapshot[]): Snapshot =>
    "folders" in given ? given : snapshot(given);
  return notificationsFor(whole(before), whole(after), { ...AWAY, ...around });
}

function ended(reason: string, changes: Partial<Panel> = {}): FolderSnapshot {
  const end = { reason, exitCode: 0, message: "it is over", by: "", at: "2026-01-31T12:00:00Z" };
  return {
    ...folder(),
    state: state({
      run: run({ end } as unknown as Partial<RunState>),
      panel: panel({ state: "ended", live: false, ...changes }),
    }),
  };
}

describe("a question", () => {
  test("is told to whoever looks somewhere else", () => {
    const [notice] = told([folder()], [folder(ASKS)]);
    assert.equal(notice?.text, "Ralph asks: Which engine?");
    assert.deepEqual(notice.actions, ["answer", "openPlan", "silence"]);
  });

  test("is told where the plan is not on the screen", () => {
    const around = { focused: true, planVisible: () => false };
    assert.equal(told([folder()], [folder(ASKS)], around).length, 1);
  });

  test("is not told to whoever has the plan before them", () => {
    assert.deepEqual(told([folder()], [folder(ASKS)], { focused: true }), []);
  });

  test("that waited before the window opened is told too, by the same key", () => {
    const first = { ...snapshot([]), folders: [{ ...folder(), state: undefined }] };
    const keys = [told(first, [folder(ASKS)]), told([folder()], [folder(ASKS)])].flat();
    assert.deepEqual(
      keys.map(({ key }) => key),
      ["question:q1", "question:q1"],
    );
  });

  test("that was answered is not told", () => {
    const answered = folder({ question: question({ answer: "SQLite" }) });
    assert.deepEqual(told([folder()], [answered]), []);
  });
});

describe("a breaker", () => {
  test("that opens is told once", () => {
    const [notice, ...others] = told([folder()], [folder(OPEN)]);
    assert.equal(notice?.text, "Ralph: the breaker opened: 3 iterations without progress");
    assert.deepEqual(others, []);
    assert.deepEqual(told([folder(OPEN)], [folder({ ...OPEN, seconds: 400 })]), []);
  });

  test("that is half open is not told", () => {
    assert.deepEqual(told([folder()], [folder({ breaker: "HALF_OPEN", tone: "warning" })]), []);
  });
});

describe("the end of a run", () => {
  test.each([
    ["complete", "info"],
    ["limit", "info"],
    ["fatal", "error"],
    ["stuck", "warning"],
  ] as const)("%s is told as %s", (reason, severity) => {
    const [notice] = told([folder()], [ended(reason)]);
    assert.equal(notice?.severity, severity);
    assert.equal(notice.text, `Ralph: run ended (${reason}): it is over`);
  });

  test("that a person asked for is not told", () => {
    assert.deepEqual(told([folder()], [ended("stopped")]), []);
  });

  test("that nobody saw run is not told", () => {
    assert.deepEqual(told([{ ...folder(), state: undefined }], [ended("complete")]), []);
  });

  test("is told once", () => {
    assert.deepEqual(told([ended("complete")], [ended("complete", { seconds: 1 })]), []);
  });

  test("for an open breaker is told as that alone", () => {
    const notices = told([folder()], [ended("stuck", { ...OPEN, live: false })]);
    assert.deepEqual(
      notices.map(({ kind }) => kind),
      ["breaker"],
    );
  });
});

describe("a long wait", () => {
  const waits = (minutes: number): FolderSnapshot =>
    folder({
      state: "waiting",
      until: new Date(NOW + minutes * 60_000).toISOString(),
      card: {
        kind: "run-waits",
        tone: "plain",
        title: "Waiting for the usage limit",
        text: "",
        actions: [],
      },
    });
  const all = { settings: { which: "all", except: [] } } as const;

  test("is told where everything is wanted", () => {
    const [notice] = told([folder()], [waits(42)], all);
    assert.equal(notice?.text, "Ralph: Waiting for the usage limit, continues at 17:00");
  });

  test("is not told by default, nor a short one ever", () => {
    assert.deepEqual(told([folder()], [waits(42)]), []);
    assert.deepEqual(told([folder()], [waits(9)], all), []);
  });
});

describe("the server", () => {
  const failed = snapshot([folder()], { server: { kind: "failed", why: "it died" } });

  test("that does not run is told once for the window", () => {
    assert.equal(told([folder()], failed)[0]?.kind, "server");
    assert.deepEqual(told(failed, failed), []);
  });

  test("that is not installed yet is shown in its view alone", () => {
    const missing = snapshot([folder()], {
      server: { kind: "missing", why: "", remedy: "install" },
    });
    assert.deepEqual(told([folder()], missing), []);
  });
});

describe("settings", () => {
  test("none means none", () => {
    const settings = { which: "none", except: [] } as const;
    assert.deepEqual(told([folder()], [folder(ASKS)], { settings }), []);
  });

  test("a kind that was silenced is not told, and the others are", () => {
    const settings = { which: "all", except: ["question"] } as const;
    assert.deepEqual(told([folder()], [folder(ASKS)], { settings }), []);
    assert.equal(told([folder()], [folder(OPEN)], { settings }).length, 1);
  });
});

describe("nothing is told", () => {
  test("of what did not change", () => {
    const same = snapshot([folder(ASKS)]);
    assert.deepEqual(told(same, same), []);
  });

  test("of an iteration, a commit or a step", () => {
    const next = folder({ iterations: { value: 4, of: 20 }, seconds: 500 });
    assert.deepEqual(told([folder()], [next]), []);
  });
});

test("the folder is named where there are several", () => {
  const before = [folder(), folder({}, LETTERS)];
  const [notice] = told(before, [before[0] ?? assert.fail(), folder(ASKS, LETTERS)]);
  assert.equal(notice?.text, "Ralph in letters asks: Which engine?");
  assert.equal(notice.folder, LETTERS);
});

test("several are one, the gravest first", () => {
  const info = told([folder()], [ended("complete")]);
  const error = told([folder()], [ended("fatal")]);
  const one = merged([...info, ...error]);
  assert.equal(one?.severity, "error");
  assert.equal(
    one.text,
    "Ralph: run ended (fatal): it is over · Ralph: run ended (complete): it is over",
  );
  assert.equal(merged([]), undefined);
});
