/**
 * What the user has to answer in a folder, and what becomes of its thread in the plan.
 *
 * Pure: from what is shown and what the server reports to the steps between. The one rule that all
 * of it serves: a draft that somebody writes is never taken away, and never loses its keyboard.
 */

import type { LaneRow } from "../generated/protocol";
import { t } from "../l10n";
import { argumentsOf, isBlocked, panelOf, type FolderSnapshot } from "../state/snapshot";

/** One option of a question: as it is labelled there, and the answer that it stands for. */
export interface Option {
  readonly label: string;
  readonly answer: string;
}

/** A question, or a blocker. */
export interface Matter {
  readonly kind: "question" | "blocked";
  /** Distinguishes one matter from the next. */
  readonly key: string;
  readonly folder: string;
  /** URI of the plan; None where there is none, and so no thread. */
  readonly plan: string | undefined;
  /** From 0. */
  readonly line: number;
  /** Who asks, in words. */
  readonly asker: string;
  readonly text: string;
  readonly options: readonly Option[];
  /** Whether a run without an engine continues with the answer. */
  readonly goOn: boolean;
  /** Of a parallel run: the task whose lane asks. */
  readonly task?: string;
}

/** How a question was settled. */
export interface Settled {
  readonly answer: string;
  readonly by: string;
}

/** What is to be said of a folder now. */
export interface Wanted {
  readonly matter: Matter | undefined;
  /** The last question's key and its answer, where it has one. */
  readonly settled: (Settled & { readonly key: string }) | undefined;
}

/** A thread as it is on the screen. */
export interface Shown {
  readonly key: string;
  readonly line: number;
  readonly plan: string;
  /** How it was settled, as far as that is shown. */
  readonly settled: Settled | undefined;
  readonly hasDraft: boolean;
}

export type Step =
  | { readonly kind: "create"; readonly matter: Matter }
  | { readonly kind: "move"; readonly line: number }
  /** Show the answer, and fold the thread. */
  | { readonly kind: "settle"; readonly settled: Settled }
  /** The same under a draft: only its label may change. */
  | { readonly kind: "label"; readonly settled: Settled }
  | { readonly kind: "remove" };

/** What the server reports of this folder. */
export function wantedOf(folder: FolderSnapshot): Wanted {
  const panel = panelOf(folder);
  const question = panel?.question;
  const plan = folder.state?.plan.uri;
  const settled =
    question?.answer === undefined
      ? undefined
      : { key: question.key, answer: question.answer, by: question.answeredBy ?? "" };
  if (question !== undefined && question.answer === undefined) {
    const matter: Matter = {
      kind: "question",
      key: question.key,
      folder: folder.uri,
      plan,
      line: question.line,
      asker: question.lane === undefined ? asker(question.iteration) : ofLane(question.lane),
      text: question.text,
      options: question.options.map((answer) => ({ label: labelOfOption(folder, answer), answer })),
      goOn: argumentsOf(folder, "answer")["continue"] === true,
      ...(question.lane === undefined || question.task === undefined
        ? {}
        : { task: question.task }),
    };
    return { matter, settled };
  }
  return { matter: blockedMatter(folder), settled };
}

/** What one of several lanes asks; undefined where it asks nothing. */
export function matterOfLane(folder: FolderSnapshot, row: LaneRow): Matter | undefined {
  return row.question === undefined
    ? undefined
    : {
        kind: "question",
        key: `${row.run ?? ""} ${row.question}`,
        folder: folder.uri,
        plan: undefined,
        line: 0,
        asker: ofLane(row.lane),
        text: row.question,
        options: row.options.map((answer) => ({ label: answer, answer })),
        goOn: argumentsOf(folder, "answer")["continue"] === true,
        task: row.task.id,
      };
}

/** Whether the lane of a matter still asks this. */
export function stillAsks(folder: FolderSnapshot, { task, text }: Matter): boolean {
  const rows = panelOf(folder)?.lanes?.rows ?? [];
  return task !== undefined && rows.some((row) => row.task.id === task && row.question === text);
}

/** `(a) SQLite file`, as its button in the card says. */
function labelOfOption(folder: FolderSnapshot, answer: string): string {
  const actions = panelOf(folder)?.card?.actions ?? [];
  return actions.find(({ arguments: given }) => given["text"] === answer)?.title ?? answer;
}

/** From one to the other. */
export function stepsFor(shown: Shown | undefined, { matter, settled }: Wanted): readonly Step[] {
  if (shown === undefined) {
    return created(matter);
  }
  if (matter?.key === shown.key) {
    if (matter.plan !== shown.plan && !shown.hasDraft) {
      return [{ kind: "remove" }, ...created(matter)];
    }
    return matter.line === shown.line ? [] : [{ kind: "move", line: matter.line }];
  }
  const how = settled?.key === shown.key ? settled : NOBODY;
  if (shown.settled === undefined) {
    if (shown.hasDraft) {
      return [{ kind: "label", settled: how }];
    }
    if (matter === undefined && how.answer !== "") {
      return [{ kind: "settle", settled: how }];
    }
    return [{ kind: "remove" }, ...created(matter)];
  }
  // It was settled: it stays readable until there is something else to ask.
  if (matter !== undefined && !shown.hasDraft) {
    return [{ kind: "remove" }, ...created(matter)];
  }
  // Who answered may come after the answer, as an engine has to read it first.
  const isNews = how.answer !== "" && how.by !== shown.settled.by;
  return isNews ? [{ kind: shown.hasDraft ? "label" : "settle", settled: how }] : [];
}

/** Of a matter that went away, and nobody said how. */
const NOBODY: Settled = { answer: "", by: "" };

/** The headline of a thread. */
export function labelOf(kind: Matter["kind"]): string {
  return kind === "question" ? t("Decision needed") : t("Blocked");
}

/** The headline once it is settled; it says where that was done. */
export function settledLabel({ answer, by }: Settled): string {
  if (by === COMMAND) {
    return t("Answered in a terminal");
  }
  if (by !== "") {
    return t("Answered in {0}", by);
  }
  return answer === "" ? t("No longer waiting") : t("Answered");
}

/** What the command line calls itself. */
const COMMAND = "ralph answer";

function created(matter: Matter | undefined): readonly Step[] {
  return matter?.plan === undefined ? [] : [{ kind: "create", matter }];
}

function blockedMatter(folder: FolderSnapshot): Matter | undefined {
  const card = panelOf(folder)?.card;
  if (card === undefined || !isBlocked(folder)) {
    return undefined;
  }
  const state = folder.state;
  const task = state?.plan.tasks.find(({ blocks }) => blocks);
  const blocked = state?.run?.blocked;
  return {
    kind: "blocked",
    key: `blocked:${state?.run?.run ?? ""}:${blocked?.iteration ?? ""}:${blocked?.reason ?? card.text}`,
    folder: folder.uri,
    plan: state?.plan.uri,
    line: Math.max(0, (task?.line ?? 1) - 1),
    asker: asker(blocked?.iteration),
    text: card.text,
    options: [],
    goOn: argumentsOf(folder, "resume")["continue"] === true,
  };
}

function ofLane(lane: number): string {
  return t("Ralph · lane {0}", lane);
}

function asker(iteration: number | undefined): string {
  return iteration === undefined ? "Ralph" : t("Ralph · iteration {0}", iteration);
}
