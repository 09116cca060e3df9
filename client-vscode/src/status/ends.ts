/**
 * Which ends of runs a person has had time to see; it must never know VS Code.
 *
 * An end stands in the status bar until the window is looked at, and a minute longer.
 */

import { panelOf, type FolderSnapshot } from "../state/snapshot";

/** Milliseconds for which an end is told to somebody who looks. */
export const SEEN_AFTER = 60_000;

/** Does something later; what it returns calls that off. */
export type Later = (milliseconds: number, callback: () => void) => () => void;

export class SeenEnds {
  private readonly seen = new Set<string>();
  private readonly callOffs = new Map<string, () => void>();

  constructor(
    private readonly later: Later,
    /** Told when an end has been seen long enough. */
    private readonly changed: () => void,
  ) {}

  /** URIs of the folders with an end that nobody needs to be told any more. */
  get folders(): ReadonlySet<string> {
    return this.seen;
  }

  /** Look at the folders as they are, in a window that has the person's eyes or has not. */
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
