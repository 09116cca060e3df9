/** What commands work with, and the form of those that are about one folder. */

import type * as vscode from "vscode";

import type { Answers } from "../answer/answers";
import type { RunsView } from "../history/runs";
import type { VerbTexts } from "../history/texts";
import type { LogDocuments } from "../logs/documents";
import type { Changes } from "../rows/changes";
import type { Rollback } from "../rows/rollback";
import type { Connection } from "../server/connection";
import type { FolderSnapshot } from "../state/snapshot";
import type { Store } from "../state/store";
import type { Node } from "../trees/nodes";
import type { Setup } from "../wizard/load";
import type { Files } from "./files";
import type { FirstSteps } from "./firstSteps";
import type { Orders } from "./orders";

/** What commands work with. */
export interface Tools {
  readonly store: Store;
  readonly connection: Connection;
  readonly orders: Orders;
  readonly files: Files;
  readonly answers: Answers;
  readonly wizard: Setup;
  readonly firstSteps: FirstSteps;
  readonly changes: Changes;
  readonly rollback: Rollback;
  readonly runs: RunsView;
  readonly texts: VerbTexts;
  readonly logs: LogDocuments;
  readonly log: vscode.LogOutputChannel;
  /** The row behind what a menu hands over. */
  node(element: unknown): Node | undefined;
  openDashboard(): void;
  demo(): Promise<void>;
  readAsText(): Promise<void>;
  selectPython(): Promise<void>;
  copyCommand(): Promise<void>;
  installServer(): Promise<void>;
  otherWays(): Promise<void>;
  /** Show the Loop view, whose card says what is missing. */
  reveal(): Promise<void>;
}

/** A command that is about a folder; `target` is the row or what else it was called on. */
export type FolderCommand = (
  tools: Tools,
  folder: FolderSnapshot,
  target: Node | undefined,
) => Promise<void>;
