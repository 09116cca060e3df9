/** A panel as the server sends it, for the tests of the page. */

import type { Panel, StateResult } from "../../generated/protocol";
import type { LoopSnapshot } from "../messages";

export const NOW = Date.UTC(2026, 0, 31, 12, 0, 0);

export function panel(changes: Partial<Panel> = {}): Panel {
  return {
    state: "running",
    headline: "Running",
    doing: "about doing",
    short: "3/20",
    tone: "active",
    needsPerson: false,
    waiting: 0,
    badge: 0,
    live: true,
    breaker: "CLOSED",
    iterations: { value: 3, of: 20 },
    tasks: { value: 2, of: 6 },
    seconds: 372,
    ticking: true,
    answers: ["Running", "Doing", "Last change", "Needs you", "Stopped", "Next"].map((heading) => ({
      heading,
      text: `about ${heading.toLowerCase()}`,
    })),
    facts: [
      { key: "breaker", heading: "Breaker", text: "closed", tone: "good", more: "" },
      { key: "next", heading: "Next", text: "Wire the token…", tone: "plain", more: "and test it" },
      { key: "time", heading: "Time", text: "6m 12s", tone: "plain", more: "" },
    ],
    actions: [
      { title: "Pause", verb: "pause", arguments: {} },
      { title: "Stop", verb: "stop", arguments: {} },
    ],
    rows: [],
    ...changes,
  };
}

/** Before the server has said anything. */
export const EMPTY: LoopSnapshot = {
  workspace: "file:///work",
  name: "",
  receivedAt: NOW,
  starting: false,
  folders: [],
  canAct: true,
};

export const QUESTION: Partial<Panel> = {
  state: "asks",
  headline: "Waiting for you",
  tone: "warning",
  ticking: false,
  card: {
    kind: "question-waiting",
    tone: "warning",
    title: "Ralph asks",
    text: "Which <b>engine</b>?",
    actions: [
      { title: "Answer…", verb: "answer", arguments: { run: "r1" } },
      { title: "Open decide.txt", verb: "showFile", arguments: { path: ".ralph/decide.txt" } },
    ],
  },
  actions: [
    { title: "Answer…", verb: "answer", arguments: { run: "r1" } },
    { title: "Stop", verb: "stop", arguments: {} },
  ],
};

export function snapshot(
  shown: Panel | undefined = panel(),
  changes: Partial<LoopSnapshot> = {},
): LoopSnapshot {
  const state: StateResult = {
    run: { run: "r1" } as NonNullable<StateResult["run"]>,
    live: true,
    needsPerson: false,
    answers: [],
    panel: shown,
    plan: { path: "", tasks: [], problems: [] },
  };
  return { ...EMPTY, state, ...changes };
}
