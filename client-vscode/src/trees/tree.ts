/** Draws rows as a tree of VS Code; what they say comes from `nodes.ts`. */

import * as vscode from "vscode";

import { byId, changedRows, type Node } from "./nodes";

/** Rows by their ids: an id is what VS Code holds on to, whatever the row says by now. */
export class Rows implements vscode.TreeDataProvider<string>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<string[] | undefined>();
  readonly onDidChangeTreeData = this.changed.event;
  private nodes: readonly Node[] = [];
  private known: ReadonlyMap<string, Node> = new Map();

  /** Show these rows. */
  show(nodes: readonly Node[]): void {
    const changes = changedRows(this.nodes, nodes);
    this.nodes = nodes;
    this.known = byId(nodes);
    if (changes.kind === "all") {
      this.changed.fire(undefined);
    } else if (changes.ids.length > 0) {
      this.changed.fire([...changes.ids]);
    }
  }

  /** The row behind what a menu hands over. */
  node(element: unknown): Node | undefined {
    return typeof element === "string" ? this.known.get(element) : undefined;
  }

  getChildren(id?: string): string[] {
    if (id === undefined) {
      return this.nodes.map((node) => node.id);
    }
    const node = this.known.get(id);
    return node?.kind === "group" ? node.children.map((child) => child.id) : [];
  }

  getParent(id: string): string | undefined {
    return this.nodes.find(
      (node) => node.kind === "group" && node.children.some((child) => child.id === id),
    )?.id;
  }

  getTreeItem(id: string): vscode.TreeItem {
    const node = this.known.get(id);
    return node === undefined ? new vscode.TreeItem("") : toTreeItem(node);
  }

  dispose(): void {
    this.changed.dispose();
  }
}

function toTreeItem(node: Node): vscode.TreeItem {
  const { Expanded, None } = vscode.TreeItemCollapsibleState;
  const item = new vscode.TreeItem(node.label, node.kind === "group" ? Expanded : None);
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
      const line = Math.max(0, node.task.line - 1);
      const options: vscode.TextDocumentShowOptions = {
        preserveFocus: true,
        selection: new vscode.Range(line, 0, line, 0),
      };
      const uri = vscode.Uri.parse(node.plan);
      return { command: "vscode.open", title: "Open", arguments: [uri, options] };
    }
    case "iteration":
      return { command: "ralphLoop.showLog", title: "Show Log", arguments: [node.id] };
    case "group":
    case "older":
      return undefined;
  }
}
