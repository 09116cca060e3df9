/**
 * What a verb prints, as a read-only document: a report, a check, an iteration whole.
 *
 * The address names what is shown, so that an editor that is opened again after a reload can ask
 * for it again.
 */

import * as vscode from "vscode";

import type { InspectParams } from "../generated/protocol";
import { t } from "../l10n";
import type { Connection } from "../server/connection";
import type { FolderSnapshot } from "../state/snapshot";
import { servedAgain, type Store } from "../state/store";

export const VERB_SCHEME = "ralph-verb";

/** What is asked for, beside its folder. */
export type Asked = Omit<InspectParams, "workspace">;

export class VerbTexts implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changed.event;
  /** What was printed last, by address. */
  private readonly printed = new Map<string, string>();
  private readonly closing: vscode.Disposable;

  constructor(
    private readonly store: Store,
    private readonly connection: Connection,
  ) {
    this.closing = vscode.workspace.onDidCloseTextDocument(({ uri }) => {
      this.printed.delete(uri.toString());
    });
  }

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const known = this.printed.get(uri.toString());
    if (known !== undefined) {
      return known;
    }
    await servedAgain(this.store);
    const { text } = await this.connection.request(
      "ralph/inspect",
      JSON.parse(uri.query) as InspectParams,
    );
    return text;
  }

  /** Ask for a text and show it under this title; rejects with the server's refusal. */
  async show(folder: FolderSnapshot, asked: Asked, title: string): Promise<void> {
    const isPage = asked.what === "report";
    const uri = vscode.Uri.from({
      scheme: VERB_SCHEME,
      path: `/${title}${isPage ? ".md" : ".txt"}`,
      query: JSON.stringify({ workspace: folder.uri, ...asked }),
    });
    this.printed.set(uri.toString(), await this.text(folder, asked, title));
    this.changed.fire(uri);
    const document = await vscode.workspace.openTextDocument(uri);
    if (isPage && vscode.extensions.getExtension("vscode.markdown-language-features")) {
      await vscode.commands.executeCommand("markdown.showPreview", uri);
    } else {
      await vscode.window.showTextDocument(document, { preview: true });
    }
  }

  /** The text alone; the window's status bar says that it is being made. */
  async text(folder: FolderSnapshot, asked: Asked, title: string): Promise<string> {
    return await vscode.window.withProgress(
      { location: vscode.ProgressLocation.Window, title: t("Ralph: {0}", title) },
      async () => {
        const params = { workspace: folder.uri, ...asked };
        return (await this.connection.request("ralph/inspect", params)).text;
      },
    );
  }

  dispose(): void {
    this.closing.dispose();
    this.changed.dispose();
  }
}
