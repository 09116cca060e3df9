/** Keeps trees, badge, context keys, status bar and notifications in step with the snapshot. */

import * as vscode from "vscode";

import type { Notifications } from "./notifications/show";
import { badge } from "./state/badge";
import { contextKeys } from "./state/contextKeys";
import { shownFolder, type Snapshot } from "./state/snapshot";
import type { Store } from "./state/store";
import type { StatusBar } from "./status/bar";
import { iterationNodes } from "./trees/iterations";
import { planNodes } from "./trees/plan";
import type { Rows, TaskDrag } from "./trees/tree";

export class Views implements vscode.Disposable {
  private readonly plan: vscode.TreeView<string>;
  private readonly iterations: vscode.TreeView<string>;
  private readonly disposables: { dispose: () => void }[] = [];
  /** Keys as they were set last: each is a message to the window. */
  private readonly keys = new Map<string, string>();

  constructor(
    store: Store,
    private readonly rows: { readonly plan: Rows; readonly iterations: Rows },
    drag: TaskDrag,
    private readonly status: StatusBar,
    private readonly notifications: Notifications,
  ) {
    this.plan = vscode.window.createTreeView("ralphLoop.plan", {
      treeDataProvider: rows.plan,
      dragAndDropController: drag,
    });
    this.iterations = vscode.window.createTreeView("ralphLoop.iterations", {
      treeDataProvider: rows.iterations,
    });
    this.disposables.push(
      this.plan,
      this.iterations,
      store.onDidChange((after, before) => {
        this.update(after);
        this.notifications.changed(after, before);
      }),
    );
    this.update(store.snapshot);
  }

  dispose(): void {
    for (const disposable of this.disposables) {
      disposable.dispose();
    }
  }

  private update(snapshot: Snapshot): void {
    const folder = shownFolder(snapshot);
    this.rows.plan.show(planNodes(folder));
    this.rows.iterations.show(iterationNodes(folder));
    const tasks = folder?.state?.panel?.tasks;
    const name = snapshot.folders.length > 1 ? (folder?.name ?? "") : "";
    const done = tasks?.of === undefined || tasks.of === 0 ? "" : `${tasks.value}/${tasks.of}`;
    this.plan.description = [done, name].filter((part) => part !== "").join(" · ");
    const plan = folder?.state?.plan;
    // An empty tree says what there is instead of tasks, or what is wrong with them.
    const text = folder?.state?.run?.request?.title ?? plan?.problems[0]?.message;
    this.plan.message = plan?.tasks.length === 0 ? (text ?? "") : "";
    // Badges of one container add up, so only this view has one.
    this.plan.badge = badge(snapshot);
    this.setKeys(snapshot);
    this.status.show(snapshot);
  }

  private setKeys(snapshot: Snapshot): void {
    const keys = contextKeys(snapshot, (uri) => vscode.Uri.parse(uri).fsPath);
    for (const [key, value] of Object.entries(keys)) {
      const text = JSON.stringify(value);
      if (this.keys.get(key) !== text) {
        this.keys.set(key, text);
        void vscode.commands.executeCommand("setContext", key, value);
      }
    }
  }
}
