/**
 * The Loop view's host: puts the page in place, hands it pictures, and obeys a closed list of asks.
 *
 * It must never draw anything itself, nor pass on what a page says without looking at it.
 */

import { randomBytes } from "node:crypto";

import * as vscode from "vscode";

import type { Message, MessagesParams, Verb } from "./generated/protocol";
import type { OtherWay } from "./server/setUp";
import { loopSnapshot } from "./state/loopSnapshot";
import { shownFolder, type Snapshot } from "./state/snapshot";
import type { Store } from "./state/store";
import type { Described } from "./webview/firstUse";
import { loopHtml } from "./webview/html";
import { readFromPage, type PageCommand, type ToPage } from "./webview/messages";

/** What the page's buttons do. */
export interface LoopOrders {
  act(verb: Verb, workspace: string, given: Readonly<Record<string, unknown>>): Promise<void>;
  command(command: PageCommand | OtherWay): Promise<void>;
  /** Open the file of a claim that is shown. */
  openClaim(key: string): Promise<void>;
  /** Set up and start the first loop of a folder. */
  begin(workspace: string, described: Described): Promise<void>;
}

/** Messages of one run that are kept for a page that comes later; it shows the last twenty lines. */
const KEPT = 100;

interface Said {
  readonly run: string;
  readonly messages: readonly Message[];
}

export class LoopView implements vscode.WebviewViewProvider, vscode.Disposable {
  private view: vscode.WebviewView | undefined;
  private isReady = false;
  private shown: string | undefined;
  private readonly output = new Map<string, Said>();
  private readonly listening: { dispose: () => void };

  constructor(
    private readonly media: vscode.Uri,
    private readonly store: Store,
    private readonly orders: LoopOrders,
    /** Notified whether the user prefers reduced motion. */
    private readonly onReducedMotion: (reducedMotion: boolean) => void,
  ) {
    this.listening = store.onDidChange((after) => {
      this.update(after);
    });
  }

  resolveWebviewView(view: vscode.WebviewView): void {
    this.view = view;
    this.isReady = false;
    const { webview } = view;
    webview.options = { enableScripts: true, localResourceRoots: [this.media] };
    webview.onDidReceiveMessage((value: unknown) => {
      this.receive(value);
    });
    view.onDidDispose(() => {
      this.view = undefined;
      this.isReady = false;
    });
    view.onDidChangeVisibility(() => {
      // A page that is shown again is a new one, and says so when it listens.
      this.isReady = this.isReady && view.visible;
    });
    webview.html = loopHtml({
      cspSource: webview.cspSource,
      nonce: randomBytes(16).toString("hex"),
      scriptUri: this.fileOf(webview, "loop.js"),
      styleUri: this.fileOf(webview, "loop.css"),
      language: vscode.env.language,
      words: vscode.l10n.bundle ?? {},
    });
  }

  /** Show it; the keyboard stays where it is if the view was shown before. */
  async reveal(): Promise<void> {
    if (this.view === undefined) {
      await vscode.commands.executeCommand("ralphLoop.loop.focus");
    } else {
      this.view.show(true);
    }
  }

  /** The agent said something. */
  hear({ workspace, run, messages }: MessagesParams): void {
    const before = this.output.get(workspace);
    const kept = before?.run === run ? before.messages : [];
    this.output.set(workspace, { run, messages: [...kept, ...messages].slice(-KEPT) });
    if (workspace === this.shown) {
      this.post({ type: "messages", workspace, run, messages });
    }
  }

  /** A subscription begins, and what was said last comes once more. */
  forget(workspace: string): void {
    this.output.delete(workspace);
    if (workspace === this.shown) {
      this.postSaid(workspace);
    }
  }

  dispose(): void {
    this.listening.dispose();
  }

  private receive(value: unknown): void {
    const message = readFromPage(value);
    switch (message?.type) {
      case "ready":
        this.isReady = true;
        this.onReducedMotion(message.reducedMotion);
        this.shown = undefined;
        this.update(this.store.snapshot);
        break;
      case "act":
        void this.orders.act(message.verb, message.workspace, message.arguments);
        break;
      case "command":
        void this.orders.command(message.command);
        break;
      case "show":
        // A page may ask for any: only a folder of this window can be shown.
        this.store.apply({ kind: "chosen", uri: message.workspace });
        break;
      case "claim":
        void this.orders.openClaim(message.key);
        break;
      case "begin":
        void this.orders.begin(message.workspace, message.described);
        break;
      case undefined:
        break;
    }
  }

  private update(snapshot: Snapshot): void {
    const folder = shownFolder(snapshot);
    if (!this.isReady) {
      return;
    }
    this.post({ type: "snapshot", snapshot: loopSnapshot(snapshot, folder) });
    if (folder === undefined) {
      this.shown = undefined;
    } else if (this.shown !== folder.uri) {
      this.shown = folder.uri;
      this.postSaid(folder.uri);
    }
  }

  /** All that is kept, in place of what the page remembers. */
  private postSaid(workspace: string): void {
    // The messages of no run: a page begins a new list for another run.
    this.post({ type: "messages", workspace, run: "", messages: [] });
    const output = this.output.get(workspace);
    if (output !== undefined) {
      this.post({ type: "messages", workspace, ...output });
    }
  }

  private post(message: ToPage): void {
    if (this.isReady) {
      void this.view?.webview.postMessage(message);
    }
  }

  private fileOf(webview: vscode.Webview, name: string): string {
    return webview.asWebviewUri(vscode.Uri.joinPath(this.media, name)).toString();
  }
}
