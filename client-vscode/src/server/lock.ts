/**
 * One window at a time: a file that names its holder's pid, and whose date the holder keeps new.
 *
 * A holder that died, or whose pid now belongs to another process, is detected. It saves work and is
 * no safeguard: two windows that take over from a dead holder at the same moment both do
 * the work twice, which does no harm since its result is renamed into place.
 */

import { watch, type FSWatcher } from "node:fs";
import { open, readFile, rm, stat, utimes } from "node:fs/promises";
import { basename, dirname } from "node:path";

/** How often a holder is looked at again that might have died, in milliseconds. */
const LOOK_AGAIN = 2000;

/** A file that is empty for longer, in milliseconds, has no holder. */
const WRITTEN_BY = 10_000;

/** A holder without a sign of life for so long, in milliseconds, while we looked, is none. */
const SILENT_FOR = 30_000;

export interface LockOptions {
  /** Notified once, if another process holds it. */
  readonly waits?: () => void;
  /** Another time for tests than the usual one, in milliseconds. */
  readonly silentFor?: number;
}

/** Do it while nobody else does. */
export async function withLock<Result>(
  path: string,
  work: () => Promise<Result>,
  { waits, silentFor = SILENT_FOR }: LockOptions = {},
): Promise<Result> {
  let isReported = false;
  let lastBeat: { readonly beat: number; readonly at: number } | undefined;
  while (!(await take(path))) {
    const holder = await look(path);
    if (holder?.beat !== lastBeat?.beat) {
      lastBeat = holder === undefined ? undefined : { beat: holder.beat, at: performance.now() };
    }
    const isSilent = lastBeat !== undefined && performance.now() - lastBeat.at > silentFor;
    if (holder !== undefined && !isSilent && isAlive(holder.pid)) {
      if (!isReported) {
        isReported = true;
        waits?.();
      }
      await released(path, Math.min(LOOK_AGAIN, silentFor));
    } else {
      await rm(path, { force: true });
      lastBeat = undefined;
    }
  }
  const beat = setInterval(() => {
    const now = new Date();
    // Somebody who took it for dead may have removed it.
    utimes(path, now, now).catch(() => undefined);
  }, LOOK_AGAIN);
  try {
    return await work();
  } finally {
    clearInterval(beat);
    await rm(path, { force: true });
  }
}

/** Whether there is a process of this number; also one that is not ours. */
export function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid < 0) {
    return false;
  }
  if (pid === 0) {
    return true;
  }
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

async function take(path: string): Promise<boolean> {
  try {
    const file = await open(path, "wx");
    try {
      await file.writeFile(String(process.pid));
    } catch (error) {
      // A full disk: a lock that says nothing would only be in the way.
      await rm(path, { force: true });
      throw error;
    } finally {
      await file.close();
    }
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") {
      return false;
    }
    throw error;
  }
}

/** Pid and last beat; None where the file went away, or its holder died before it wrote anything. */
async function look(path: string): Promise<{ pid: number; beat: number } | undefined> {
  try {
    const text = await readFile(path, "utf8");
    const { mtimeMs } = await stat(path);
    const isAbandoned = text === "" && Date.now() - mtimeMs > WRITTEN_BY;
    // An empty file is one whose holder is just writing its number: 0 counts as alive.
    return isAbandoned ? undefined : { pid: Number(text), beat: mtimeMs };
  } catch {
    return undefined;
  }
}

/** The next change of the file, or the time to look at its holder again. */
async function released(path: string, most: number): Promise<void> {
  await new Promise<void>((resolve) => {
    let watcher: FSWatcher | undefined;
    const done = (): void => {
      clearTimeout(timer);
      watcher?.close();
      resolve();
    };
    const timer = setTimeout(done, most);
    try {
      watcher = watch(dirname(path), (_, name) => {
        if (name === basename(path)) {
          done();
        }
      });
      watcher.on("error", done);
    } catch {
      // The system has no watch left to give; then only time decides.
    }
  });
}
