/** Runs `ralph` where the user sees it and can type: as a task, by arguments and without a shell. */

import * as vscode from "vscode";

import type { Terminals } from "./commands/orders";
import { t } from "./l10n";
import type { Connection } from "./server/connection";
import { absoluteSearchPath } from "./server/isolated";

export class RalphTerminals implements Terminals {
  constructor(private readonly connection: Connection) {}

  async run(title: string, words: readonly string[], folder?: vscode.Uri): Promise<void> {
    const cli = this.connection.found?.cli;
    if (cli === undefined) {
      void vscode.window.showErrorMessage(
        t(
          "The ralph program was not found next to the server. Run this in a terminal: {0}",
          ["ralph", ...words].join(" "),
        ),
      );
      return;
    }
    const options = {
      ...(folder === undefined ? {} : { cwd: folder.fsPath }),
      env: { PYTHONPATH: absoluteSearchPath(process.env["PYTHONPATH"]) },
    };
    const task = new vscode.Task(
      { type: "ralphLoop" },
      folder === undefined
        ? vscode.TaskScope.Global
        : (vscode.workspace.getWorkspaceFolder(folder) ?? vscode.TaskScope.Workspace),
      title,
      "Ralph",
      new vscode.ProcessExecution(cli.command, [...cli.args, ...words], options),
      [],
    );
    // It stays open when it ends, so that what it said can be read.
    task.presentationOptions = {
      reveal: vscode.TaskRevealKind.Always,
      focus: true,
      panel: vscode.TaskPanelKind.Dedicated,
      echo: false,
    };
    await vscode.tasks.executeTask(task);
  }
}
