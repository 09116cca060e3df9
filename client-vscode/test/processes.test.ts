/** Programs of every kind on PATH, each a real script that is really asked. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterEach, beforeEach, describe, test, vi } from "vitest";

import type { Program } from "../src/server/lookup";
import {
  askPythons,
  identify,
  installedPythons,
  isInUse,
  onPath,
  run,
} from "../src/server/processes";
import { whyNoPython, whyNot } from "../src/server/python";

let folder: string;

beforeEach(async () => {
  // As people's folders are called.
  folder = await mkdtemp(join(tmpdir(), "ralph Übung "));
});

afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true, force: true });
});

/** A program of this name in a separate folder, and that folder on PATH behind the others. */
async function program(name: string, text: string, place = name): Promise<Program> {
  const path = join(folder, place, name);
  await mkdir(join(folder, place), { recursive: true });
  await writeFile(path, `#!/bin/sh\n${text}\n`);
  await chmod(path, 0o755);
  return { command: path, args: [] };
}

/** Answers the probe as this Python would. */
function answer(path: string, minor: number, able: boolean): string {
  return `echo '${JSON.stringify([path, 3, minor, able])}'`;
}

describe.runIf(process.platform !== "win32")("programs", () => {
  test("say who they are", async () => {
    const server = await program("ralph-ls", 'test "$1" = --version && echo "ralph-ls 0.1.0"');
    assert.deepEqual(await identify(server), { kind: "ours", version: "0.1.0" });
  });

  test("that fail are not ours, and why is known", async () => {
    const server = await program("ralph-ls", "echo broken >&2; exit 3");
    assert.deepEqual(await identify(server), { kind: "other", reply: "broken" });
  });

  test("that are not there are not ours", async () => {
    const identity = await identify({ command: join(folder, "nothing"), args: [] });
    assert.match(identity.kind === "other" ? identity.reply : "", /ENOENT/);
  });

  test("get their words as they are, and no shell reads them", async () => {
    const server = await program("ralph-ls", 'test "$1" = "a; exit 9" && test "$#" = 1');
    await run({ ...server, args: ["a; exit 9"] });
  });

  test("are not led into another Python", async () => {
    vi.stubEnv("PYTHONHOME", "/elsewhere");
    await run(await program("ralph-ls", 'test -z "$PYTHONHOME"'));
  });

  test("are ended when the window closes", async () => {
    const closing = new AbortController();
    const server = await program("ralph-ls", "kill -STOP $$");
    const ended = run(server, closing.signal);
    closing.abort();
    await assert.rejects(ended, /aborted/);
  });
});

describe.runIf(process.platform === "linux")("Pythons on PATH", () => {
  test("of every kind are asked, and each that will not do says why", async () => {
    const good = join(folder, "good", "python3.12");
    const asked = await askPythons(
      [
        await program("python3.14", "echo 'pyenv: python3.14: command not found' >&2; exit 127"),
        await program("python3.13", answer("/opt/no-venv", 13, false)),
        await program("python3.12", answer(good, 12, true), "good"),
        await program("python3", answer("/usr/bin/python3.9", 9, true)),
        await program("python", "echo Hello"),
        { command: join(folder, "nothing"), args: [] },
      ],
      () => undefined,
    );
    assert.deepEqual(
      asked.pythons.map((python) => [python.path, whyNot(python) === undefined]),
      [
        ["/opt/no-venv", false],
        [good, true],
        ["/usr/bin/python3.9", false],
      ],
    );
    assert.deepEqual(
      asked.broken.map(({ reply }) => reply.split("\n", 1)[0]),
      ["pyenv: python3.14: command not found", "Hello", `spawn ${join(folder, "nothing")} ENOENT`],
    );
  });

  test("that are the same one under two names count once", async () => {
    const one = await program("python3.12", answer("/usr/bin/python3.12", 12, true));
    const other = await program("python3", answer("/usr/bin/python3.12", 12, true));
    const { pythons } = await askPythons([one, other], () => undefined);
    assert.equal(pythons.length, 1);
  });

  test("are found behind a broken one of the same name, and never by a relative entry", async () => {
    const shim = await program("python3.12", "exit 1", "shims");
    const real = await program("python3.12", answer("/usr/bin/python3.12", 12, true), "bin");
    vi.stubEnv("PATH", [".", join(folder, "shims"), join(folder, "bin")].join(delimiter));
    const found = installedPythons([]).map(({ command }) => command);
    assert.deepEqual(
      found.filter((path) => path.startsWith(folder)),
      [shim.command, real.command],
    );
    assert.equal(onPath("python3.12", []), shim.command);
    assert.ok(found.every((path) => path.startsWith("/")));
  });

  test("that are none at all leave one thing to say", async () => {
    const asked = await askPythons([], () => undefined);
    const { why, command } = whyNoPython(asked, "", "linux");
    assert.match(why, /^No Python was found\. .* 3\.11 or newer/);
    assert.match(command ?? "", /^uv python install 3\.\d+$/);
  });
});

test.runIf(process.platform === "linux")(
  "a folder is in use while something runs from it",
  async () => {
    const { command } = await program("python", 'read -r line; echo "$line"');
    const child = spawn(command);
    try {
      await once(child, "spawn");
      assert.equal(await isInUse(join(folder, "python")), true);
      assert.equal(await isInUse(join(folder, "elsewhere")), false);
    } finally {
      const ended = once(child, "exit");
      child.stdin.end("done\n");
      await ended;
    }
    assert.equal(await isInUse(join(folder, "python")), false);
  },
);
