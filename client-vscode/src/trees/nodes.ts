/**
 * The rows of the trees, and which of them have to be drawn again; it must never know VS Code.
 *
 * A row has an id that stays the same while it is about the same thing, so that what is open and
 * selected stays so, and only rows that read otherwise are drawn again.
 */

import type { IterationRow, KeptRun, LaneRow, RunAnywhere, TaskRow } from "../generated/protocol";

/** One row, of whichever kind. */
export type Node =
  | GroupNode
  | TaskNode
  | IterationNode
  | OlderNode
  | LaneNode
  | SectionNode
  | AnywhereNode
  | RunNode
  | MoreNode
  | LoadingNode;

interface NodeBase {
  readonly id: string;
  readonly label: string;
  readonly description: string;
  readonly tooltip: string;
  /** What a screen reader says. */
  readonly spoken: string;
  /** What menus ask about. */
  readonly context: string;
  readonly icon: NodeIcon | undefined;
}

/** A codicon; its shape says what its colour says. */
export interface NodeIcon {
  readonly name: string;
  readonly color: string | undefined;
}

/** Tasks under one heading; those of it that are done may be a group inside. */
export interface GroupNode extends NodeBase {
  readonly kind: "group";
  /** Whether it is first shown closed. */
  readonly isFolded: boolean;
  readonly children: readonly (GroupNode | TaskNode)[];
}

export interface TaskNode extends NodeBase {
  readonly kind: "task";
  readonly folder: string;
  /** None where no file is the plan. */
  readonly plan: string | undefined;
  readonly task: TaskRow;
}

export interface IterationNode extends NodeBase {
  readonly kind: "iteration";
  readonly folder: string;
  readonly run: string;
  readonly row: IterationRow;
}

/** A lane of a parallel run. */
export interface LaneNode extends NodeBase {
  readonly kind: "lane";
  readonly folder: string;
  readonly row: LaneRow;
}

/** In place of iterations that are not shown one by one. */
export interface OlderNode extends NodeBase {
  readonly kind: "older";
  /** Path of the table that has a row for each of them. */
  readonly summary: string | undefined;
}

/** Runs of whichever folder. */
export interface SectionNode extends NodeBase {
  readonly kind: "section";
  readonly children: readonly AnywhereNode[];
}

/** The newest run of a folder, which may be none of the window's. */
export interface AnywhereNode extends NodeBase {
  readonly kind: "anywhere";
  readonly anywhere: RunAnywhere;
}

/** A run that is kept, with its iterations below it. */
export interface RunNode extends NodeBase {
  readonly kind: "run";
  readonly folder: string;
  readonly run: KeptRun;
  readonly children: readonly Node[];
}

/** In place of iterations of a run that are asked for when it is clicked. */
export interface MoreNode extends NodeBase {
  readonly kind: "more";
  readonly folder: string;
  readonly run: string;
  readonly before: number;
}

/** In place of what was asked for and has not come. */
export interface LoadingNode extends NodeBase {
  readonly kind: "loading";
}

/** Every row with its id, those inside groups too. */
export function byId(nodes: readonly Node[]): ReadonlyMap<string, Node> {
  return new Map(withInner(nodes).map((node) => [node.id, node]));
}

function withInner(nodes: readonly Node[]): readonly Node[] {
  return nodes.flatMap((node) => [node, ...withInner(childrenOf(node))]);
}

/** The rows below this one. */
export function childrenOf(node: Node): readonly Node[] {
  return "children" in node ? node.children : [];
}

/** The tasks of a group, those of the groups inside too. */
export function tasksOf(group: GroupNode): readonly TaskNode[] {
  return group.children.flatMap((child) => (child.kind === "group" ? tasksOf(child) : [child]));
}

/**
 * What has to be drawn again: nothing, some rows alone, or everything where rows came or went.
 *
 * A heading below which rows came or went is drawn again with them, and no other heading is.
 */
export function changedRows(
  before: readonly Node[],
  after: readonly Node[],
): { readonly kind: "all" } | { readonly kind: "rows"; readonly ids: readonly string[] } {
  if (idsOf(before) !== idsOf(after)) {
    return { kind: "all" };
  }
  const old = byId(before);
  const changed = (node: Node): readonly string[] => {
    const known = old.get(node.id);
    const children = childrenOf(node);
    if (known !== undefined && idsOf(childrenOf(known)) !== idsOf(children)) {
      return [node.id];
    }
    const own = look(node) === look(known) ? [] : [node.id];
    return [...own, ...children.flatMap(changed)];
  };
  return { kind: "rows", ids: after.flatMap(changed) };
}

function idsOf(nodes: readonly Node[]): string {
  return JSON.stringify(nodes.map(({ id }) => id));
}

function look(node: Node | undefined): string {
  return JSON.stringify(node === undefined ? null : { ...node, children: undefined });
}
