/** Holds the one snapshot and notifies its listeners. Does not import VS Code. */

import { emptySnapshot, reduce, type Change, type Snapshot } from "./snapshot";

/** Notified after each change. */
export type Listener = (after: Snapshot, before: Snapshot) => void;

/** The window's memory. */
export class Store {
  private current: Snapshot;
  private readonly listeners = new Set<Listener>();

  constructor(
    trusted: boolean,
    /** What is done with a listener that failed; the others hear of the change all the same. */
    private readonly failed: (error: unknown) => void,
  ) {
    this.current = emptySnapshot(trusted);
  }

  get snapshot(): Snapshot {
    return this.current;
  }

  apply(change: Change): void {
    const before = this.current;
    this.current = reduce(before, change);
    for (const listener of [...this.listeners]) {
      try {
        listener(this.current, before);
      } catch (error) {
        this.failed(error);
      }
    }
  }

  /** Listen until the returned value is disposed. */
  onDidChange(listener: Listener): { dispose: () => void } {
    this.listeners.add(listener);
    return {
      dispose: () => {
        this.listeners.delete(listener);
      },
    };
  }
}

/** Waits for a server that is coming: after a reload VS Code opens its editors before there is one. */
export async function servedAgain(store: Store): Promise<void> {
  const isComing = (): boolean => {
    const { kind } = store.snapshot.server;
    return kind === "starting" || kind === "installing";
  };
  if (isComing()) {
    await new Promise<void>((resolve) => {
      const listening = store.onDidChange(() => {
        if (!isComing()) {
          listening.dispose();
          resolve();
        }
      });
    });
  }
}
