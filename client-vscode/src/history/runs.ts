/**
 * The view of runs: asks for them while it is seen, and for the iterations of one that is opened.
 *
 * Runs are asked for again when one of the window's changes. Those of other folders are asked for
 * every few seconds while the view is seen in the window that has the focus, and once when a window
 * gets it.
 */

import * as vscode from "vscode";

import type { KeptRun, RunAnywhere } from "../generated/protocol";
import { clockTime } from "../intl";
import { t } from "../l10n";
import type { Connection } from "../server/connection";
import { runsMark, shownFolder, type FolderSnapshot } from "../state/snapshot";
import type { Store } from "../state/store";
import type { RunNode } from "../trees/nodes";
import type { Rows } from "../trees/tree";
import { endWords, runNodeId, runNodes, type History, type Page } from "./model";

/** Milliseconds between two requests at least. */
const INTERVAL = 2000;

/** Milliseconds from one answer about the runs of all folders to the next request. */
const ANYWHERE_INTERVAL = 5000;

export class RunsView implements vscode.Disposable {
  private readonly view: vscode.TreeView<string>;
  private readonly disposables: { dispose: () => void }[] = [];
  /** By folder: what the server sent last. */
  private readonly known = new Map<string, History>();
  /** Ids of the rows that the user opened. */
  private readonly open = new Set<string>();
  /** Ids of the runs whose iterations are being asked for. */
  private readonly loading = new Set<string>();
  /** What the runs that are shown are of. */
  private shown = "";
  /** Whether iterations may be others than those that are shown, such as after a roll back. */
  private isStale = false;
  /** Whether a loop ran in the folder: while it does, nothing can be rolled back. */
  private wasLive = false;
  private isAsking = false;
  private timer: NodeJS.Timeout | undefined;
  private anywhereTimer: NodeJS.Timeout | undefined;
  private isAskingAnywhere = false;

  constructor(
    private readonly store: Store,
    private readonly rows: Rows,
    private readonly connection: Connection,
    private readonly log: vscode.LogOutputChannel,
  ) {
    this.view = vscode.window.createTreeView("ralphLoop.runs", { treeDataProvider: rows });
    this.disposables.push(
      this.view,
      store.onDidChange((after, before) => {
        if (this.view.visible) {
          this.draw();
          this.later();
        }
        if (after.server.kind === "ok" && before.server.kind !== "ok") {
          void this.followAnywhere();
        }
      }),
      this.view.onDidChangeVisibility(({ visible }) => {
        if (visible) {
          this.draw();
          this.refresh();
        }
      }),
      vscode.window.onDidChangeWindowState(({ focused }) => {
        if (focused) {
          this.refresh();
        } else {
          clearTimeout(this.anywhereTimer);
        }
      }),
      this.view.onDidExpandElement(({ element }) => {
        this.open.add(element);
        this.fill();
      }),
      this.view.onDidCollapseElement(({ element }) => {
        this.open.delete(element);
      }),
      vscode.commands.registerCommand("ralphLoop.runs.more", (id: unknown) => {
        const node = rows.node(id);
        return node?.kind === "more" ? this.load(node.folder, node.run, node.before) : undefined;
      }),
      vscode.commands.registerCommand("ralphLoop.runs.goTo", (id: unknown) => this.goTo(id)),
    );
  }

  /** Ask for the runs again, those of other folders too, and for the iterations that are seen. */
  refresh(): void {
    this.shown = "";
    this.isStale = true;
    this.later();
    void this.followAnywhere();
  }

  /** One run, which the user picks by its end, its time or a task of it. */
  async pick(folder: FolderSnapshot, title: string): Promise<KeptRun | undefined> {
    await this.ask(folder);
    const runs = this.known.get(folder.uri)?.runs ?? [];
    if (runs.length === 0) {
      void vscode.window.showInformationMessage(t("No loop has run here yet."));
      return undefined;
    }
    const now = Date.now();
    const items = runs.map((run) => ({
      label: run.startedAt === undefined ? run.key : clockTime(run.startedAt, now),
      description: `${endWords(run.end)} · ${run.key}`,
      detail: run.tasks.join(" · "),
      run,
    }));
    // The server was asked first: the keyboard may be elsewhere by now.
    const options = { title, matchOnDescription: true, matchOnDetail: true, ignoreFocusOut: true };
    return (await vscode.window.showQuickPick(items, options))?.run;
  }

  /** Bring a run into sight, with its iterations. */
  async reveal(folder: FolderSnapshot, run: KeptRun): Promise<void> {
    this.store.apply({ kind: "chosen", uri: folder.uri });
    await this.load(folder.uri, run.key, undefined);
    await vscode.commands.executeCommand("ralphLoop.runs.focus");
    await this.view.reveal(runNodeId(folder, run.key), {
      ...{ select: true, focus: true, expand: true },
    });
  }

  dispose(): void {
    clearTimeout(this.timer);
    clearTimeout(this.anywhereTimer);
    for (const disposable of this.disposables) {
      disposable.dispose();
    }
  }

  private draw(): void {
    const { snapshot } = this.store;
    const folder = shownFolder(snapshot);
    const history = folder === undefined ? undefined : this.known.get(folder.uri);
    this.rows.show(runNodes(folder, history, snapshot.anywhere, Date.now()));
    this.view.description = snapshot.folders.length > 1 && folder !== undefined ? folder.name : "";
    this.view.message =
      history?.runs.length === 0 && snapshot.anywhere.length === 0
        ? t("No loop has run here yet.")
        : "";
    this.fill();
  }

  /** Ask for the iterations of runs that are open and have none yet. */
  private fill(again = false): void {
    for (const id of this.open) {
      const node = this.rows.node(id);
      const isDue = (run: RunNode): boolean =>
        again || run.children.some(({ kind }) => kind === "loading");
      if (node?.kind === "run" && isDue(node)) {
        this.load(node.folder, node.run.key, undefined).catch((error: unknown) => {
          this.log.error(error instanceof Error ? error : String(error));
        });
      }
    }
  }

  /** Ask soon, where something changed and somebody sees it. */
  private later(): void {
    if (this.view.visible && this.timer === undefined && this.mark() !== this.shown) {
      const wait = this.shown === "" ? 0 : INTERVAL;
      this.timer = setTimeout(() => {
        this.timer = undefined;
        void this.update();
      }, wait);
    }
  }

  private async update(): Promise<void> {
    const { snapshot } = this.store;
    const folder = shownFolder(snapshot);
    const mark = this.mark();
    if (folder === undefined || snapshot.server.kind !== "ok" || this.isAsking) {
      return;
    }
    const isLive = folder.state?.live === true;
    this.isStale ||= isLive !== this.wasLive;
    this.wasLive = isLive;
    this.isAsking = true;
    try {
      await this.ask(folder);
      this.shown = mark;
      if (this.isStale) {
        this.isStale = false;
        this.fill(true);
      }
    } catch (error) {
      // A folder that is no repository has no runs; the Loop view says so.
      this.log.info(`no runs of ${folder.uri}: ${String(error)}`);
      this.shown = mark;
    } finally {
      this.isAsking = false;
    }
    this.later();
  }

  private async ask(folder: FolderSnapshot): Promise<void> {
    const { runs, anywhere } = await this.connection.request("ralph/runs", {
      workspace: folder.uri,
    });
    this.setAnywhere(anywhere);
    const pages = this.known.get(folder.uri)?.pages ?? new Map<string, Page>();
    // Those of a run whose figures are others by now, or that nobody sees, are asked for again.
    const before = new Map(this.known.get(folder.uri)?.runs.map((run) => [run.key, run]));
    const keys = runs
      .filter((run) => JSON.stringify(before.get(run.key)) === JSON.stringify(run))
      .map(({ key }) => key)
      .filter((key) => !this.isStale || this.open.has(runNodeId(folder, key)));
    const kept = new Map([...pages].filter(([key]) => keys.includes(key)));
    this.known.set(folder.uri, { runs, pages: kept });
    this.draw();
  }

  /** Ask for the runs of all folders now, and again and again while somebody sees them. */
  private async followAnywhere(): Promise<void> {
    clearTimeout(this.anywhereTimer);
    if (this.isAskingAnywhere || this.store.snapshot.server.kind !== "ok") {
      return;
    }
    this.isAskingAnywhere = true;
    try {
      const { runs } = await this.connection.request("ralph/anywhere", {});
      this.setAnywhere(runs);
    } catch (error) {
      this.log.info(`no runs of other folders: ${String(error)}`);
    } finally {
      this.isAskingAnywhere = false;
    }
    if (this.view.visible && vscode.window.state.focused) {
      clearTimeout(this.anywhereTimer);
      this.anywhereTimer = setTimeout(() => void this.followAnywhere(), ANYWHERE_INTERVAL);
    }
  }

  private setAnywhere(runs: readonly RunAnywhere[]): void {
    if (JSON.stringify(runs) !== JSON.stringify(this.store.snapshot.anywhere)) {
      this.store.apply({ kind: "anywhere", runs });
    }
  }

  private async load(uri: string, run: string, before: number | undefined): Promise<void> {
    if (this.loading.has(run)) {
      return;
    }
    this.loading.add(run);
    const asked = { workspace: uri, run, ...(before === undefined ? {} : { before }) };
    const page = await this.connection.request("ralph/iterations", asked).finally(() => {
      this.loading.delete(run);
    });
    const history = this.known.get(uri);
    if (history !== undefined) {
      const rows = before === undefined ? [] : (history.pages.get(run)?.rows ?? []);
      const all = [...rows.filter(({ start }) => start >= (before ?? 0)), ...page.rows];
      const pages = new Map([...history.pages, [run, { rows: all, older: page.older }]]);
      this.known.set(uri, { ...history, pages });
      this.draw();
    }
  }

  /** To the loop of a folder of the window, or to a window with the folder. */
  private async goTo(id: unknown): Promise<void> {
    const node = this.rows.node(id);
    if (node?.kind !== "anywhere") {
      return;
    }
    if (node.anywhere.fleetState !== undefined) {
      await this.resumeFleetTask(node.anywhere);
      return;
    }
    const { workspace } = node.anywhere;
    const uri = vscode.Uri.file(workspace);
    const own = this.store.snapshot.folders.find(
      (folder) => folder.state?.run?.workspace === workspace || folder.uri === uri.toString(),
    );
    if (own === undefined) {
      await vscode.commands.executeCommand("vscode.openFolder", uri, { forceNewWindow: true });
    } else {
      this.store.apply({ kind: "chosen", uri: own.uri });
      await vscode.commands.executeCommand("ralphLoop.loop.focus");
    }
  }

  /** Answer a task of a fleet that asks, or try a parked one again. */
  private async resumeFleetTask(run: RunAnywhere): Promise<void> {
    const { fleetTask: task = "", fleetState, activity } = run;
    const tryAgain = t("Try Again");
    const text =
      fleetState === "asking"
        ? await vscode.window.showInputBox({
            title: task,
            prompt: activity,
            ignoreFocusOut: true,
            validateInput: (value) =>
              value.trim() === "" ? t("Type an answer first.") : undefined,
          })
        : await vscode.window.showInformationMessage(
            t("{0} is parked", task),
            { modal: true, detail: activity },
            tryAgain,
          );
    if (text === undefined) {
      return;
    }
    const answer = fleetState === "asking" ? { text: text.trim() } : {};
    try {
      const done = await this.connection.request("ralph/resumeFleetTask", { task, ...answer });
      void vscode.window.showInformationMessage(done.text);
    } catch (error) {
      void vscode.window.showErrorMessage(error instanceof Error ? error.message : String(error));
    }
    await this.followAnywhere();
  }

  private mark(): string {
    const { snapshot } = this.store;
    return JSON.stringify([shownFolder(snapshot)?.uri, runsMark(snapshot)]);
  }
}
