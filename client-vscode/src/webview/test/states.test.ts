/** Every state, in every place where the user sees it, against the one table of them. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "vitest";

import { Window } from "happy-dom";

import { SAMPLES } from "../../../test/states";
import { holds, type Keys } from "../../../test/when";
import { folderIn } from "../../../test/expected";
import { wantedOf } from "../../answer/threadModel";
import { useLanguage } from "../../intl";
import { notificationsFor } from "../../notifications/notices";
import { badge } from "../../state/badge";
import { contextKeys } from "../../state/contextKeys";
import { loopSnapshot } from "../../state/loopSnapshot";
import { clientNeeds } from "../../state/notice";
import { isFresh, panelOf, shownFolder, type Snapshot } from "../../state/snapshot";
import { statusItem } from "../../status/statusItem";
import { LoopPage, type Host } from "../page";
import { NOW } from "./samples";

interface Manifest {
  readonly contributes: {
    readonly views: Readonly<
      Record<string, readonly { readonly id: string; readonly when?: string }[]>
    >;
  };
}

const client = join(import.meta.dirname, "../../..");
const { contributes } = JSON.parse(readFileSync(join(client, "package.json"), "utf8")) as Manifest;

let root: HTMLElement;

beforeEach(() => {
  useLanguage("en-GB");
  const { document } = new Window();
  document.body.innerHTML = '<main id="loop"></main><p id="announcer"></p>';
  root = document.getElementById("loop") as unknown as HTMLElement;
});

afterEach(() => {
  useLanguage(undefined);
});

function draw(snapshot: Snapshot): void {
  const host: Host = { postMessage: () => undefined, getState: () => null, setState: () => null };
  const clock = { now: () => NOW, later: () => () => undefined };
  const page = new LoopPage(root, root.ownerDocument.createElement("p"), host, clock);
  page.receive({ type: "snapshot", snapshot: loopSnapshot(snapshot, shownFolder(snapshot)) });
}

/** The context keys as VS Code has them for its `when` clauses. */
function keysOf(snapshot: Snapshot): Keys {
  return {
    ...contextKeys(snapshot, String),
    workspaceFolderCount: snapshot.folders.length,
    isWorkspaceTrusted: snapshot.trusted,
  };
}

const STATUS = {
  show: "whenActive",
  reducedMotion: false,
  seenEnds: new Set<string>(),
  clock: () => "17:00",
} as const;

const textOf = (element: Element | null | undefined): string => element?.textContent ?? "";

const textsOf = (parent: Element | null | undefined, selector: string): string[] =>
  [...(parent?.querySelectorAll(selector) ?? [])].map(textOf);

describe.each(SAMPLES)("$name", ({ snapshot, expected }) => {
  test("the status bar", () => {
    const item = statusItem(snapshot, STATUS);
    assert.equal(item?.text, expected.status?.text);
    assert.equal(item?.background, expected.status?.background);
    assert.equal(item?.command, expected.status?.click);
    // A word beside the icon, and one for who does not see either.
    assert.match(item?.text ?? "$(x) Ralph", /^\$\([\w~-]+\) Ralph/);
    assert.match(item?.label ?? "Ralph: x", /^Ralph\b.+/);
  });

  test("the badge", () => {
    const shown = badge(snapshot);
    assert.equal(shown?.value, expected.badge);
    assert.notEqual(shown?.tooltip, "");
  });

  test("which views there are, and how one begins", () => {
    const keys = keysOf(snapshot);
    const views = (contributes.views["ralphLoop"] ?? []).filter(
      ({ when }) => when === undefined || holds(when, keys),
    );
    assert.deepEqual(
      views.map(({ id }) => id.replace("ralphLoop.", "")),
      expected.views,
    );
  });

  test("the form of a first loop", () => {
    draw(snapshot);
    const form = root.querySelector(".first");
    assert.equal(form === null, expected.first === undefined);
    if (expected.first !== undefined) {
      const { hint, ready } = expected.first;
      assert.equal(textOf(form?.querySelector(".hint")), hint);
      const start = form?.querySelector(".primary");
      assert.equal(textOf(start), "Start");
      assert.equal(start?.getAttribute("aria-disabled"), ready ? null : "true");
      assert.deepEqual(textsOf(form, ".link"), ["Try the Demo", "Write a Plan", "Walkthrough"]);
    }
  });

  test("the Loop view", () => {
    if (!expected.views.includes("loop")) {
      return;
    }
    draw(snapshot);
    assert.equal(textOf(root.querySelector(".headline")), expected.headline);
    const cards = [...root.querySelectorAll<HTMLElement>(".card")];
    assert.deepEqual(
      cards.map((card) => [
        textOf(card.querySelector(".title")),
        card.dataset["tone"],
        textsOf(card, "button"),
      ]),
      expected.cards.map(({ title, tone, buttons }) => [title, tone, buttons]),
    );
    expected.cards.forEach(({ when, text }, at) => {
      const card = cards[at];
      assert.match(textOf(card?.querySelector(".when")), when ?? /^$/);
      assert.match(textOf(card?.querySelector(".text")), text ?? /./);
    });
    assert.deepEqual(textsOf(root, "main > .buttons > button"), expected.buttons ?? []);
  });

  test("every surface says the same of it", () => {
    const folder = shownFolder(snapshot);
    const panel = panelOf(folder);
    if (folder === undefined || panel === undefined || snapshot.server.kind !== "ok") {
      return;
    }
    draw(snapshot);
    const item = statusItem(snapshot, STATUS);
    const [need] = clientNeeds(snapshot);
    if (need !== undefined) {
      // What a start lacks the server does not know; card, bar and badge say it in the same words.
      assert.equal(textOf(root.querySelector(".card .title")), need);
      assert.ok(item?.label.includes(need));
      assert.equal(badge(snapshot)?.tooltip, need);
      return;
    }
    if (isFresh(folder)) {
      return;
    }
    assert.ok(textOf(root.querySelector(".headline")).startsWith(panel.headline));
    if (panel.state !== "none") {
      assert.ok(item?.label.includes(panel.headline), item?.label);
      assert.deepEqual(item?.lines, panel.answers);
    }
    assert.equal(badge(snapshot)?.tooltip ?? panel.headline, panel.headline);
    // What asks has a thread and a toast of the same matter, and nothing else has one.
    const { matter } = wantedOf(folder);
    assert.equal(matter?.kind === "question", panel.state === "asks");
    if (matter?.kind === "question") {
      assert.equal(panel.card?.text.startsWith(matter.text), true);
    }
    const before = { ...snapshot, folders: [folderIn("running")] };
    const around = {
      settings: { which: "all", except: [] },
      focused: false,
      planVisible: () => false,
      clock: () => "17:00",
      now: NOW,
    } as const;
    const toasts = notificationsFor(before, snapshot, around).map(({ kind }) => kind);
    assert.equal(toasts.includes("question"), panel.state === "asks", toasts.join());
    assert.equal(toasts.includes("breaker"), panel.state === "stuck", toasts.join());
  });

  test("what is urgent comes before everything else, and is told by a word and a shape", () => {
    draw(snapshot);
    const order = [...root.children].map(({ className }) => className);
    const place = (name: string): number => order.indexOf(name);
    if (expected.cards.length > 0 && expected.views.includes("loop")) {
      assert.ok(place("cards") < Math.max(place("answers"), place("facts"), order.length));
      assert.ok(order.slice(0, place("cards")).every((name) => /^(head|progress)$/.test(name)));
    }
    for (const toned of root.querySelectorAll<HTMLElement>("[data-tone]")) {
      assert.ok(toned.matches(".head, .card, .words, .line"), toned.className);
      assert.notEqual(textOf(toned), "");
    }
  });
});

describe("colours of what is reported and of the breaker (docs/rules.md#language-server)", () => {
  const toneOf = (key: string): string | undefined =>
    root.querySelector<HTMLElement>(`.facts [data-key="${key}"] .words`)?.dataset["tone"];
  const of = (name: string): Snapshot =>
    SAMPLES.find((sample) => sample.name === name)?.snapshot ?? assert.fail();

  test.each([
    ["running", "report", "active"],
    ["running", "breaker", "good"],
    ["half-open", "breaker", "warning"],
    ["breaker-open", "breaker", "bad"],
  ])("%s: the %s is %s", (name, key, tone) => {
    draw(of(name));
    assert.equal(toneOf(key), tone);
  });

  test("what was claimed stands beside what was seen", () => {
    draw(of("half-open"));
    const fact = (key: string): string =>
      textOf(root.querySelector(`.facts [data-key="${key}"] .words .text`));
    assert.equal(fact("work"), "implementation · 0 files (report 4)");
    assert.match(fact("evidence"), /^0 commits, 0 files, 0 tasks, no progress: /);
    assert.equal(toneOf("work"), "warning");
  });
});
