/**
 * Whether a server that died is started again, and when: soon at first, then later, then no more.
 *
 * Pure, but for what it remembers.
 */

/** Milliseconds before each start again. */
const PAUSES = [500, 3000, 10_000] as const;

/** Deaths further back count no more, in milliseconds. */
const WITHIN = 3 * 60 * 1000;

export class Restarts {
  private deaths: readonly number[] = [];

  /** It died at `now`: how long to wait before the next start, or None where that is enough. */
  after(now: number): number | undefined {
    const recent = this.deaths.filter((at) => now - at < WITHIN);
    this.deaths = [...recent, now];
    return PAUSES[recent.length];
  }

  /** How often it died lately. */
  get count(): number {
    return this.deaths.length;
  }

  /** The user wants it started: earlier failures count no more. */
  forget(): void {
    this.deaths = [];
  }
}
