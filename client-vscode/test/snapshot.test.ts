import assert from "node:assert/strict";
import { describe, test } from "vitest";

import { badge } from "../src/state/badge";
import { choose } from "../src/state/choose";
import { contextKeys } from "../src/state/contextKeys";
import { noticeOf } from "../src/state/notice";
import { emptySnapshot, folderOf, reduce, shownFolder } from "../src/state/snapshot";
import { Store } from "../src/state/store";
import {
  action,
  anywhere,
  ASKS,
  BLOCKED,
  folder,
  idleFolder,
  LETTERS,
  OPEN,
  PARSER,
  snapshot,
  state,
  unknownFolder,
} from "./samples";

const FOLDERS = [
  { uri: PARSER, name: "parser" },
  { uri: LETTERS, name: "letters" },
];

describe("reduce", () => {
  test("a view takes the place of the folder's last one, and touches no other", () => {
    const opened = reduce(emptySnapshot(true), { kind: "folders", folders: FOLDERS });
    const told = reduce(opened, { kind: "view", uri: PARSER, state: state(), at: 7 });
    assert.equal(told.folders[0]?.receivedAt, 7);
    assert.equal(told.folders[1], opened.folders[1]);
  });

  test("a view of a folder that is not open is none", () => {
    const before = snapshot([folder()]);
    const after = reduce(before, { kind: "view", uri: LETTERS, state: state(), at: 7 });
    assert.deepEqual(after, before);
  });

  test("a folder that stays open keeps what is known of it", () => {
    const before = snapshot([folder(), folder({}, LETTERS)]);
    const after = reduce(before, { kind: "folders", folders: FOLDERS.slice(1) });
    assert.deepEqual(after.folders, [before.folders[1]]);
  });

  test("a folder that was picked is shown until another becomes active", () => {
    let now = snapshot([folder(), folder({}, LETTERS)], { active: PARSER });
    now = reduce(now, { kind: "chosen", uri: LETTERS });
    now = reduce(now, { kind: "active", uri: PARSER });
    assert.equal(shownFolder(now)?.uri, LETTERS, "the same editor again is no change");
    now = reduce(reduce(now, { kind: "active", uri: LETTERS }), { kind: "active", uri: PARSER });
    assert.equal(shownFolder(now)?.uri, PARSER);
  });

  test("trust and the server's health are kept apart from the rest", () => {
    const before = snapshot([folder()], { trusted: false });
    const trusted = reduce(before, { kind: "trusted" });
    const gone = reduce(trusted, { kind: "server", health: { kind: "failed", why: "it died" } });
    assert.equal(gone.trusted, true);
    assert.equal(gone.folders, before.folders);
    assert.equal(gone.server.kind, "failed");
  });
});

describe("the folder that is shown", () => {
  test.each([
    ["the active one, whatever the others need", [folder(), folder(ASKS, LETTERS)], PARSER, PARSER],
    ["the one that needs somebody", [folder(), folder(ASKS, LETTERS)], undefined, LETTERS],
    ["the one that runs", [idleFolder(), folder({}, LETTERS)], undefined, LETTERS],
    ["the one with a plan", [unknownFolder(), idleFolder(LETTERS)], undefined, LETTERS],
    ["the first", [unknownFolder(), unknownFolder(LETTERS)], undefined, PARSER],
  ])("%s", (_, folders, active, expected) => {
    assert.equal(shownFolder(snapshot(folders, { active }))?.uri, expected);
  });

  test("none without folders", () => {
    assert.equal(shownFolder(snapshot([])), undefined);
  });
});

describe("context keys", () => {
  const keysOf = (...given: Parameters<typeof snapshot>): ReturnType<typeof contextKeys> =>
    contextKeys(snapshot(...given), (uri) => new URL(uri).pathname);

  test("follow the actions that the server offers, in any folder and in the one shown", () => {
    const keys = keysOf([folder(), folder(ASKS, LETTERS)], { active: PARSER });
    assert.equal(keys["ralphLoop.can.answer"], true);
    assert.equal(keys["ralphLoop.shown.answer"], false);
    assert.equal(keys["ralphLoop.shown.pause"], true);
    assert.equal(keys["ralphLoop.can.start"], false);
    assert.equal(keys["ralphLoop.questionWaiting"], true);
    assert.equal(keys["ralphLoop.state"], "running");
    assert.equal(keys["ralphLoop.several"], true);
  });

  test("the runs are shown once one ended here, or while one of another folder lives or waits", () => {
    const hasHistory = (...given: Parameters<typeof snapshot>): unknown =>
      keysOf(...given)["ralphLoop.hasHistory"];
    const live = folder();
    const ended = { ...live, state: { ...state(), live: false } };
    assert.equal(hasHistory([live]), false);
    assert.equal(hasHistory([ended]), true);
    const waits = anywhere({ live: false, phase: "parked", needs: "an answer" });
    assert.equal(hasHistory([idleFolder()], { anywhere: [waits] }), true);
    assert.equal(hasHistory([live], { anywhere: [anywhere()] }), true);
    const own = anywhere({ workspace: live.state?.run?.workspace ?? "" });
    assert.equal(hasHistory([live], { anywhere: [own] }), false);
    const abandoned = anywhere({ live: false, phase: "ended", needs: "a look" });
    assert.equal(hasHistory([idleFolder()], { anywhere: [abandoned] }), false);
  });

  test("nothing can be done without a server", () => {
    const keys = keysOf([folder(ASKS)], { server: { kind: "failed", why: "" } });
    const able = Object.entries(keys).filter(([key]) => /\.(can|shown)\./.test(key));
    assert.deepEqual(
      able.filter(([, value]) => value !== false),
      [],
    );
    assert.equal(keys["ralphLoop.server"], "failed");
    assert.equal(keys["ralphLoop.setup"], true);
  });

  test("nothing can be started in a folder that is not trusted", () => {
    const keys = keysOf([idleFolder()], { trusted: false });
    assert.equal(keys["ralphLoop.can.start"], false);
    assert.deepEqual(keys["ralphLoop.startablePlans"], []);
  });

  test("a plan whose loop can be started is named by its path", () => {
    const keys = keysOf([idleFolder(), folder({}, LETTERS)]);
    assert.deepEqual(keys["ralphLoop.startablePlans"], ["/srv/parser/@fix_plan.md"]);
  });

  test("the same keys always", () => {
    const keys = Object.keys(keysOf([]));
    assert.deepEqual(Object.keys(keysOf([folder(BLOCKED)])), keys);
  });

  test("a blocker can be resolved", () => {
    assert.equal(keysOf([folder(BLOCKED)])["ralphLoop.can.resolve"], true);
    assert.equal(keysOf([folder(OPEN)])["ralphLoop.can.resolve"], false);
  });
});

describe("the badge", () => {
  test("adds up what waits in all folders and says what", () => {
    const shown = badge(snapshot([folder(ASKS), folder(OPEN, LETTERS)]));
    assert.equal(shown?.value, 2);
    assert.equal(shown.tooltip, "parser: Waiting for your answer, letters: Breaker open");
  });

  test("names no folder where there is one only", () => {
    assert.equal(badge(snapshot([folder(ASKS)]))?.tooltip, "Waiting for your answer");
  });

  test("is none where nobody is waited for", () => {
    assert.equal(badge(snapshot([folder(), unknownFolder(LETTERS)])), undefined);
  });
});

describe("the folder of a command", () => {
  const two = [folder(), folder(ASKS, LETTERS)];

  test.each([
    ["the one that is named", choose(snapshot(two), "stop", LETTERS), LETTERS],
    ["the only one that takes the order", choose(snapshot(two), "answer"), LETTERS],
    ["the active one", choose(snapshot(two, { active: LETTERS }), "stop"), LETTERS],
    ["the one that was picked", choose(snapshot(two, { chosen: PARSER }), "stop"), PARSER],
    [
      "another than the active one, where that cannot",
      choose(snapshot(two, { active: PARSER }), "answer"),
      LETTERS,
    ],
  ])("%s", (_, choice, expected) => {
    assert.equal(choice.kind === "one" && choice.folder.uri, expected);
  });

  test("is asked for where several would do", () => {
    const choice = choose(snapshot(two), "stop");
    assert.deepEqual(choice, { kind: "ask", folders: two });
  });

  test("is none where no folder takes it, and why", () => {
    const choice = choose(snapshot([folder()]), "answer");
    assert.deepEqual(choice, { kind: "none", why: "No question is waiting for an answer." });
  });

  test("is none without a folder", () => {
    assert.equal(choose(snapshot([]), "start").kind, "none");
  });

  test("a task is run where a loop can be started", () => {
    assert.equal(choose(snapshot([idleFolder()]), "runTask").kind, "one");
    assert.equal(choose(snapshot([folder()]), "runTask").kind, "none");
    assert.equal(choose(snapshot([folder({ actions: [action("start")] })]), "start").kind, "one");
  });
});

describe("what the Loop view says of the window", () => {
  test("nothing where all is well, or about to be", () => {
    assert.equal(noticeOf(snapshot([folder()])), undefined);
    assert.equal(noticeOf(snapshot([folder()], { server: { kind: "starting" } })), undefined);
  });

  test.each([
    ["install", ["installServer", "otherWays"]],
    ["python", ["getPython", "otherWays"]],
    ["setting", ["serverSettings", "restartServer", "showOutput"]],
  ] as const)("what helps where the server is missing: %s", (remedy, commands) => {
    const notice = noticeOf(
      snapshot([folder()], { server: { kind: "missing", why: "no", remedy } }),
    );
    assert.deepEqual(
      notice?.buttons.map(({ command }) => command),
      commands,
    );
  });

  test.each([
    ["git-missing", "getGit"],
    ["agent-unavailable", "startWith"],
    ["plan-missing", "setup"],
    ["plan-unusable", "openPlan"],
    ["config-unusable", "openConfig"],
    ["uncommitted-changes", "sourceControl"],
    ["state-unusable", "startLoop"],
  ] as const)("what a start lacked stands there until the next: %s", (code, first) => {
    const before = snapshot([idleFolder()]);
    const refusal = { uri: before.folders[0]?.uri ?? "", code, text: "It was not found" };
    const after = reduce(before, { kind: "refused", refusal });
    assert.equal(noticeOf(after)?.text, "It was not found");
    assert.equal(noticeOf(after)?.buttons[0]?.command, first);
    assert.equal(noticeOf({ ...after, folders: [folder()] }), undefined);
    assert.equal(noticeOf(reduce(after, { kind: "refused", refusal: undefined })), undefined);
  });

  test("a server that stopped did not take the loop with it", () => {
    const server = { kind: "failed", why: "it died" } as const;
    assert.match(noticeOf(snapshot([folder()], { server }))?.text ?? "", /continues without it/);
    assert.doesNotMatch(
      noticeOf(snapshot([idleFolder()], { server }))?.text ?? "",
      /continues without it/,
    );
  });

  test("trust is granted: nothing is started by the server that only reads", () => {
    const after = reduce(snapshot([folder()], { trusted: false }), { kind: "trusted" });
    assert.deepEqual([after.trusted, after.server.kind], [true, "starting"]);
  });

  test("a folder that is not trusted", () => {
    const notice = noticeOf(snapshot([folder()], { trusted: false }));
    assert.equal(notice?.buttons[0]?.command, "manageTrust");
  });

  test("each step of setting up", () => {
    const server = { kind: "installing", step: "looking for Python" } as const;
    assert.equal(noticeOf(snapshot([folder()], { server }))?.text, "Looking for Python…");
  });
});

describe("the store", () => {
  test("tells before and after, and goes on when a listener fails", () => {
    const failures: unknown[] = [];
    const store = new Store(true, (error) => failures.push(error));
    const heard: string[] = [];
    store.onDidChange(() => {
      throw new Error("broken");
    });
    const listening = store.onDidChange((after, before) => {
      heard.push(`${before.folders.length} ${after.folders.length}`);
    });
    store.apply({ kind: "folders", folders: FOLDERS });
    listening.dispose();
    store.apply({ kind: "folders", folders: [] });
    assert.deepEqual(heard, ["0 2"]);
    assert.equal(failures.length, 2);
  });
});

test("in a folder that is not trusted no order is offered", () => {
  const verbs = ["start", "stop", "pause", "resume", "reset", "answer"] as const;
  const asking = folder({ actions: verbs.map((verb) => action(verb)) });
  for (const trusted of [true, false]) {
    const keys = contextKeys({ ...snapshot([asking]), trusted }, String);
    for (const verb of verbs) {
      assert.equal(keys[`ralphLoop.can.${verb}`], trusted, verb);
      assert.equal(keys[`ralphLoop.shown.${verb}`], trusted, verb);
    }
  }
});

describe("two folders of one work tree", () => {
  const SUB = `${PARSER}/sub`;
  const both = reduce(
    reduce(snapshot([folder()]), {
      kind: "folders",
      folders: [
        { uri: PARSER, name: "parser" },
        { uri: SUB, name: "sub" },
        { uri: LETTERS, name: "letters" },
      ],
    }),
    { kind: "sameAs", uri: SUB, other: PARSER },
  );

  test("have one loop, which is shown and counted once", () => {
    assert.deepEqual(
      both.folders.map(({ uri }) => uri),
      [PARSER, LETTERS],
    );
    assert.equal(shownFolder({ ...both, active: SUB })?.uri, PARSER);
    assert.equal(folderOf(both, SUB)?.uri, PARSER);
    const choice = choose({ ...both, active: SUB }, "live");
    assert.equal(choice.kind === "one" && choice.folder.uri, PARSER);
  });

  test("are still one when other folders come and go", () => {
    const after = reduce(both, {
      kind: "folders",
      folders: [
        { uri: PARSER, name: "parser" },
        { uri: SUB, name: "sub" },
      ],
    });
    assert.deepEqual(
      after.folders.map(({ uri }) => uri),
      [PARSER],
    );
  });

  test("leave the one that stays with the loop", () => {
    const after = reduce(both, { kind: "folders", folders: [{ uri: SUB, name: "sub" }] });
    assert.deepEqual(
      after.folders.map(({ uri, name }) => [uri, name]),
      [[SUB, "sub"]],
    );
    assert.equal(after.folders[0]?.state, folderOf(both, PARSER)?.state);
    assert.equal(folderOf(after, PARSER), undefined);
  });

  test("that is the same one is nothing new", () => {
    assert.equal(reduce(both, { kind: "sameAs", uri: PARSER, other: PARSER }), both);
    assert.equal(reduce(both, { kind: "sameAs", uri: LETTERS, other: "file:///gone" }), both);
  });
});
