/**
 * The dashboard in an editor tab: hands the page its figures, and saves what it exports.
 *
 * One tab a window. Figures are asked for when the page listens, and again after something of a run
 * has changed while the tab is seen; the page draws them.
 */

import { randomBytes } from "node:crypto";

import * as vscode from "vscode";

import { t } from "./l10n";
import type { Connection } from "./server/connection";
import { saveFile } from "./saveFile";
import { runsMark } from "./state/snapshot";
import type { Store } from "./state/store";
import type { FromDashboard, ToDashboard } from "./webview/dashboard/messages";
import { dashboardHtml } from "./webview/html";

export const DASHBOARD = "ralphLoop.dashboard";

/** Milliseconds between two requests for figures at least. */
const INTERVAL = 2000;

export class DashboardPanel implements vscode.WebviewPanelSerializer, vscode.Disposable {
  private panel: vscode.WebviewPanel | undefined;
  private isReady = false;
  private isAsking = false;
  /** What of the runs the figures on the page are of. */
  private shown = "";
  private timer: NodeJS.Timeout | undefined;
  private readonly listening: { dispose: () => void };

  constructor(
    private readonly media: vscode.Uri,
    private readonly store: Store,
    private readonly connection: Connection,
    private readonly log: vscode.LogOutputChannel,
  ) {
    this.listening = store.onDidChange(() => {
      this.later();
    });
  }

  /** Open the tab, or show the one that there is. */
  open(): void {
    if (this.panel !== undefined) {
      this.panel.reveal();
      return;
    }
    this.adopt(
      vscode.window.createWebviewPanel(DASHBOARD, t("Ralph Dashboard"), vscode.ViewColumn.Active),
    );
  }

  deserializeWebviewPanel(panel: vscode.WebviewPanel): Thenable<void> {
    this.panel?.dispose();
    this.adopt(panel);
    return Promise.resolve();
  }

  dispose(): void {
    this.listening.dispose();
    clearTimeout(this.timer);
    this.panel?.dispose();
  }

  private adopt(panel: vscode.WebviewPanel): void {
    this.panel = panel;
    this.isReady = false;
    this.shown = "";
    const { webview } = panel;
    const file = (name: string): string =>
      webview.asWebviewUri(vscode.Uri.joinPath(this.media, name)).toString();
    panel.iconPath = {
      light: vscode.Uri.joinPath(this.media, "tab-light.svg"),
      dark: vscode.Uri.joinPath(this.media, "tab-dark.svg"),
    };
    webview.options = { enableScripts: true, localResourceRoots: [this.media] };
    webview.onDidReceiveMessage((message: FromDashboard) => {
      void this.receive(message);
    });
    panel.onDidChangeViewState(() => {
      // A page that is shown again is a new one, and says so when it listens.
      this.isReady = this.isReady && panel.visible;
      this.shown = "";
    });
    panel.onDidDispose(() => {
      if (this.panel === panel) {
        this.panel = undefined;
        this.isReady = false;
      }
    });
    webview.html = dashboardHtml({
      cspSource: webview.cspSource,
      nonce: randomBytes(16).toString("hex"),
      scriptUri: file("dashboard.js"),
      styleUri: file("dashboard.css"),
      language: vscode.env.language,
      words: vscode.l10n.bundle ?? {},
    });
  }

  private async receive(message: FromDashboard): Promise<void> {
    switch (message.type) {
      case "ready":
        this.isReady = true;
        this.shown = "";
        await this.update();
        break;
      case "save":
        await saveFile(message.file, vscode.workspace.workspaceFolders?.[0]?.uri);
        break;
    }
  }

  /** Ask again soon, where something changed; what comes in between is one request. */
  private later(): void {
    if (this.isReady && this.timer === undefined && runsMark(this.store.snapshot) !== this.shown) {
      this.timer = setTimeout(() => {
        this.timer = undefined;
        void this.update();
      }, INTERVAL);
    }
  }

  private async update(): Promise<void> {
    const state = runsMark(this.store.snapshot);
    const isServed = this.store.snapshot.server.kind === "ok";
    if (!this.isReady || !isServed || this.isAsking || state === this.shown) {
      return;
    }
    this.isAsking = true;
    try {
      const figures = await this.connection.request("ralph/dashboard", {});
      const message: ToDashboard = { type: "figures", figures };
      await this.panel?.webview.postMessage(message);
      this.shown = state;
    } catch (error) {
      this.log.error(error instanceof Error ? error : String(error));
    } finally {
      this.isAsking = false;
    }
  }
}
