/** Undoes iterations: previews, then asks; a refusal is shown as it is. */

import * as vscode from "vscode";

import type { RollbackResult } from "../generated/protocol";
import { t } from "../l10n";
import type { Connection } from "../server/connection";
import type { FolderSnapshot } from "../state/snapshot";
import { doneWords, stepOf, type Question } from "./rollbackModel";

export class Rollback {
  constructor(
    private readonly connection: Connection,
    private readonly showError: (
      text: string,
      code: string,
      folder: FolderSnapshot,
    ) => Promise<void>,
  ) {}

  /** Take the branch back to before the iteration, if the user still wants to. */
  async ask(folder: FolderSnapshot, run: string | undefined, start: number): Promise<void> {
    const ask = (force: boolean, dryRun: boolean): Promise<RollbackResult> =>
      this.connection.request("ralph/rollback", {
        workspace: folder.uri,
        ...(run === undefined ? {} : { run }),
        start,
        force,
        dryRun,
      });
    let force = false;
    let step = stepOf(await ask(force, true));
    if (step.kind === "foreign" && (await agrees(step))) {
      force = true;
      step = stepOf(await ask(force, true));
    }
    if (step.kind === "refused") {
      void this.showError(step.text, step.code, folder);
    } else if (step.kind === "confirm" && (await agrees(step))) {
      // Not awaited: it stays until the user dismisses it.
      void this.report(await ask(force, false), folder);
    }
  }

  private async report(result: RollbackResult, folder: FolderSnapshot): Promise<void> {
    const { done, refused, forcePush } = result;
    if (!done) {
      void this.showError(
        refused?.message ?? t("Nothing was undone."),
        refused?.code ?? "",
        folder,
      );
      return;
    }
    const copy = t("Copy Push Command");
    const buttons = forcePush === undefined ? [] : [copy];
    const picked = await vscode.window.showInformationMessage(doneWords(result), ...buttons);
    if (picked === copy && forcePush !== undefined) {
      await vscode.env.clipboard.writeText(forcePush);
    }
  }
}

/** Destruction that the user asked for is confirmed; Escape means no. */
async function agrees({ title, detail, button }: Question): Promise<boolean> {
  const options = { modal: true, detail };
  return (await vscode.window.showWarningMessage(title, options, button)) === button;
}
