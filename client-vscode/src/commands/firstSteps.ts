/**
 * The user's first steps in a folder: describe a loop and start it, and allow what it would run.
 *
 * What is written and whether it may run the server decides; here its answers become cards.
 */

import * as vscode from "vscode";

import type { ClaimView, SetupParams } from "../generated/protocol";
import { t } from "../l10n";
import { toRefusal, type Connection } from "../server/connection";
import { initRepository } from "../server/git";
import { runDefaults } from "../settings";
import { folderOf, isFresh, type FolderSnapshot } from "../state/snapshot";
import type { Store } from "../state/store";
import { BUDGETS, type Described } from "../webview/firstUse";
import type { Files } from "./files";
import type { Orders } from "./orders";

export class FirstSteps implements vscode.Disposable {
  /** Folders whose choices are being asked for, or could not be had. */
  private readonly asked = new Set<string>();
  private readonly listening: { dispose: () => void };

  constructor(
    private readonly store: Store,
    private readonly connection: Connection,
    private readonly orders: Orders,
    private readonly files: Files,
    private readonly log: vscode.LogOutputChannel,
  ) {
    this.listening = store.onDidChange(({ server, trusted, folders }, before) => {
      if (server.kind !== "ok" || !trusted) {
        this.asked.clear();
        return;
      }
      if (before.server.kind !== "ok") {
        this.asked.clear();
      }
      for (const folder of folders.filter(isFresh)) {
        void this.findAgents(folder);
      }
    });
  }

  dispose(): void {
    this.listening.dispose();
  }

  /** Write plan and configuration from what was described, and start the loop. */
  async begin(uri: string, { description, agent, budget }: Described): Promise<void> {
    const folder = folderOf(this.store.snapshot, uri);
    if (folder === undefined || this.store.snapshot.beginning !== undefined) {
      return;
    }
    this.store.apply({ kind: "beginning", uri });
    try {
      const params: SetupParams = {
        workspace: uri,
        description,
        itemsFromDescription: true,
        ...(agent === "" ? {} : { agent }),
        ...BUDGETS[budget],
        dryRun: false,
      };
      const { files } = await this.connection.request("ralph/setup", params);
      this.log.info(`set up: ${files.map(({ path, action }) => `${action} ${path}`).join(", ")}`);
      await this.orders.start(folder, {});
    } catch (error) {
      await this.orders.refuse(folder, error);
    } finally {
      this.store.apply({ kind: "beginning", uri: undefined });
    }
  }

  /** Make the folder a git repository; nothing is committed. */
  async initRepository({ uri }: FolderSnapshot): Promise<void> {
    const open = (vscode.workspace.workspaceFolders ?? []).map((each) => each.uri.fsPath);
    await initRepository(vscode.Uri.parse(uri).fsPath, open);
    this.store.apply({ kind: "refused", refusal: undefined });
    await this.connection.subscribeAll();
  }

  /** Approve exactly what the card shows, and do what was refused. */
  async allowAndStart(): Promise<void> {
    const { refusal } = this.store.snapshot;
    if (refusal?.claims === undefined) {
      return;
    }
    const folder = folderOf(this.store.snapshot, refusal.uri);
    if (folder === undefined) {
      return;
    }
    try {
      await this.connection.request("ralph/allow", {
        workspace: refusal.uri,
        shown: refusal.claims.digest,
      });
    } catch (error) {
      const { code, message } = toRefusal(error);
      this.log.warn(`ralph/allow: ${message}`);
      if (code === "not-allowed") {
        void vscode.window.showWarningMessage(
          t("The commands changed while they were shown. Look at them again."),
        );
      }
      await this.orders.refuse(folder, error);
      return;
    }
    await this.orders.retry();
  }

  /** Open the file of a claim that the card shows, or the settings that it is in. */
  async openClaim(key: string): Promise<void> {
    const { refusal } = this.store.snapshot;
    const claim = refusal?.claims?.claims.find((each) => each.key === key);
    const folder = folderOf(this.store.snapshot, refusal?.uri);
    if (claim !== undefined && folder !== undefined) {
      await this.open(folder, claim);
    }
  }

  private async open(folder: FolderSnapshot, { key, path }: ClaimView): Promise<void> {
    if (path !== undefined) {
      await this.files.showFile(folder, path);
    } else if (key.startsWith("verify: ")) {
      await this.files.openPlan(folder);
    } else {
      await this.files.openConfig(folder);
    }
  }

  /** The agents on this machine, for the form. */
  private async findAgents({ uri, choices }: FolderSnapshot): Promise<void> {
    if (choices !== undefined || this.asked.has(uri)) {
      return;
    }
    this.asked.add(uri);
    try {
      const found = await this.connection.request("ralph/setupChoices", { workspace: uri });
      const { agent } = runDefaults(uri);
      const defaults = agent === "" ? found.defaults : { ...found.defaults, agent };
      this.store.apply({ kind: "choices", uri, choices: { ...found, defaults } });
    } catch (error) {
      this.log.warn(`ralph/setupChoices: ${toRefusal(error).message}`);
    }
  }
}
