/** What a command says while there is no server: why, and what helps. */

import * as vscode from "vscode";

import type { ServerHealth } from "../state/snapshot";

export async function askServer(health: ServerHealth): Promise<void> {
  switch (health.kind) {
    case "ok":
      break;
    case "starting":
      void vscode.window.showInformationMessage(
        "Ralph's server is starting; try again in a moment.",
      );
      break;
    case "installing":
      void vscode.window.showInformationMessage(`Ralph is being set up: ${health.step}.`);
      break;
    case "missing": {
      const install = health.remedy === "install" ? ["Install…"] : [];
      const other = health.remedy === "setting" ? "Open Settings" : "Select Python…";
      await offer(health.why, [...install, other, "Show Output"]);
      break;
    }
    case "failed":
      await offer(`Ralph's server does not run: ${health.why}.`, ["Restart Server", "Show Output"]);
      break;
  }
}

const COMMANDS: Readonly<Record<string, string>> = {
  "Install…": "ralphLoop.installServer",
  "Select Python…": "ralphLoop.selectPython",
  "Restart Server": "ralphLoop.restartServer",
  "Show Output": "ralphLoop.showOutput",
  "Open Settings": "workbench.action.openSettings",
};

async function offer(why: string, titles: readonly string[]): Promise<void> {
  const picked = await vscode.window.showErrorMessage(why, ...titles);
  const command = picked === undefined ? undefined : COMMANDS[picked];
  if (command !== undefined) {
    // Only the settings take it: as what is looked for in them.
    await vscode.commands.executeCommand(command, "ralphLoop.server");
  }
}
