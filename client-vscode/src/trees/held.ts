/**
 * The rows that a tree holds, and when it reports that they changed. Does not import VS Code.
 *
 * Rows come as often as something happens in a run. Changes are reported at most four times a
 * second, and only those that read otherwise by then.
 */

import { byId, changedRows, childrenOf, type Node } from "./nodes";

/** Milliseconds between two times that something is drawn again: four a second, wherever it begins. */
export const REST = 275;

/** What has to be drawn again: these rows, or everything. */
export type ChangedRows = readonly string[] | undefined;

export class HeldRows {
  /** As they were reported last. */
  private nodes: readonly Node[] = [];
  private known: ReadonlyMap<string, Node> = new Map();
  private coming: readonly Node[] | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly notify: (changed: ChangedRows) => void) {}

  /** From now on these are the rows: at once, or as soon as a report is due. */
  show(nodes: readonly Node[]): void {
    if (this.timer === undefined) {
      this.take(nodes);
    } else {
      this.coming = nodes;
    }
  }

  find(id: string): Node | undefined {
    return this.known.get(id);
  }

  childrenOf(id: string | undefined): readonly string[] {
    if (id === undefined) {
      return this.nodes.map((node) => node.id);
    }
    const node = this.known.get(id);
    return node === undefined ? [] : childrenOf(node).map((child) => child.id);
  }

  parentOf(id: string): string | undefined {
    return this.groupOf(id)?.id;
  }

  /** The row's siblings, itself among them. */
  siblingsOf(id: string): readonly Node[] {
    const group = this.groupOf(id);
    return group === undefined ? this.nodes : childrenOf(group);
  }

  dispose(): void {
    clearTimeout(this.timer);
  }

  private groupOf(id: string): Node | undefined {
    return [...this.known.values()].find((node) =>
      childrenOf(node).some((child) => child.id === id),
    );
  }

  private take(nodes: readonly Node[]): void {
    const changes = changedRows(this.nodes, nodes);
    this.nodes = nodes;
    this.known = byId(nodes);
    if (changes.kind === "all" || changes.ids.length > 0) {
      this.timer = setTimeout(() => {
        this.rested();
      }, REST);
      this.notify(changes.kind === "all" ? undefined : changes.ids);
    }
  }

  private rested(): void {
    const { coming } = this;
    this.timer = undefined;
    this.coming = undefined;
    if (coming !== undefined) {
      this.take(coming);
    }
  }
}
