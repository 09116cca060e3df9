/**
 * Which ends of runs the user has had time to see. Does not import VS Code.
 *
 * An end is in the status bar until the window is focused, and a minute longer.
 */

import { panelOf, type FolderSnapshot } from "../state/snapshot";

/** Milliseconds for which an end is shown in a focused window. */
export const SEEN_AFTER = 60_000;

/** Does something later; what it returns calls that off. */
export type Later = (milliseconds: number, callback: () => void) => () => void;

export class SeenEnds {
  private readonly seen = new Set<string>();
  private readonly callOffs = new Map<string, () => void>();

  constructor(
    private readonly later: Later,
    /** Notified when an end has been seen long enough. */
    private readonly changed: () => void,
  ) {}

  /** URIs of the folders with an end that need not be shown any more. */
  get folders(): ReadonlySet<string> {
    return this.seen;
  }

  /** Read the folders as they are, in a window that is focused or not. */
  watch(folders: readonly FolderSnapshot[], focused: boolean): void {
    for (const folder of folders) {
      const { uri } = folder;
      const state = panelOf(folder)?.state;
      if (state !== "complete" && state !== "ended" && state !== "fatal") {
        this.seen.delete(uri);
        this.callOff(uri);
      } else if (focused && !this.callOffs.has(uri) && !this.seen.has(uri)) {
        const callOff = this.later(SEEN_AFTER, () => {
          this.callOffs.delete(uri);
          this.seen.add(uri);
          this.changed();
        });
        this.callOffs.set(uri, callOff);
      }
    }
  }

  dispose(): void {
    for (const uri of [...this.callOffs.keys()]) {
      this.callOff(uri);
    }
  }

  private callOff(uri: string): void {
    this.callOffs.get(uri)?.();
    this.callOffs.delete(uri);
  }
}
