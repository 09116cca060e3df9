/** What a command does while nobody would carry it out: it waits for what comes, or says why not. */

import * as vscode from "vscode";

import { t } from "../l10n";
import type { ServerHealth } from "../state/snapshot";
import type { Store } from "../state/store";

/** The server's health once it is neither starting nor being installed, with progress until then. */
export async function whenServed(store: Store): Promise<ServerHealth> {
  const isComing = ({ kind }: ServerHealth): boolean =>
    kind === "starting" || kind === "installing";
  const { server } = store.snapshot;
  if (!isComing(server)) {
    return server;
  }
  return await vscode.window.withProgress(
    { location: vscode.ProgressLocation.Window, title: t("Ralph: starting") },
    () =>
      new Promise<ServerHealth>((resolve) => {
        const listening = store.onDidChange((after) => {
          if (!isComing(after.server)) {
            listening.dispose();
            resolve(after.server);
          }
        });
      }),
  );
}

/** In a folder that is not trusted. */
export async function askTrust(): Promise<void> {
  const title = t("Manage Trust");
  const picked = await vscode.window.showWarningMessage(
    t(
      "This folder is not trusted: plans and runs are shown, but nothing can be started or changed.",
    ),
    title,
  );
  if (picked === title) {
    await vscode.commands.executeCommand("workbench.trust.manage");
  }
}
