/** What the set-up would write, as documents to be read before anything is written. */

import * as vscode from "vscode";

import type { SetupFile } from "../generated/protocol";
import { t } from "../l10n";

const PREVIEW_SCHEME = "ralph-preview";

/** Files as they would be, to be read and not to be changed. */
export class Previews implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changed.event;
  private readonly texts = new Map<string, string>();
  private readonly registered: vscode.Disposable;

  constructor() {
    this.registered = vscode.workspace.registerTextDocumentContentProvider(PREVIEW_SCHEME, this);
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.texts.get(uri.toString()) ?? t("Setup was finished or cancelled.\n");
  }

  /** One file: beside what is there now, where it changes. */
  async show(folder: string, { path, action, text }: SetupFile): Promise<void> {
    const after = this.put(folder, path, text);
    const options = { preserveFocus: true, preview: true };
    if (action === "change") {
      const before = vscode.Uri.joinPath(vscode.Uri.parse(folder), path);
      const title = t("{0} (preview)", path);
      await vscode.commands.executeCommand("vscode.diff", before, after, title, options);
    } else {
      await vscode.window.showTextDocument(await this.document(after), options);
    }
  }

  /** All files one after the other. */
  async showAll(folder: string, text: string): Promise<void> {
    const document = await this.document(this.put(folder, t("Dry Run.md"), text));
    await vscode.window.showTextDocument(document, { preserveFocus: true, preview: true });
  }

  dispose(): void {
    this.registered.dispose();
    this.changed.dispose();
  }

  private put(folder: string, path: string, text: string): vscode.Uri {
    const uri = vscode.Uri.from({ scheme: PREVIEW_SCHEME, path: `/${path}`, query: folder });
    this.texts.set(uri.toString(), text);
    this.changed.fire(uri);
    return uri;
  }

  private async document(uri: vscode.Uri): Promise<vscode.TextDocument> {
    return await vscode.workspace.openTextDocument(uri);
  }
}
