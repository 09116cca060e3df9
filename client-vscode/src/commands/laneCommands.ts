/**
 * Commands about one lane of a parallel run, and the start of such a run.
 *
 * Called on a row they are about that lane; from the palette they ask for one, of those with which
 * it can be done. A lane is a separate work tree, outside the folder of the window.
 */

import { existsSync } from "node:fs";
import { dirname } from "node:path";

import * as vscode from "vscode";

import type { LaneRow } from "../generated/protocol";
import { t } from "../l10n";
import { folderOf, type FolderSnapshot } from "../state/snapshot";
import { conflictsOf } from "../trees/lanes";
import type { Node } from "../trees/nodes";
import { laneOffers, type LaneOffer } from "../trees/offers";
import type { LaneCommandId } from "./ids";
import type { FolderCommand, Tools } from "./tools";

/** Lanes that are offered at first. */
const FEW = 3;

export const LANE_COMMANDS: Readonly<Record<LaneCommandId, FolderCommand>> = {
  answerLane: async (tools, folder, target) => {
    const lane = await laneOf(folder, target, "answer", t("Answer which lane?"));
    if (lane !== undefined) {
      await tools.answers.answerLane(folderOf(tools.store.snapshot, folder.uri) ?? folder, lane);
    }
  },
  openConflict: async (_tools, folder, target) => {
    const lane = await laneOf(folder, target, "conflict", t("Open the conflict of which lane?"));
    const path = lane === undefined ? undefined : await pickConflict(lane);
    const branch = folder.state?.panel?.lanes?.branch;
    if (lane === undefined || path === undefined || !isThere(lane)) {
      return;
    }
    if (!(await showConflict(lane, path)) && branch !== undefined) {
      await offerRebase(lane, path, branch);
    }
  },
  openLane: async (_tools, folder, target) => {
    const lane = await laneOf(folder, target, "folder", t("Open the folder of which lane?"));
    if (lane !== undefined && isThere(lane)) {
      await vscode.commands.executeCommand("vscode.openFolder", vscode.Uri.file(lane.worktree), {
        forceNewWindow: true,
      });
    }
  },
  laneTerminal: async (_tools, folder, target) => {
    const lane = await laneOf(folder, target, "folder", t("Open a terminal in which lane?"));
    if (lane !== undefined && isThere(lane)) {
      terminalIn(lane).show();
    }
  },
  laneLog: async (tools, folder, target) => {
    const lane = await laneOf(folder, target, "log", t("Show the log of which lane?"));
    if (lane !== undefined) {
      await showLog(tools, folder, lane);
    }
  },
};

/** Start a run with several lanes; Escape starts nothing. */
export async function startParallel({ orders }: Tools, folder: FolderSnapshot): Promise<void> {
  const last = folder.state?.run?.config.parallel;
  const answer = await vscode.window.showInputBox({
    title: t("Start Parallel Loop"),
    prompt: t("How many tasks at once? Each gets a lane: a work tree with a branch."),
    value: String(last ?? FEW),
    ignoreFocusOut: true,
    validateInput: (value) =>
      /^\s*(?:[2-9]|[1-5]\d|6[0-4])\s*$/.test(value)
        ? undefined
        : t("Enter a whole number from 2 to 64."),
  });
  if (answer !== undefined) {
    await orders.start(folder, { parallel: Number(answer) });
  }
}

/** Open a file of a lane at its first conflict; whether it has one. */
async function showConflict(lane: LaneRow, path: string): Promise<boolean> {
  // VS Code offers to accept one side or both where a file has conflict markers.
  const uri = vscode.Uri.joinPath(vscode.Uri.file(lane.worktree), path);
  const document = await vscode.workspace.openTextDocument(uri);
  const editor = await vscode.window.showTextDocument(document, { preview: false });
  const at = document.getText().search(/^<{7} /m);
  if (at >= 0) {
    const place = document.positionAt(at);
    editor.selection = new vscode.Selection(place, place);
    editor.revealRange(new vscode.Range(place, place), vscode.TextEditorRevealType.InCenter);
  }
  return at >= 0;
}

/** Until the lane is rebased, both sides are in different commits; the user presses Enter. */
async function offerRebase(lane: LaneRow, path: string, branch: string): Promise<void> {
  const terminal = t("Open Terminal in Lane");
  const words = t("{0} has no conflict markers until the lane is rebased on {1}.", path, branch);
  if ((await vscode.window.showInformationMessage(words, terminal)) === terminal) {
    const opened = terminalIn(lane);
    opened.show();
    opened.sendText(`git rebase ${branch}`, false);
  }
}

function terminalIn(lane: LaneRow): vscode.Terminal {
  const name = t("Lane {0}", lane.lane);
  return vscode.window.createTerminal({ name, cwd: vscode.Uri.file(lane.worktree) });
}

async function showLog(
  { connection, files, logs }: Tools,
  folder: FolderSnapshot,
  { task }: LaneRow,
): Promise<void> {
  // Where a lane's journal is, only this answer says: the panel has it many times a second.
  const { lanes } = await connection.request("ralph/lanes", { workspace: folder.uri });
  const found = lanes?.rows.find((row) => row.task.id === task.id);
  if (found?.journal === undefined || found.run === undefined || found.start === undefined) {
    void vscode.window.showInformationMessage(t("No iteration has started yet."));
    return;
  }
  logs.follow(found.run, dirname(found.journal));
  await files.showLog(folder, found.run, found.start, { preserveFocus: true });
}

async function laneOf(
  folder: FolderSnapshot,
  target: Node | undefined,
  offer: LaneOffer,
  title: string,
): Promise<LaneRow | undefined> {
  if (target?.kind === "lane") {
    return target.row;
  }
  const rows = (folder.state?.panel?.lanes?.rows ?? []).filter((row) =>
    laneOffers(row).includes(offer),
  );
  if (rows.length === 0) {
    void vscode.window.showInformationMessage(t("No lane to choose from."));
    return undefined;
  }
  const [only] = rows;
  if (rows.length === 1) {
    return only;
  }
  const items = rows.map((row) => ({
    label: row.task.title,
    description: `${t("lane {0}", row.lane)} · ${row.words}`,
    row,
  }));
  return (await vscode.window.showQuickPick(items, { title }))?.row;
}

async function pickConflict(lane: LaneRow): Promise<string | undefined> {
  const [first, ...others] = conflictsOf(lane);
  if (others.length === 0) {
    return first;
  }
  const title = t("Open which file?");
  return await vscode.window.showQuickPick([...conflictsOf(lane)], { title });
}

/** Whether the work tree is still there; it is removed once the lane is merged. */
function isThere({ worktree }: LaneRow): boolean {
  const there = existsSync(worktree);
  if (!there) {
    void vscode.window.showInformationMessage(t("The lane is closed, and its folder is removed."));
  }
  return there;
}
