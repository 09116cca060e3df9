/**
 * Commands about one row: a task of the plan, or an iteration.
 *
 * Called on a row they are about that one; from the palette they ask for one, of those with which
 * it can be done.
 */

import * as vscode from "vscode";

import type { EditTaskParams, ReplyResult } from "../generated/protocol";
import { t } from "../l10n";
import { pickIteration, pickTask, type Iteration } from "../rows/pick";
import { folderOf, type FolderSnapshot } from "../state/snapshot";
import type { Move } from "../trees/drag";
import type { Node } from "../trees/nodes";
import type { IterationOffer, TaskOffer } from "../trees/offers";
import type { RowCommandId } from "./ids";
import type { Given } from "./orders";
import type { FolderCommand, Tools } from "./tools";

export const ROW_COMMANDS: Readonly<Record<RowCommandId, FolderCommand>> = {
  skipTask: async ({ orders }, folder, target) => {
    const task = await taskOf(folder, target, "skip", t("Skip which task in this run?"));
    if (task !== undefined) {
      glance(await orders.ask("ralph/skip", { workspace: folder.uri, task }, folder));
    }
  },
  resetTask: async ({ orders }, folder, target) => {
    const task = await taskOf(folder, target, "reset", t("Reset the attempts of which task?"));
    if (task !== undefined) {
      glance(await orders.ask("ralph/resetTask", { workspace: folder.uri, task }, folder));
    }
  },
  blockTask: async (tools, folder, target) => {
    const task = await taskOf(folder, target, "block", t("Block which task?"));
    if (task === undefined) {
      return;
    }
    const reason = await vscode.window.showInputBox({
      title: t("Why is it blocked?"),
      prompt: t(
        "The reason is written to the plan. The loop leaves the task alone until you unblock it.",
      ),
      ignoreFocusOut: true,
    });
    if (reason !== undefined) {
      await edit(tools, folder, { task, edit: "block", reason: reason.trim() });
    }
  },
  unblockTask: async (tools, folder, target) => {
    const task = await taskOf(folder, target, "unblock", t("Unblock which task?"));
    if (task !== undefined) {
      await edit(tools, folder, { task, edit: "unblock" });
    }
  },
  showChanges: async ({ changes }, folder, target) => {
    const found = await iterationOf(
      folder,
      target,
      "changes",
      t("Show the changes of which iteration?"),
    );
    if (found !== undefined) {
      await changes.show(folder, found.run, found.row.start);
    }
  },
  openCommit: async ({ changes }, folder, target) => {
    const { commit, start } = target?.kind === "task" ? target.task : {};
    if (commit !== undefined && start !== undefined) {
      await changes.openCommit(folder, undefined, start, commit);
      return;
    }
    const found = await iterationOf(
      folder,
      target,
      "commit",
      t("Open the commit of which iteration?"),
    );
    if (found?.row.commit !== undefined) {
      await changes.openCommit(folder, found.run, found.row.start, found.row.commit);
    }
  },
  rollback: async ({ rollback, runs }, folder, target) => {
    const title = t("Roll back to before which iteration?");
    const found = await iterationOf(folder, target, "rollBack", title);
    if (found !== undefined) {
      await rollback.ask(folder, found.run, found.row.start);
      runs.refresh();
    }
  },
  showReport: async ({ runs, texts }, folder, target) => {
    const found =
      target?.kind === "run"
        ? target.run
        : await runs.pick(folder, t("Show the report of which run?"));
    if (found !== undefined) {
      const { key } = found;
      await texts.show(folder, { what: "report", run: key }, t("Report of run {0}", key));
    }
  },
  showDetails: async ({ texts }, folder, target) => {
    const title = t("Show the details of which iteration?");
    const found = await iterationOf(folder, target, "log", title);
    if (found !== undefined) {
      const { run, row } = found;
      const asked = { what: "show", run, iteration: row.iteration } as const;
      await texts.show(folder, asked, t("Iteration {0} of run {1}", row.iteration, run));
    }
  },
};

/** A task was dropped elsewhere in the plan's tree. */
export async function moveTask(tools: Tools, { task, before }: Move): Promise<void> {
  const folder = folderOf(tools.store.snapshot, task.folder);
  if (folder !== undefined) {
    const to = before === undefined ? {} : { before };
    await edit(tools, folder, { task: task.task.id, edit: "move", ...to });
  }
}

/** A hint behind a finished task was clicked; what it brings nobody has looked at. */
export async function openHintsCommit(
  { changes }: Tools,
  folder: FolderSnapshot,
  given: Given,
): Promise<void> {
  const { run, start, commit } = given;
  if (typeof start === "number" && typeof commit === "string") {
    const ofRun = typeof run === "string" ? run : undefined;
    await changes.openCommit(folder, ofRun, start, commit);
  }
}

async function edit(
  { orders }: Tools,
  folder: FolderSnapshot,
  wanted: Omit<EditTaskParams, "workspace">,
): Promise<void> {
  glance(await orders.ask("ralph/editTask", { workspace: folder.uri, ...wanted }, folder));
}

/** What an order that was obeyed says: read in passing, and gone. */
function glance(reply: ReplyResult | undefined): void {
  if (reply?.accepted === true) {
    vscode.window.setStatusBarMessage(t("Ralph: {0}", reply.text), 5000);
  }
}

async function taskOf(
  folder: FolderSnapshot,
  target: Node | undefined,
  offer: TaskOffer,
  title: string,
): Promise<string | undefined> {
  const found = target?.kind === "task" ? target : await pickTask(folder, offer, title);
  return found?.task.id;
}

async function iterationOf(
  folder: FolderSnapshot,
  target: Node | undefined,
  offer: IterationOffer,
  title: string,
): Promise<Iteration | undefined> {
  return target?.kind === "iteration" ? target : await pickIteration(folder, offer, title);
}
