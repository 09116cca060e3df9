/** Reads the set-up wizard's bundle when it is opened for the first time. */

import { createRequire } from "node:module";

import * as vscode from "vscode";

import type { FolderSnapshot } from "../state/snapshot";
import { Drafts } from "./drafts";
import type * as Entry from "./entry";
import type { Parts, SetUpWizard } from "./wizard";

export class Setup implements vscode.Disposable {
  /** There from the start: an editor with a draft may be restored before the wizard opens. */
  private readonly drafts: Drafts;
  private wizard: SetUpWizard | undefined;

  constructor(private readonly parts: Omit<Parts, "drafts">) {
    this.drafts = new Drafts(parts.memory);
  }

  async open(folder: FolderSnapshot): Promise<void> {
    this.wizard ??= this.load();
    await this.wizard.open(folder);
  }

  dispose(): void {
    this.wizard?.dispose();
    this.drafts.dispose();
  }

  private load(): SetUpWizard {
    // Beside the extension's own bundle; found while it runs, so that it is not bundled into it.
    const { makeWizard } = createRequire(__filename)("./wizard.js") as typeof Entry;
    const parts: Parts = { ...this.parts, drafts: this.drafts };
    return makeWizard(parts, (message, ...args) => vscode.l10n.t(message, ...args));
  }
}
