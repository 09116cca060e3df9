/**
 * Holds notices back for a moment, so that several at once are told as one; knows no VS Code.
 *
 * What is settled before anybody was told is not told at all.
 */

import type { Later } from "../status/ends";
import { merged, type Notice } from "./notices";

/** Milliseconds in which what happens is told together. */
export const TOGETHER = 2000;

export class Gathering {
  private waiting: readonly Notice[] = [];
  private callOff: (() => void) | undefined;

  constructor(
    private readonly later: Later,
    private readonly tell: (notice: Notice) => void,
  ) {}

  /** Tell these soon, with what comes until then. */
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
        this.tell(notice);
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
