/**
 * No text reaches the user without a translation from the bundle.
 *
 * What the server says is put between ‹ and ›, what is translated between ⟦ and ⟧: then nothing
 * that is neither may hold a letter.
 */

import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "vitest";

import { Window } from "happy-dom";

import { SAMPLES } from "../../../test/states";
import { BUNDLE, PSEUDO_BUNDLE } from "../../../test/pseudoLocale";
import {
  ASKS,
  folder,
  iteration,
  LETTERS,
  panel,
  snapshot as windowOf,
  state,
  task,
} from "../../../test/samples";
import { choices, Person } from "../../../test/wizard/samples";
import { answersAsText } from "../../asText";
import { END_REASONS, type ClaimsResult, type Message } from "../../generated/protocol";
import { runNodes } from "../../history/model";
import { fill, translatorOf, useTranslator } from "../../l10n";
import { notificationsFor } from "../../notifications/notices";
import { badge } from "../../state/badge";
import { choose, type Need } from "../../state/choose";
import { loopSnapshot } from "../../state/loopSnapshot";
import { shownFolder, type FolderSnapshot, type Snapshot } from "../../state/snapshot";
import { statusItem } from "../../status/statusItem";
import { iterationNodes } from "../../trees/iterations";
import { byId } from "../../trees/nodes";
import { planNodes } from "../../trees/plan";
import { STEPS } from "../../wizard/answers";
import { screenOf } from "../../wizard/screens";
import { LoopPage, type Host } from "../page";
import { NOW } from "./samples";

beforeEach(() => {
  useTranslator(translatorOf(PSEUDO_BUNDLE));
});

afterEach(() => {
  useTranslator(fill);
});

/** What a text fills in, each as often as it does. */
const places = (text: string): string[] => [...text.matchAll(/\{\d+\}/g)].map(String).sort();

test.each(Object.keys(BUNDLE))("%j is translated whole, and longer", (key) => {
  const text = PSEUDO_BUNDLE[key] ?? "";
  assert.deepEqual(places(text), places(key));
  assert.ok(text.length >= key.length * 1.4, text);
});

/** Fields of the server's that are text for users, wherever they are. */
const SAID = new Set(["headline", "doing", "short", "title", "text", "heading", "more", "message"]);

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
  const { refusal } = snapshot;
  const refused =
    refusal === undefined
      ? {}
      : {
          refusal: {
            ...marked(refusal),
            ...(refusal.claims && { claims: ofClaims(refusal.claims) }),
          },
        };
  const step = "step" in server ? { step: `‹${server.step}›` } : {};
  return {
    ...snapshot,
    ...refused,
    server: { ...server, ...why, ...step },
    folders: snapshot.folders.map((each): FolderSnapshot => ({
      ...each,
      name: `‹${each.name}›`,
      state: marked(each.state),
      problem: marked(each.problem),
    })),
  };
}

/** Commands and files of a repository, which are in no language of ours. */
function ofClaims(claims: ClaimsResult): ClaimsResult {
  return {
    ...claims,
    claims: claims.claims.map((claim) => ({
      ...claim,
      key: `‹${claim.key}›`,
      text: `‹${claim.text}›`,
      notCovered: claim.notCovered.map((words) => `‹${words}›`),
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

test("the rows of the trees", () => {
  const tasks = (["todo", "inProgress", "done", "blocked", "skipped"] as const).map((each, at) =>
    task({ id: `t${at}`, title: "‹a›", section: "‹s›", state: each, priority: "P0" }),
  );
  const outcomes = ["progress", "noProgress", "stopped", "limited", "lost", undefined] as const;
  const rows = outcomes.map((outcome, at) =>
    iteration({
      iteration: at,
      tries: 2,
      tasksDone: 1,
      status: "‹s›",
      tests: "‹t›",
      ...(outcome === undefined ? {} : { outcome }),
      ...{ files: 2, claimedFiles: 1, task: "‹a›" },
    }),
  );
  const plan = { uri: "file:///p", path: "p", tasks, problems: [] };
  const shown = { ...folder(), state: state({ plan, panel: panel({ rows }) }) };
  const figures = {
    ...{ key: "‹k›", name: "", iterations: 2, clean: 1, seconds: 61, files: 1, commits: 1 },
    ...{ tasksDone: 2, estimated: true, withoutCost: 0, validations: 0, failedValidations: 0 },
    ...{ opens: 0, isDone: false, answers: 0, resets: 0, edits: 0, tasks: ["‹a›"], pruned: true },
  };
  const runs = END_REASONS.map((end) => ({ ...figures, key: `‹${end}›`, end }));
  const elsewhere = {
    ...{ workspace: "/‹w›", run: "‹r›", plan: "‹p›", live: true, phase: "running" as const },
    ...{ activity: "‹a›", iteration: 1, done: 0, required: 1, estimated: false, next: "‹n›" },
  };
  const history = { runs, pages: new Map() };
  const kept = runNodes(shown, history, [elsewhere], 0);
  const trees = [...planNodes(shown), ...iterationNodes(shown), ...kept];
  const nodes = [...byId(trees).values()];
  assert.ok(nodes.length > 10);
  for (const { label, description, tooltip, spoken } of nodes) {
    for (const text of [label, description, tooltip, spoken]) {
      isTranslated(text.replaceAll(/\bP0\b|1 minute 1 second/g, ""), label);
    }
  }
});

test("the screens of the set-up", () => {
  const known = { needsItems: true, needsAllow: true, reportsCost: false };
  const given = marked(
    choices({
      profiles: [{ name: "fixplan", title: "a", detail: "‹d›", plan: "‹p›", ...known }],
      templates: [],
      templateFolder: "‹t›",
      agents: [{ name: "‹n›", found: true, detail: "‹d›", ...known }],
      existingPlan: "‹p›",
      notes: [],
    }),
  );
  for (const step of STEPS) {
    const screen = screenOf(new Person({ step }, given).wizard);
    // The placeholder of a field is an example, such as the word COMPLETE.
    const words = screen.kind === "pick" ? [screen.placeholder] : [];
    const rows = screen.kind === "pick" ? screen.rows : [];
    const own = rows.flatMap((row) =>
      row.kind === "line" ? [row.label] : [row.label, row.description ?? "", row.detail ?? ""],
    );
    for (const text of [screen.title, ...words, ...own]) {
      isTranslated(text, `${step} ${screen.kind}`);
    }
  }
});
