/** A clock for tests, advanced by hand. */

import { NOW } from "./samples";

export class HandClock {
  private time = NOW;
  private waiting: { at: number; callback: () => void }[] = [];

  now(): number {
    return this.time;
  }

  later(milliseconds: number, callback: () => void): () => void {
    const timer = { at: this.time + milliseconds, callback };
    this.waiting.push(timer);
    return () => {
      this.waiting = this.waiting.filter((each) => each !== timer);
    };
  }

  /** Let time pass; what is due is done at its own time. */
  pass(milliseconds: number): void {
    const until = this.time + milliseconds;
    for (;;) {
      const [next] = this.waiting.filter(({ at }) => at <= until).sort((a, b) => a.at - b.at);
      if (next === undefined) {
        break;
      }
      this.waiting = this.waiting.filter((each) => each !== next);
      this.time = next.at;
      next.callback();
    }
    this.time = until;
  }

  get n_waiting(): number {
    return this.waiting.length;
  }
}
