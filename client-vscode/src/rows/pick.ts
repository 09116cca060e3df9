/** Which task or iteration is meant, where a command was called without a row. */

import * as vscode from "vscode";

import { t } from "../l10n";
import type { FolderSnapshot } from "../state/snapshot";
import { rowLabel } from "../trees/iterations";
import type { IterationNode, TaskNode } from "../trees/nodes";
import { iterationOffers, taskOffers, type IterationOffer, type TaskOffer } from "../trees/offers";

/** What is needed of a row to act on it. */
export type Task = Pick<TaskNode, "task">;
export type Iteration = Pick<IterationNode, "run" | "row">;

/** A task of the plan with which this can be done; undefined if the user cancelled. */
export async function pickTask(
  folder: FolderSnapshot,
  offer: TaskOffer,
  title: string,
): Promise<Task | undefined> {
  const tasks = (folder.state?.plan.tasks ?? []).filter((task) => taskOffers(task).includes(offer));
  if (tasks.length === 0) {
    void vscode.window.showInformationMessage(t("No task to choose from."));
    return undefined;
  }
  const items = tasks.map((task) => ({
    label: task.title,
    description: task.words,
    detail: task.section,
    task,
  }));
  return await vscode.window.showQuickPick(items, { title, matchOnDescription: true });
}

/** An iteration of the newest run with which this can be done. */
export async function pickIteration(
  folder: FolderSnapshot,
  offer: IterationOffer,
  title: string,
): Promise<Iteration | undefined> {
  const run = folder.state?.run?.run;
  const rows = (folder.state?.panel?.rows ?? []).filter((row) =>
    iterationOffers(row).includes(offer),
  );
  if (run === undefined || rows.length === 0) {
    void vscode.window.showInformationMessage(t("No iteration to choose from."));
    return undefined;
  }
  const items = rows.map((row) => ({
    label: rowLabel(row),
    description: [row.commit?.slice(0, 7) ?? "", row.task ?? ""].filter(Boolean).join(" · "),
    detail: row.why,
    run,
    row,
  }));
  return await vscode.window.showQuickPick(items, { title, matchOnDescription: true });
}
