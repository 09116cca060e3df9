/** Marks beside the tasks of a plan, distinguished by their shapes; switched by a setting. */

import * as vscode from "vscode";

import type { TaskRow } from "./generated/protocol";
import { linesOf, MARKS, type Mark } from "./gutterMarks";
import { showsGutter } from "./settings";
import type { Store } from "./state/store";

/** Only what somebody may look for while scrolling. */
const RULER: Partial<Record<Mark, string>> = {
  current: "charts.blue",
  asks: "list.warningForeground",
  blocked: "list.errorForeground",
};

export class Gutter implements vscode.Disposable {
  private readonly types: ReadonlyMap<Mark, vscode.TextEditorDecorationType>;
  private readonly disposables: { dispose: () => void }[] = [];

  constructor(
    media: vscode.Uri,
    private readonly store: Store,
  ) {
    this.types = new Map(MARKS.map((mark) => [mark, decoration(media, mark)]));
    this.disposables.push(
      ...this.types.values(),
      store.onDidChange((after, before) => {
        if (after.folders !== before.folders) {
          this.draw();
        }
      }),
      vscode.window.onDidChangeVisibleTextEditors(() => {
        this.draw();
      }),
    );
  }

  /** Put the marks where they belong in every editor that can be seen. */
  draw(): void {
    for (const editor of vscode.window.visibleTextEditors) {
      const uri = editor.document.uri.toString();
      const rows = this.store.snapshot.folders.find(
        ({ state }) =>
          state?.plan.uri !== undefined && vscode.Uri.parse(state.plan.uri).toString() === uri,
      )?.state?.plan.tasks;
      // Where no plan is shown there is nothing to take away either.
      if (rows !== undefined) {
        this.drawRows(editor, rows);
      }
    }
  }

  dispose(): void {
    for (const disposable of this.disposables) {
      disposable.dispose();
    }
  }

  private drawRows(editor: vscode.TextEditor, rows: readonly TaskRow[]): void {
    const lines = linesOf(rows, { isOn: showsGutter() });
    for (const [mark, type] of this.types) {
      const places = (lines.get(mark) ?? []).map((line) => new vscode.Range(line, 0, line, 0));
      editor.setDecorations(type, places);
    }
  }
}

function decoration(media: vscode.Uri, mark: Mark): vscode.TextEditorDecorationType {
  const icon = (theme: "light" | "dark"): vscode.Uri =>
    vscode.Uri.joinPath(media, "gutter", `${mark}-${theme}.svg`);
  const color = RULER[mark];
  return vscode.window.createTextEditorDecorationType({
    light: { gutterIconPath: icon("light") },
    dark: { gutterIconPath: icon("dark") },
    gutterIconSize: "contain",
    ...(color === undefined
      ? {}
      : {
          overviewRulerColor: new vscode.ThemeColor(color),
          overviewRulerLane: vscode.OverviewRulerLane.Left,
        }),
  });
}
