/**
 * The demo: the sample project, opened in VS Code with its loop running.
 *
 * The window that asked for it may not be the one that shows it, so what is to be started is kept in
 * the extension's own memory: a folder cannot say by itself that it is the demo.
 */

import { realpathSync } from "node:fs";

import * as vscode from "vscode";

import type { Connection } from "../server/connection";
import { isSetUp, type FolderSnapshot } from "../state/snapshot";
import type { Store } from "../state/store";
import type { Files } from "./files";
import type { Orders } from "./orders";

const PENDING = "demo.pending";

/** Milliseconds within which the folder has to be opened. */
const PENDING_FOR = 30 * 60_000;

interface Pending {
  readonly folder: string;
  readonly at: number;
}

export class Demo implements vscode.Disposable {
  private listening: { dispose: () => void } | undefined;

  constructor(
    private readonly memory: vscode.Memento,
    private readonly store: Store,
    private readonly connection: Connection,
    private readonly orders: Orders,
    private readonly files: Files,
  ) {}

  /** Write the sample project and open it; in this window where it is empty. */
  async open(): Promise<void> {
    const { folder } = await this.connection.request("ralph/demo", {});
    const pending: Pending = { folder, at: Date.now() };
    await this.memory.update(PENDING, pending);
    const isEmpty = (vscode.workspace.workspaceFolders ?? []).length === 0;
    const options = isEmpty ? { forceReuseWindow: true } : { forceNewWindow: true };
    await vscode.commands.executeCommand("vscode.openFolder", vscode.Uri.file(folder), options);
  }

  /** Start the loop where this window is the one that was opened for it. */
  resume(): void {
    const pending = this.memory.get<Pending>(PENDING);
    if (pending === undefined) {
      return;
    }
    const isHere = (vscode.workspace.workspaceFolders ?? []).some(
      ({ uri }) => realOf(uri.fsPath) === realOf(pending.folder),
    );
    if (Date.now() - pending.at > PENDING_FOR) {
      void this.memory.update(PENDING, undefined);
    } else if (isHere) {
      void vscode.commands.executeCommand("ralphLoop.loop.focus");
      this.listening = this.store.onDidChange(({ trusted, server, folders }) => {
        const folder = folders[0];
        if (trusted && server.kind === "ok" && folder !== undefined && isSetUp(folder)) {
          this.dispose();
          void this.start(folder);
        }
      });
    }
  }

  dispose(): void {
    this.listening?.dispose();
    this.listening = undefined;
  }

  private async start(folder: FolderSnapshot): Promise<void> {
    await this.memory.update(PENDING, undefined);
    await this.files.openPlan(folder);
    if (folder.state?.run === undefined) {
      await this.orders.start(folder, {});
    }
  }
}

function realOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
