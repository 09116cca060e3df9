/** Shows what an iteration changed in VS Code's own diff editor, and its commit in that of Git. */

import * as vscode from "vscode";

import type { ChangesResult } from "../generated/protocol";
import { t } from "../l10n";
import type { Connection } from "../server/connection";
import type { FolderSnapshot } from "../state/snapshot";
import { diffsOf, titleOf, type Diff, type Side } from "./changesModel";
import { gitUri } from "./gitDocuments";

export class Changes {
  constructor(
    private readonly connection: Connection,
    private readonly log: vscode.LogOutputChannel,
  ) {}

  /** The iteration's files, each as it was before and is after it. */
  async show(folder: FolderSnapshot, run: string | undefined, start: number): Promise<void> {
    const changes = await this.connection.request("ralph/changes", {
      workspace: folder.uri,
      ...(run === undefined ? {} : { run }),
      start,
    });
    const diffs = diffsOf(changes);
    const [first, ...others] = diffs;
    if (first === undefined) {
      void vscode.window.showInformationMessage(
        t("Iteration {0} changed no files.", changes.iteration),
      );
    } else if (others.length === 0) {
      await showOne(folder, changes, first);
    } else {
      const rows = diffs.map(({ path, left, right }) => [
        vscode.Uri.joinPath(rootOf(folder), path),
        left === undefined ? undefined : toUri(folder, left),
        right === undefined ? undefined : toUri(folder, right),
      ]);
      await vscode.commands.executeCommand("vscode.changes", titleOf(changes), rows);
    }
  }

  /** A commit, as Git's own view of the window shows it; else what its iteration changed. */
  async openCommit(
    folder: FolderSnapshot,
    run: string | undefined,
    start: number,
    commit: string,
  ): Promise<void> {
    if (!(await this.viewInGit(rootOf(folder), commit))) {
      await this.show(folder, run, start);
    }
  }

  private async viewInGit(root: vscode.Uri, commit: string): Promise<boolean> {
    const extension = vscode.extensions.getExtension<GitExtension>("vscode.git");
    if (extension === undefined) {
      return false;
    }
    try {
      const git = await extension.activate();
      const commands = await vscode.commands.getCommands(true);
      // It throws where Git is switched off, and knows no repository outside the window's folders.
      if (git.getAPI(1).getRepository(root) === null || !commands.includes(VIEW_COMMIT)) {
        return false;
      }
      await vscode.commands.executeCommand(VIEW_COMMIT, root, commit);
      return true;
    } catch (error) {
      this.log.info(`the Git extension does not show ${commit}: ${String(error)}`);
      return false;
    }
  }
}

const VIEW_COMMIT = "git.viewCommit";

/** As much of VS Code's own Git extension as is asked for. */
interface GitExtension {
  getAPI(version: 1): { getRepository(uri: vscode.Uri): unknown };
}

async function showOne(
  folder: FolderSnapshot,
  changes: ChangesResult,
  { path, left, right }: Diff,
): Promise<void> {
  // Here both sides are needed: one that is not there is empty.
  const uriOf = (side: Side | undefined): vscode.Uri =>
    side === undefined ? gitUri(folder.uri, undefined, path) : toUri(folder, side);
  const options: vscode.TextDocumentShowOptions = { preview: true };
  const title = titleOf(changes);
  await vscode.commands.executeCommand("vscode.diff", uriOf(left), uriOf(right), title, options);
}

function toUri(folder: FolderSnapshot, side: Side): vscode.Uri {
  return side.kind === "disk"
    ? vscode.Uri.joinPath(rootOf(folder), side.path)
    : gitUri(folder.uri, side.commit, side.path);
}

/** The work tree that the folder is in: paths are relative to it. */
function rootOf(folder: FolderSnapshot): vscode.Uri {
  const root = folder.state?.run?.workspace;
  return root === undefined ? vscode.Uri.parse(folder.uri) : vscode.Uri.file(root);
}
