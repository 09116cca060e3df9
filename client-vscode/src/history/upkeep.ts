/** Archives, prunes and replans: shows what would happen, and asks before it does. */

import * as vscode from "vscode";

import type { Upkeep } from "../generated/protocol";
import { t } from "../l10n";
import type { Connection } from "../server/connection";
import type { FolderSnapshot } from "../state/snapshot";

/** Tidy up, if the user agrees to what a dry run shows; rejects with the server's refusal. */
export async function tidy(
  connection: Connection,
  folder: FolderSnapshot,
  what: Upkeep,
): Promise<void> {
  const workspace = folder.uri;
  const planned = await connection.request("ralph/maintain", { workspace, what, dryRun: true });
  const detail = planned.text.trim();
  if (planned.nothing) {
    void vscode.window.showInformationMessage(lastLine(detail));
    return;
  }
  const [title, button] =
    what === "archive"
      ? [t("Archive finished plans and progress?"), t("Archive")]
      : [t("Delete the output of old runs? Their figures stay."), t("Delete Output")];
  const options = { modal: true, detail };
  if ((await vscode.window.showWarningMessage(title, options, button)) === button) {
    const done = await connection.request("ralph/maintain", { workspace, what, dryRun: false });
    void vscode.window.showInformationMessage(
      what === "archive" ? firstLine(done.text) : lastLine(done.text),
    );
  }
}

/** Whether the user wants the plan rewritten. */
export async function agreesToReplan(folder: FolderSnapshot): Promise<boolean> {
  const button = t("Rewrite Plan");
  const detail = t(
    "The first iteration rewrites {0}: open tasks may change, and tasks in progress are open again. Then the loop works on it.",
    folder.state?.plan.path ?? "",
  );
  const options = { modal: true, detail };
  const title = t("Rewrite the plan, then run the loop?");
  return (await vscode.window.showWarningMessage(title, options, button)) === button;
}

function firstLine(text: string): string {
  return (text.trim().split("\n")[0] ?? "").replace(/:$/, "");
}

function lastLine(text: string): string {
  return text.trim().split("\n").at(-1) ?? "";
}
