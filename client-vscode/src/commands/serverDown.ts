/** What a command says while nobody would carry it out: why, and what helps. */

import * as vscode from "vscode";

import { t } from "../l10n";
import type { ServerHealth } from "../state/snapshot";
import { noticeOfServer } from "../state/notice";
import type { PageCommand } from "../webview/messages";

/** While there is no server. */
export async function askServer(health: ServerHealth): Promise<void> {
  switch (health.kind) {
    case "ok":
      break;
    case "starting":
      void vscode.window.showInformationMessage(
        t("Ralph's server is starting. Try again in a moment."),
      );
      break;
    case "installing":
      void vscode.window.showInformationMessage(t("Ralph is being set up: {0}.", health.step));
      break;
    case "missing":
    case "failed": {
      // The same words and buttons as in the Loop view.
      const { text, buttons } = noticeOfServer(health, false);
      await offer(text, buttons);
      break;
    }
  }
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

async function offer(
  why: string,
  buttons: readonly { readonly title: string; readonly command: PageCommand }[],
): Promise<void> {
  const picked = await vscode.window.showErrorMessage(why, ...buttons.map(({ title }) => title));
  const command = buttons.find(({ title }) => title === picked)?.command;
  if (command === "serverSettings") {
    await vscode.commands.executeCommand("workbench.action.openSettings", "ralphLoop.server");
  } else if (command !== undefined) {
    await vscode.commands.executeCommand(`ralphLoop.${command}`);
  }
}
