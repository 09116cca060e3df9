/** Draws rows as a tree of VS Code; what they say comes from `plan.ts` and `iterations.ts`. */

import * as vscode from "vscode";

import { t } from "../l10n";
import { moveOf, type Move } from "./drag";
import { HeldRows } from "./held";
import type { Node } from "./nodes";

/** Rows by their ids: an id is what VS Code holds on to, whatever the row says by now. */
export class Rows implements vscode.TreeDataProvider<string>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<string[] | undefined>();
  readonly onDidChangeTreeData = this.changed.event;
  readonly held = new HeldRows((ids) => {
    this.changed.fire(ids === undefined ? undefined : [...ids]);
  });

  /** Show these rows. */
  show(nodes: readonly Node[]): void {
    this.held.show(nodes);
  }

  /** The row behind what a menu hands over. */
  node(element: unknown): Node | undefined {
    return typeof element === "string" ? this.held.find(element) : undefined;
  }

  getChildren(id?: string): string[] {
    return [...this.held.childrenOf(id)];
  }

  getParent(id: string): string | undefined {
    return this.held.parentOf(id);
  }

  getTreeItem(id: string): vscode.TreeItem {
    const node = this.held.find(id);
    return node === undefined ? new vscode.TreeItem("") : toTreeItem(node);
  }

  dispose(): void {
    this.held.dispose();
    this.changed.dispose();
  }
}

/** What a tree's own rows are called while they are dragged. */
const DRAGGED = "application/vnd.code.tree.ralphloop.plan";

/** Tasks are dragged to another place of the plan; `move` asks the server for it. */
export class TaskDrag implements vscode.TreeDragAndDropController<string> {
  readonly dragMimeTypes = [DRAGGED];
  readonly dropMimeTypes = [DRAGGED];

  constructor(
    private readonly rows: Rows,
    private readonly move: (move: Move) => Promise<void>,
  ) {}

  handleDrag(source: readonly string[], data: vscode.DataTransfer): void {
    data.set(DRAGGED, new vscode.DataTransferItem([...source]));
  }

  async handleDrop(target: string | undefined, data: vscode.DataTransfer): Promise<void> {
    const dragged: unknown = data.get(DRAGGED)?.value;
    const id: unknown = Array.isArray(dragged) ? dragged[0] : undefined;
    const node = this.rows.node(id);
    if (node?.kind === "task") {
      const move = moveOf(node, this.rows.node(target), this.rows.held.siblingsOf(node.id));
      if (move !== undefined) {
        await this.move(move);
      }
    }
  }
}

function toTreeItem(node: Node): vscode.TreeItem {
  const { Collapsed, Expanded, None } = vscode.TreeItemCollapsibleState;
  const isFolded = node.kind === "run" || (node.kind === "group" && node.isFolded);
  const open = !("children" in node) ? None : isFolded ? Collapsed : Expanded;
  const item = new vscode.TreeItem(node.label, open);
  item.id = node.id;
  item.description = node.description;
  item.tooltip = node.tooltip;
  item.contextValue = node.context;
  item.accessibilityInformation = { label: node.spoken };
  if (node.icon !== undefined) {
    const { name, color } = node.icon;
    item.iconPath = new vscode.ThemeIcon(
      name,
      color === undefined ? undefined : new vscode.ThemeColor(color),
    );
  }
  const command = commandOf(node);
  if (command !== undefined) {
    item.command = command;
  }
  return item;
}

/** What a click does; the keyboard stays where it is. */
function commandOf(node: Node): vscode.Command | undefined {
  switch (node.kind) {
    case "task": {
      if (node.plan === undefined) {
        return undefined;
      }
      const line = Math.max(0, node.task.line - 1);
      const options: vscode.TextDocumentShowOptions = {
        preserveFocus: true,
        selection: new vscode.Range(line, 0, line, 0),
      };
      const uri = vscode.Uri.parse(node.plan);
      return { command: "vscode.open", title: t("Open"), arguments: [uri, options] };
    }
    case "iteration":
      return { command: "ralphLoop.showLog", title: t("Show Log"), arguments: [node.id] };
    case "older": {
      const options: vscode.TextDocumentShowOptions = { preserveFocus: true };
      return node.summary === undefined
        ? undefined
        : {
            command: "vscode.open",
            title: t("Open"),
            arguments: [vscode.Uri.file(node.summary), options],
          };
    }
    case "lane":
      return { command: "ralphLoop.laneLog", title: t("Show Log"), arguments: [node.id] };
    case "anywhere":
      return { command: "ralphLoop.runs.goTo", title: t("Open"), arguments: [node.id] };
    case "more":
      return { command: "ralphLoop.runs.more", title: t("Older…"), arguments: [node.id] };
    case "group":
    case "section":
    case "run":
    case "loading":
      return undefined;
  }
}
