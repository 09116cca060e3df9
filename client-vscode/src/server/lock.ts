/**
 * One window at a time: a file that names its holder's pid.
 *
 * It saves work and is no safeguard: whoever takes over from a holder that died at the same moment
 * as somebody else does the work twice, which does no harm since its result is renamed into place.
 */

import { watch } from "node:fs";
import { open, readFile, rm, stat } from "node:fs/promises";
import { basename, dirname } from "node:path";

/** How often a holder is looked at again that might have died, in milliseconds. */
const LOOK_AGAIN = 2000;

/** A file that is empty for longer, in milliseconds, has no holder. */
const WRITTEN_BY = 10_000;

/** Do it while nobody else does. */
export async function withLock<Result>(path: string, work: () => Promise<Result>): Promise<Result> {
  while (!(await take(path))) {
    if (isAlive(await holder(path))) {
      await released(path);
    } else {
      await rm(path, { force: true });
    }
  }
  try {
    return await work();
  } finally {
    await rm(path, { force: true });
  }
}

async function take(path: string): Promise<boolean> {
  try {
    const file = await open(path, "wx");
    await file.writeFile(String(process.pid));
    await file.close();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") {
      return false;
    }
    throw error;
  }
}

/** The pid; None where the file went away, or its holder died before it wrote anything. */
async function holder(path: string): Promise<number | undefined> {
  try {
    const text = await readFile(path, "utf8");
    const { mtimeMs } = await stat(path);
    return text === "" && Date.now() - mtimeMs > WRITTEN_BY ? undefined : Number(text);
  } catch {
    return undefined;
  }
}

function isAlive(pid: number | undefined): boolean {
  if (pid === undefined || !Number.isInteger(pid)) {
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

/** The next change of the file, or the time to look at its holder again. */
async function released(path: string): Promise<void> {
  await new Promise<void>((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      watcher.close();
      resolve();
    };
    const watcher = watch(dirname(path), (_, name) => {
      if (name === basename(path)) {
        done();
      }
    });
    watcher.on("error", done);
    const timer = setTimeout(done, LOOK_AGAIN);
  });
}
