/**
 * No text reaches the user without going through the translator.
 *
 * What the server says is put between ‹ and ›, what is translated between ⟦ and ⟧: then nothing
 * that is neither may hold a letter.
 */

import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "vitest";

import { Window } from "happy-dom";

import { SAMPLES } from "../../../test/states";
import { ASKS, folder, LETTERS, snapshot as windowOf } from "../../../test/samples";
import { answersAsText } from "../../asText";
import type { Message } from "../../generated/protocol";
import { fill, useTranslator } from "../../l10n";
import { notificationsFor } from "../../notifications/notices";
import { badge } from "../../state/badge";
import { choose, type Need } from "../../state/choose";
import { loopSnapshot } from "../../state/loopSnapshot";
import { shownFolder, type FolderSnapshot, type Snapshot } from "../../state/snapshot";
import { statusItem } from "../../status/statusItem";
import { LoopPage, type Host } from "../page";
import { NOW } from "./samples";

beforeEach(() => {
  useTranslator((message, ...args) => `⟦${fill(message, ...args)}⟧`);
});

afterEach(() => {
  useTranslator(fill);
});

/** Fields of the server's that are text for users, wherever they are. */
const SAID = new Set(["headline", "short", "title", "text", "heading", "more", "message"]);

/** The same, with the server's words marked. */
function marked<Value>(value: Value, key = ""): Value {
  if (typeof value === "string") {
    return (SAID.has(key) && value !== "" ? `‹${value}›` : value) as Value;
  }
  if (Array.isArray(value)) {
    return value.map((each: unknown) => marked(each, key)) as Value;
  }
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(
      Object.entries(value).map(([name, each]) => [name, marked(each, name)]),
    ) as Value;
  }
  return value;
}

function withMarks(snapshot: Snapshot): Snapshot {
  const { server } = snapshot;
  const why = "why" in server ? { why: `‹${server.why}›` } : {};
  const step = "step" in server ? { step: `‹${server.step}›` } : {};
  return {
    ...snapshot,
    server: { ...server, ...why, ...step },
    folders: snapshot.folders.map((each): FolderSnapshot => ({
      ...each,
      name: `‹${each.name}›`,
      state: marked(each.state),
    })),
  };
}

/** What is left of a text when all that is marked is taken out. */
function bare(text: string): string {
  let rest = text;
  for (let before = ""; before !== rest;) {
    before = rest;
    rest = rest.replaceAll(/‹[^‹›⟦⟧]*›|⟦[^‹›⟦⟧]*⟧/gu, "");
  }
  return rest;
}

function isTranslated(text: string, where: string): void {
  assert.doesNotMatch(bare(text), /\p{L}/u, `${where}: ${text}`);
}

function pageOf(snapshot: Snapshot): HTMLElement {
  const { document } = new Window();
  document.body.innerHTML = '<main id="loop"></main>';
  const root = document.getElementById("loop") as unknown as HTMLElement;
  const host: Host = { postMessage: () => undefined, getState: () => null, setState: () => null };
  const clock = { now: () => NOW, later: () => () => undefined };
  const page = new LoopPage(root, root.ownerDocument.createElement("p"), host, clock);
  const shown = shownFolder(snapshot);
  if (shown !== undefined) {
    page.receive({ type: "snapshot", snapshot: loopSnapshot(snapshot, shown) });
    const run = shown.state?.run?.run ?? "";
    const about = { start: 1, offset: 0 };
    const messages: Message[] = [
      { ...about, kind: "file", path: "‹a›", action: "created" },
      { ...about, kind: "todo", items: [] },
    ];
    page.receive({ type: "messages", workspace: shown.uri, run, messages });
  }
  return root;
}

describe.each(SAMPLES)("$name", ({ snapshot: plain }) => {
  test("the page, its labels, the status bar, the badge and the text", () => {
    const snapshot = withMarks(plain);
    const root = pageOf(snapshot);
    for (const element of [root, ...root.querySelectorAll<HTMLElement>("*")]) {
      const own = [...element.childNodes].filter(({ nodeType }) => nodeType === 3);
      isTranslated(own.map(({ textContent }) => textContent ?? "").join(" "), element.className);
      isTranslated(element.getAttribute("aria-label") ?? "", `label of ${element.className}`);
    }
    const item = statusItem(snapshot, {
      show: "always",
      reducedMotion: false,
      seenEnds: new Set(),
      clock: () => "17:00",
    });
    // The name of the product is the same in every language.
    isTranslated(item?.text.replace(/^\$\([^)]*\) (?:Ralph:?)?/, "") ?? "", "status bar");
    isTranslated(item?.label.replace(/^Ralph:/, "") ?? "", "label of the status bar");
    for (const { title } of item?.links ?? []) {
      isTranslated(title, "link of the tooltip");
    }
    isTranslated(badge(snapshot)?.tooltip ?? "", "badge");
    isTranslated(answersAsText(snapshot, NOW), "as text");
  });
});

test("what a notification says", () => {
  const before = withMarks(windowOf([folder(), folder({}, LETTERS)]));
  const after = withMarks(windowOf([folder(ASKS), folder({}, LETTERS)]));
  const notices = notificationsFor(before, after, {
    settings: { which: "all", except: [] },
    focused: false,
    planVisible: () => false,
    clock: () => "17:00",
    now: NOW,
  });
  assert.equal(notices.length, 1);
  for (const { text } of notices) {
    isTranslated(text, "notification");
  }
});

test("why a command finds no folder", () => {
  const needs: Need[] = ["start", "pause", "stop", "resume", "reset", "answer", "resolve", "live"];
  for (const need of needs) {
    const choice = choose(windowOf([{ ...folder(), state: undefined }]), need);
    isTranslated(choice.kind === "none" ? choice.why : "found", need);
  }
});
