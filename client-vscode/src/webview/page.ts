/**
 * The life of the Loop view's page: messages in, orders out, a clock that ticks, and a memory.
 *
 * What it needs of the browser and the host is handed to it, so that a test can play both. It
 * must never draw by itself, nor ask the host for anything but what is on the closed list.
 */

import { draw } from "./draw";
import type { Described } from "./firstUse";
import { feedFor, feedLines, NO_FEED, withMessages, type Feed } from "./feed";
import type { FromPage, LoopSnapshot, ToPage } from "./messages";
import { loopModel, type Button } from "./model";

/** The host, as `acquireVsCodeApi` gives it. */
export interface Host {
  postMessage(message: FromPage): void;
  getState(): unknown;
  setState(state: Memory): void;
}

/** What a page that was hidden remembers when it is shown again. */
export interface Memory {
  readonly snapshot?: LoopSnapshot;
  readonly feed: Feed;
  /** What was typed into the form of a first loop. */
  readonly described?: Described;
}

/** The time, and what is done later. */
export interface Clock {
  now(): number;
  /** Calls back after so many milliseconds; what it returns calls that off. */
  later(milliseconds: number, callback: () => void): () => void;
}

/** Milliseconds between two sentences to a screen reader (UX: at most one in 5 s). */
export const ANNOUNCE_INTERVAL = 5000;

/** The page's life: feed it what the host sends. */
export class LoopPage {
  private memory: Memory;
  /** Whether the host has spoken: until then it is what the page remembers. */
  private fresh = false;
  private callOffTick: (() => void) | undefined;
  private callOffTold: (() => void) | undefined;
  private announcedAt = Number.NEGATIVE_INFINITY;
  private headline: string | undefined;

  constructor(
    private readonly root: HTMLElement,
    private readonly announcer: HTMLElement,
    private readonly host: Host,
    private readonly clock: Clock,
    /** Whether the user prefers reduced motion. */
    reducedMotion = false,
  ) {
    this.memory = readMemory(host.getState());
    this.show();
    host.postMessage({ type: "ready", reducedMotion });
  }

  /** Take what the host sent. */
  receive(message: ToPage): void {
    const { snapshot, feed } = this.memory;
    switch (message.type) {
      case "snapshot":
        this.take(message.snapshot);
        break;
      case "messages": {
        const { workspace, run, messages } = message;
        if (snapshot !== undefined && snapshot.workspace !== workspace) {
          return;
        }
        this.memory = { ...this.memory, feed: withMessages(feed, workspace, run, messages) };
        break;
      }
      default:
        // Of a newer host; a page from before a reload may still be there.
        return;
    }
    this.host.setState(this.memory);
    this.show();
  }

  /** What is known of a folder stays until the host knows more, as while its server starts. */
  private take(snapshot: LoopSnapshot): void {
    const { snapshot: before, feed } = this.memory;
    const kept = before?.workspace === snapshot.workspace ? before.state : undefined;
    this.fresh = snapshot.state !== undefined || kept === undefined;
    const shown =
      snapshot.state !== undefined || before === undefined || kept === undefined
        ? snapshot
        : { ...snapshot, state: kept, receivedAt: before.receivedAt };
    this.memory = { ...this.memory, snapshot: shown, feed: feedFor(feed, shown) };
  }

  private show(): void {
    this.callOffTick?.();
    this.callOffTick = undefined;
    const { snapshot, feed } = this.memory;
    if (snapshot === undefined) {
      return;
    }
    const model = loopModel(snapshot, this.clock.now(), this.fresh);
    const { workspace } = snapshot;
    draw(this.root, model, feedLines(feed, snapshot), {
      press: (button) => {
        this.press(snapshot, button);
      },
      openClaim: (key) => {
        this.host.postMessage({ type: "claim", key });
      },
      described: this.memory.described,
      changed: (described) => {
        this.memory = { ...this.memory, described };
        this.host.setState(this.memory);
      },
      begin: (described) => {
        this.host.postMessage({ type: "begin", workspace, described });
      },
      command: (command) => {
        this.host.postMessage({ type: "command", command });
      },
    });
    this.announce(model.headline);
    if (model.ticks !== undefined) {
      this.callOffTick = this.clock.later(model.ticks, () => {
        this.show();
      });
    }
  }

  private press({ workspace }: LoopSnapshot, { does }: Button): void {
    if ("command" in does) {
      this.host.postMessage({ type: "command", command: does.command });
      return;
    }
    if ("show" in does) {
      this.host.postMessage({ type: "show", workspace: does.show });
      return;
    }
    const { verb, arguments: given } = does.action;
    this.host.postMessage({ type: "act", workspace, verb, arguments: given });
  }

  /** Announce a change of state, the newest one only, and not before the last one was read out. */
  private announce(headline: string): void {
    if (headline === this.headline) {
      return;
    }
    // What it finds when it opens is no change.
    const isFirst = this.headline === undefined;
    this.headline = headline;
    this.callOffTold?.();
    this.callOffTold = undefined;
    if (isFirst) {
      return;
    }
    const wait = this.announcedAt + ANNOUNCE_INTERVAL - this.clock.now();
    if (wait > 0) {
      this.callOffTold = this.clock.later(wait, () => {
        this.say(headline);
      });
    } else {
      this.say(headline);
    }
  }

  private say(headline: string): void {
    this.announcedAt = this.clock.now();
    this.announcer.textContent = headline;
  }
}

/** What was remembered; a page of another version may have left anything. */
function readMemory(state: unknown): Memory {
  const kept = state as Partial<Memory> | null | undefined;
  const snapshot = kept?.snapshot;
  const fits = Array.isArray(snapshot?.folders) && Array.isArray(kept?.feed?.lines);
  if (typeof snapshot?.workspace !== "string" || !fits) {
    return { feed: NO_FEED };
  }
  return kept as Memory;
}
