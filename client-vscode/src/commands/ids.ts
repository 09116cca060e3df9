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
  startParallel: "start",
  attach: "live",
  stopAfterIteration: "stop",
  stopNow: "live",
  pause: "pause",
  resume: "resume",
  resetBreaker: "reset",
  overruleJudge: "overrule",
  answer: "answer",
  takeOption1: "answer",
  takeOption2: "answer",
  takeOption3: "answer",
  takeOption4: "answer",
  takeOption5: "answer",
  takeOption6: "answer",
  resolveBlocked: "resolve",
  note: "live",
  runTask: "runTask",
  skipTask: "setUp",
  resetTask: "setUp",
  blockTask: "setUp",
  unblockTask: "setUp",
  showLog: "showLog",
  showChanges: "run",
  openCommit: "run",
  rollback: "rollBack",
  openPlan: "any",
  choosePlan: "any",
  openConfig: "any",
  openDecide: "run",
  openPrompt: "any",
  setup: "any",
  initRepository: "any",
  findRun: "run",
  answerLane: "run",
  openConflict: "run",
  openLane: "run",
  laneTerminal: "run",
  laneLog: "run",
  showReport: "run",
  showDetails: "run",
  doctor: "any",
  dryRun: "setUp",
  why: "run",
  stats: "run",
  exportRuns: "run",
  replan: "start",
  archive: "setUp",
  prune: "run",
  lessons: "any",
} as const satisfies Readonly<Record<string, Need>>;
export type FolderCommandId = keyof typeof FOLDER_NEEDS;

/** Those of them that are about one row, and ask which where they are called without one. */
export const ROW_COMMAND_IDS = [
  "skipTask",
  "resetTask",
  "blockTask",
  "unblockTask",
  "showChanges",
  "openCommit",
  "rollback",
  "showReport",
  "showDetails",
] as const satisfies readonly FolderCommandId[];
export type RowCommandId = (typeof ROW_COMMAND_IDS)[number];

/** Those of them that are about a lane of a parallel run, and ask which. */
export const LANE_COMMAND_IDS = [
  "answerLane",
  "openConflict",
  "openLane",
  "laneTerminal",
  "laneLog",
] as const satisfies readonly FolderCommandId[];
export type LaneCommandId = (typeof LANE_COMMAND_IDS)[number];

/** Commands behind the links of a thread: what a place means, only the question beside it says. */
export const OPTION_COMMAND_IDS = [
  "takeOption1",
  "takeOption2",
  "takeOption3",
  "takeOption4",
  "takeOption5",
  "takeOption6",
] as const satisfies readonly FolderCommandId[];

/** Commands of the window. */
export const WINDOW_COMMAND_IDS = [
  "chooseFolder",
  "dashboard",
  "refreshRuns",
  "demo",
  "allowAndStart",
  "dismiss",
  "readAsText",
  "walkthrough",
  "showOutput",
  "restartServer",
  "installServer",
  "selectPython",
  "otherWays",
  "getPython",
  "getGit",
  "copyCommand",
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

/** Commands that only show, and are of use without a server and without trust too. */
export const WITHOUT_SERVER: ReadonlySet<string> = new Set([
  "attach",
  "openPlan",
  "openConfig",
  "openDecide",
  "openPrompt",
  "showLog",
] satisfies FolderCommandId[]);
