/** The lock of two windows, on a real disk. */

import assert from "node:assert/strict";
import { mkdtemp, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "vitest";

import { withLock } from "../src/server/lock";

let folder: string;
let lock: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "ralph-lock-"));
  lock = join(folder, "install.lock");
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

test("a lock of a holder that died is taken over", async () => {
  // No process has a number as large as this.
  await writeFile(lock, "2147483647");
  assert.equal(await withLock(lock, () => Promise.resolve("done")), "done");
  assert.deepEqual(await readdir(folder), []);
});

test("a lock of a holder that died before it wrote anything is taken over", async () => {
  await writeFile(lock, "");
  const before = new Date(Date.now() - 60_000);
  await utimes(lock, before, before);
  assert.equal(await withLock(lock, () => Promise.resolve("done")), "done");
});

test("a lock whose holder's pid is somebody else's by now is taken over", async () => {
  // This process lives, but it keeps no such lock new.
  await writeFile(lock, String(process.pid));
  let waited = 0;
  const options = { silentFor: 50, waits: () => (waited += 1) };
  assert.equal(await withLock(lock, () => Promise.resolve("done"), options), "done");
  assert.equal(waited, 1);
});

test("a lock is given back when the work fails", async () => {
  await assert.rejects(withLock(lock, () => Promise.reject(new Error("no"))));
  assert.deepEqual(await readdir(folder), []);
});
