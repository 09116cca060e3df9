/**
 * Holds notices back for a moment, so that several at once are shown as one. No VS Code.
 *
 * What is settled before it was shown is not shown at all.
 */

import type { Later } from "../status/ends";
import { merged, type Notice } from "./notices";

/** Milliseconds in which notices are gathered into one. */
export const TOGETHER = 2000;

export class Gathering {
  private waiting: readonly Notice[] = [];
  private callOff: (() => void) | undefined;

  constructor(
    private readonly later: Later,
    private readonly show: (notice: Notice) => void,
  ) {}

  /** Show these soon, with what comes until then. */
  add(notices: readonly Notice[]): void {
    if (notices.length === 0) {
      return;
    }
    this.waiting = [...this.waiting, ...notices];
    this.callOff ??= this.later(TOGETHER, () => {
      this.callOff = undefined;
      const notice = merged(this.waiting);
      this.waiting = [];
      if (notice !== undefined) {
        this.show(notice);
      }
    });
  }

  /** Drop those that are about nothing any more. */
  keepOnly(holds: (notice: Notice) => boolean): void {
    this.waiting = this.waiting.filter(holds);
  }

  dispose(): void {
    this.callOff?.();
    this.callOff = undefined;
  }
}
