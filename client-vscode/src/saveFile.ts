/** Saves what was exported where the user wants it; a folder is proposed. */

import * as vscode from "vscode";

import { t } from "./l10n";
import type { ExportedFile } from "./webview/dashboard/messages";

/** The file's address; none where the user cancelled. */
export async function saveFile(
  { name, text, base64 }: Omit<ExportedFile, "type">,
  folder: vscode.Uri | undefined,
): Promise<vscode.Uri | undefined> {
  const uri = await vscode.window.showSaveDialog({
    ...(folder === undefined ? {} : { defaultUri: vscode.Uri.joinPath(folder, name) }),
    title: t("Save the figures"),
  });
  if (uri !== undefined) {
    await vscode.workspace.fs.writeFile(uri, Buffer.from(text, base64 ? "base64" : "utf8"));
  }
  return uri;
}
