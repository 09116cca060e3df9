/** Opens the loop in plain sentences as a read-only document; what it says comes from `asText`. */

import * as vscode from "vscode";

import { answersAsText } from "./asText";
import type { Store } from "./state/store";

export const TEXT_SCHEME = "ralph-text";

const ADDRESS = vscode.Uri.from({ scheme: TEXT_SCHEME, path: "/Ralph Loop.txt" });

export class TextDocument implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changed.event;

  constructor(private readonly store: Store) {}

  provideTextDocumentContent(): string {
    return answersAsText(this.store.snapshot, Date.now());
  }

  /** Show it as it is now; while it is read it stays as it is. */
  async open(): Promise<void> {
    this.changed.fire(ADDRESS);
    const document = await vscode.workspace.openTextDocument(ADDRESS);
    await vscode.window.showTextDocument(document, { preview: true });
  }

  dispose(): void {
    this.changed.dispose();
  }
}
