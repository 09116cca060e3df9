/**
 * The names of all commands of ours, and what each needs of a folder.
 *
 * Apart from what they do, so that a test can hold package.json against them without VS Code.
 */

import type { Need } from "../state/choose";

/** Commands that are about a folder. */
export const FOLDER_NEEDS = {
  startLoop: "start",
  startWith: "start",
  attach: "live",
  stopAfterIteration: "stop",
  stopNow: "live",
  pause: "pause",
  resume: "resume",
  resetBreaker: "reset",
  answer: "answer",
  resolveBlocked: "resolve",
  note: "live",
  runTask: "runTask",
  showLog: "showLog",
  openPlan: "any",
  openConfig: "any",
  openDecide: "run",
} as const satisfies Readonly<Record<string, Need>>;
export type FolderCommandId = keyof typeof FOLDER_NEEDS;

/** Commands of the window. */
export const WINDOW_COMMAND_IDS = [
  "chooseFolder",
  "demo",
  "showOutput",
  "restartServer",
  "installServer",
  "selectPython",
  "sendAnswer",
  "answerNotNow",
  "sendResolved",
] as const;
export type WindowCommandId = (typeof WINDOW_COMMAND_IDS)[number];

/** Commands of a comment's own buttons: they make no sense in the palette. */
export const DRAFT_COMMAND_IDS = [
  "sendAnswer",
  "answerNotNow",
  "sendResolved",
] as const satisfies readonly WindowCommandId[];

/** Commands that are of use without a server too. */
export const WITHOUT_SERVER: ReadonlySet<string> = new Set([
  "openPlan",
  "openConfig",
  "openDecide",
  "showLog",
] satisfies FolderCommandId[]);
