/**
 * Long texts of the set-up wizard in a separate editor.
 *
 * A draft is in memory and in the window's storage, never on the disk of the project: saving
 * it keeps it, closing it asks nothing, and reloading the window brings it back.
 */

import * as vscode from "vscode";

import { t } from "../l10n";
import { folderOfDraft, DRAFT_SCHEME } from "./draftUri";
import type { Draft } from "./state";

const NAMES: Readonly<Record<Draft, string>> = {
  description: "Task Description.md",
  plan: "Plan Items.md",
};

export class Drafts
  implements vscode.FileSystemProvider, vscode.CodeLensProvider, vscode.Disposable
{
  private readonly changed = new vscode.EventEmitter<vscode.FileChangeEvent[]>();
  readonly onDidChangeFile = this.changed.event;
  private readonly disposables: { dispose: () => unknown }[];

  constructor(private readonly memory: vscode.Memento) {
    this.disposables = [
      this.changed,
      vscode.workspace.registerFileSystemProvider(DRAFT_SCHEME, this, { isCaseSensitive: true }),
      vscode.languages.registerCodeLensProvider({ scheme: DRAFT_SCHEME }, this),
    ];
  }

  /** Show a text to be edited; what was there of it before is replaced. */
  async open(folder: string, draft: Draft, text: string): Promise<void> {
    const uri = draftUri(folder, draft);
    await this.memory.update(uri.toString(), text);
    this.changed.fire([{ type: vscode.FileChangeType.Changed, uri }]);
    const document = await vscode.workspace.openTextDocument(uri);
    await vscode.languages.setTextDocumentLanguage(document, "markdown");
    await vscode.window.showTextDocument(document, { preview: false });
  }

  /** The texts of a folder that are being edited; their editors are closed. */
  async take(folder: string): Promise<readonly { readonly draft: Draft; readonly text: string }[]> {
    const found: { readonly draft: Draft; readonly text: string }[] = [];
    for (const draft of ["description", "plan"] as const) {
      const uri = draftUri(folder, draft).toString();
      const document = vscode.workspace.textDocuments.find((open) => open.uri.toString() === uri);
      const tabs = vscode.window.tabGroups.all
        .flatMap((group) => group.tabs)
        .filter(({ input }) => {
          return input instanceof vscode.TabInputText && input.uri.toString() === uri;
        });
      const kept = this.memory.get<unknown>(uri);
      if (typeof kept !== "string") {
        continue;
      }
      // What was saved counts where its editor is closed already.
      const text = tabs.length === 0 ? kept : (document?.getText() ?? kept);
      // Saved first, since the editor asks about what is closed unsaved.
      await document?.save();
      await vscode.window.tabGroups.close(tabs);
      found.push({ draft, text });
      await this.memory.update(uri, undefined);
    }
    return found;
  }

  provideCodeLenses(document: vscode.TextDocument): vscode.CodeLens[] {
    const top = new vscode.Range(0, 0, 0, 0);
    const title = `$(check) ${t("Use This Text and Continue Setup")}`;
    return [
      new vscode.CodeLens(top, {
        ...{ title, command: "ralphLoop.setup" },
        arguments: [document.uri],
      }),
    ];
  }

  dispose(): void {
    for (const disposable of this.disposables) {
      disposable.dispose();
    }
  }

  // -------------------------------------------------------------------------- the files themselves

  stat(uri: vscode.Uri): vscode.FileStat {
    const size = this.readFile(uri).length;
    return { type: vscode.FileType.File, ctime: 0, mtime: Date.now(), size };
  }

  readFile(uri: vscode.Uri): Uint8Array {
    const text = this.memory.get<unknown>(uri.toString());
    if (typeof text !== "string") {
      throw vscode.FileSystemError.FileNotFound(uri);
    }
    return new TextEncoder().encode(text);
  }

  async writeFile(uri: vscode.Uri, content: Uint8Array): Promise<void> {
    if (folderOfDraft(uri) === undefined || typeof this.memory.get(uri.toString()) !== "string") {
      throw vscode.FileSystemError.NoPermissions(uri);
    }
    await this.memory.update(uri.toString(), new TextDecoder().decode(content));
  }

  watch(): vscode.Disposable {
    return new vscode.Disposable(() => undefined);
  }

  readDirectory(): [string, vscode.FileType][] {
    return [];
  }

  createDirectory(uri: vscode.Uri): void {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  delete(uri: vscode.Uri): void {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  rename(uri: vscode.Uri): void {
    throw vscode.FileSystemError.NoPermissions(uri);
  }
}

function draftUri(folder: string, draft: Draft): vscode.Uri {
  return vscode.Uri.from({ scheme: DRAFT_SCHEME, path: `/${NAMES[draft]}`, query: folder });
}
