/** Keeps trees, badge, context keys, status bar and notifications in step with the snapshot. */

import * as vscode from "vscode";

import type { Notifications } from "./notifications/show";
import { badge } from "./state/badge";
import { contextKeys, hasEnded } from "./state/contextKeys";
import { shownFolder, type Snapshot } from "./state/snapshot";
import type { Store } from "./state/store";
import type { StatusBar } from "./status/bar";
import { iterationNodes } from "./trees/iterations";
import type { Node } from "./trees/nodes";
import { currentTask, planNodes } from "./trees/plan";
import type { Rows, TaskDrag } from "./trees/tree";

/** Where it is remembered that a run ended in this workspace. */
const HAD_RUN = "hadRun";

export class Views implements vscode.Disposable {
  private current: readonly Node[] = [];
  private readonly plan: vscode.TreeView<string>;
  private readonly iterations: vscode.TreeView<string>;
  private readonly disposables: { dispose: () => void }[] = [];
  /** Row of the task in work that was brought into sight last. */
  private revealed: string | undefined;
  /** Keys as they were set last: each is a message to the window. */
  private readonly keys = new Map<string, string>();

  constructor(
    store: Store,
    private readonly rows: { readonly plan: Rows; readonly iterations: Rows },
    drag: TaskDrag,
    private readonly status: StatusBar,
    private readonly notifications: Notifications,
    private readonly memory: vscode.Memento,
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
      this.plan.onDidChangeVisibility(() => {
        this.revealed = undefined;
        this.reveal();
      }),
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
    this.current = planNodes(folder);
    this.rows.plan.show(this.current);
    this.reveal();
    this.rows.iterations.show(iterationNodes(folder));
    const tasks = folder?.state?.panel?.tasks;
    const name = snapshot.folders.length > 1 ? (folder?.name ?? "") : "";
    this.iterations.description = name;
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

  /** Bring the task in work into sight when it becomes another one; the keyboard stays. */
  private reveal(): void {
    const id = currentTask(this.current)?.id;
    // To reveal a row of a view that is closed would open the view.
    if (id === undefined || id === this.revealed || !this.plan.visible) {
      return;
    }
    this.revealed = id;
    // One that the tree does not hold yet is shown with the next change.
    const isHeld = this.rows.plan.held.find(id) !== undefined;
    if (isHeld) {
      void Promise.resolve(this.plan.reveal(id, { select: false, focus: false })).catch(
        () => undefined,
      );
    }
  }

  private setKeys(snapshot: Snapshot): void {
    const pathOf = (uri: string): string => vscode.Uri.parse(uri).fsPath;
    const hadRun = this.memory.get<boolean>(HAD_RUN, false);
    const keys = contextKeys(snapshot, pathOf, hadRun);
    if (!hadRun && hasEnded(snapshot)) {
      void this.memory.update(HAD_RUN, true);
    }
    for (const [key, value] of Object.entries(keys)) {
      const text = JSON.stringify(value);
      if (this.keys.get(key) !== text) {
        this.keys.set(key, text);
        void vscode.commands.executeCommand("setContext", key, value);
      }
    }
  }
}
