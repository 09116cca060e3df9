/** The rows of the tree of iterations, made from the server's reports. Does not import VS Code. */

import type { IterationRow, RunState } from "../generated/protocol";
import { spokenDuration } from "../intl";
import { t } from "../l10n";
import type { FolderSnapshot } from "../state/snapshot";
import type { IterationNode, Node, NodeIcon, OlderNode } from "./nodes";
import { iterationOffers, offerWords } from "./offers";

/** The iterations of a folder's newest run, the newest first. */
export function iterationNodes(folder: FolderSnapshot | undefined): readonly Node[] {
  const state = folder?.state;
  const run = state?.run?.run;
  const rows = state?.panel?.rows ?? [];
  if (folder === undefined || run === undefined) {
    return [];
  }
  const nodes: Node[] = rows.map((row) => iterationNode(folder, run, row));
  const older = (rows.at(-1)?.start ?? 1) - 1;
  return older > 0 ? [...nodes, olderNode(folder, older, state?.run)] : nodes;
}

/** `#2`, and which attempt at it where earlier starts did not count. */
export function rowLabel({ iteration, tries }: IterationRow): string {
  return tries > 1 ? t("#{0}, attempt {1}", iteration, tries) : `#${iteration}`;
}

/** One iteration of a run. */
export function iterationNode(
  folder: FolderSnapshot,
  run: string,
  row: IterationRow,
): IterationNode {
  const outcome = outcomeWords(row);
  const title = row.task ?? (row.planning === true ? t("making the plan") : t("no task assigned"));
  const facts = [
    row.undone === true ? t("undone") : shortOutcome(row),
    row.files === undefined ? "" : filesWords(row),
    row.seconds === undefined ? "" : clock(row.seconds),
    costWords(row),
  ].filter((part) => part !== "");
  const details = [
    row.commit === undefined ? "" : t("commit {0}", row.commit.slice(0, 7)),
    row.outcome === "limited" ? "" : (row.failure ?? ""),
    row.why,
    row.status === undefined ? "" : t("report: {0}", row.status),
    row.tests === undefined ? "" : t("tests: {0}", row.tests.toLowerCase().replaceAll("_", " ")),
    row.tasksDone > 0 ? t("tasks done: {0}", row.tasksDone) : "",
  ].filter((part) => part !== "");
  return {
    kind: "iteration",
    id: `${folder.uri}#${run}:${row.start}`,
    label: row.undone === true ? struck(shortTitle(title)) : shortTitle(title),
    description: [rowLabel(row), ...facts].join(" · "),
    tooltip: [
      title,
      t("Iteration {0}: {1}", row.iteration, outcome),
      ...(row.undone === true ? [undoneWords()] : []),
      ...details,
    ].join("\n"),
    spoken: spokenRow(row, title),
    context: ["iteration", ...offerWords(iterationOffers(row))].join(" "),
    icon: iterationIcon(row),
    folder: folder.uri,
    run,
    row,
  };
}

/** The task, what came of it and what it took; why, commit and report are in the tooltip. */
function spokenRow(row: IterationRow, title: string): string {
  const { undone, iteration, files, seconds } = row;
  return [
    title,
    undone === true ? undoneWords() : outcomeWords(row),
    files === undefined ? "" : filesWords(row),
    seconds === undefined ? "" : spokenDuration(seconds),
    costWords(row),
    t("iteration {0}", iteration),
  ]
    .filter((part) => part !== "")
    .join(", ");
}

/** `$0.42`, or `≈$0.42` where it was worked out from prices; empty where it is unknown. */
export function costWords({
  costUsd,
  estimated,
}: Pick<IterationRow, "costUsd" | "estimated">): string {
  return costUsd === undefined ? "" : `${estimated ? "≈" : ""}$${costUsd.toFixed(2)}`;
}

/** How many there are besides those that are shown. */
export function olderWords(n: number): string {
  return n === 1 ? t("{0} older iteration", n) : t("{0} older iterations", n);
}

function olderNode(folder: FolderSnapshot, n: number, run: RunState | undefined): OlderNode {
  const words = olderWords(n);
  return {
    kind: "older",
    id: `${folder.uri}#older`,
    label: t("Older…"),
    description: words,
    tooltip: t("{0}. Click to open summary.csv, which lists them all.", words),
    spoken: words,
    context: "older",
    icon: { name: "ellipsis", color: undefined },
    summary:
      run === undefined ? undefined : `${run.workspace}/${run.config.paths.logs}/summary.csv`,
  };
}

/** Characters of a title beside which the state still fits. */
const SHORT_TITLE = 24;

function shortTitle(title: string): string {
  const characters = graphemes(title);
  return characters.length <= SHORT_TITLE
    ? title
    : `${characters
        .slice(0, SHORT_TITLE - 1)
        .join("")
        .trimEnd()}…`;
}

/** A tree of VS Code has no other way to strike a row's label; a screen reader gets `spoken`. */
function struck(text: string): string {
  return graphemes(text)
    .map((character) => `${character}\u0336`)
    .join("");
}

/** What a reader takes for one character. */
function graphemes(text: string): readonly string[] {
  const segments = new Intl.Segmenter(undefined, { granularity: "grapheme" }).segment(text);
  return Array.from(segments, ({ segment }) => segment);
}

function undoneWords(): string {
  return t("undone: rolled back");
}

/** What came of it, in a word or two. */
function shortOutcome(row: IterationRow): string {
  const { outcome, failure, confirmed } = row;
  if (outcome === "limited") {
    return failure ?? t("usage limit");
  }
  if (outcome === "lost") {
    return t("lost");
  }
  return confirmed === true ? t("confirmed") : outcomeWords(row);
}

/** What was seen, and beside it what was claimed where that differs. */
function filesWords({ files, claimedFiles }: IterationRow): string {
  const counted = files === 1 ? t("{0} file", 1) : t("{0} files", files ?? 0);
  const differs = claimedFiles !== undefined && claimedFiles !== files;
  return differs ? t("{0} (report {1})", counted, claimedFiles) : counted;
}

function iterationIcon(row: IterationRow): NodeIcon {
  if (row.outcome === undefined) {
    return { name: "sync", color: "charts.blue" };
  }
  if (row.undone === true) {
    return { name: "discard", color: "disabledForeground" };
  }
  switch (row.outcome) {
    case "progress":
      return { name: row.commit === undefined ? "pass" : "git-commit", color: undefined };
    case "noProgress":
      return row.confirmed === true
        ? { name: "pass", color: undefined }
        : { name: "dash", color: "list.warningForeground" };
    case "stopped":
      return { name: "debug-stop", color: undefined };
    case "limited":
      return { name: "clock", color: undefined };
    case "lost":
      return { name: "debug-disconnect", color: "list.errorForeground" };
  }
}

function outcomeWords({ outcome, failure, confirmed }: IterationRow): string {
  if (outcome === undefined) {
    return t("running");
  }
  if (confirmed === true) {
    return t("confirmed that nothing is left");
  }
  switch (outcome) {
    case "progress":
      return t("progress");
    case "noProgress":
      return t("no progress");
    case "stopped":
      return t("stopped");
    case "limited":
      return failure ?? t("usage limit, not counted");
    case "lost":
      return t("lost: the engine died");
  }
}

/** `1:06`, or `1:02:03` from an hour on. */
function clock(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  const two = (part: number): string => String(part).padStart(2, "0");
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  const rest = two(whole % 60);
  return hours > 0 ? `${hours}:${two(minutes)}:${rest}` : `${minutes}:${rest}`;
}
