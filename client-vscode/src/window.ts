/** Notifies the store of what happens to the window: folders, active editor, trust, settings. */

import * as vscode from "vscode";

import type { Connection } from "./server/connection";
import { affects } from "./settings";
import type { Store } from "./state/store";

export function watchWindow(
  store: Store,
  connection: Connection,
  redraw: () => void,
): readonly vscode.Disposable[] {
  const folders = (): void => {
    const open = vscode.workspace.workspaceFolders ?? [];
    store.apply({
      kind: "folders",
      folders: open
        .filter(({ uri }) => uri.scheme === "file")
        .map(({ uri, name }) => ({ uri: uri.toString(), name })),
    });
  };
  const active = (editor: vscode.TextEditor | undefined): void => {
    const uri = editor?.document.uri;
    const folder = uri === undefined ? undefined : vscode.workspace.getWorkspaceFolder(uri);
    // A log, an output or a file from elsewhere changes nothing of what is looked at.
    if (folder !== undefined) {
      store.apply({ kind: "active", uri: folder.uri.toString() });
    }
  };
  folders();
  active(vscode.window.activeTextEditor);
  return [
    vscode.workspace.onDidChangeWorkspaceFolders(() => {
      folders();
      // The library notifies the server of the folders, and learns of them after us.
      setImmediate(() => {
        void connection.subscribeAll();
      });
    }),
    vscode.window.onDidChangeActiveTextEditor(active),
    vscode.window.onDidChangeWindowState(({ focused }) => {
      if (focused) {
        // A folder may have become a repository meanwhile.
        void connection.subscribeAll();
      }
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(() => {
      store.apply({ kind: "trusted" });
      void connection.restart();
    }),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (affects(event, "server.path", "server.python", "server.importStrategy")) {
        void connection.restart();
      } else if (affects(event, "lens", "inlayHints", "plan.files")) {
        void connection.settingsChanged();
      }
      redraw();
    }),
  ];
}
