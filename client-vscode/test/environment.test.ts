/** The private environment, on a real disk; only Python itself is played. */

import assert from "node:assert/strict";
import { chmod, mkdir, mkdtemp, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "vitest";

import {
  bundledServer,
  type EnvironmentPlan,
  type EnvironmentTools,
} from "../src/server/environment";
import { withLock } from "../src/server/lock";
import type { Identity, Program } from "../src/server/lookup";
import { identify, run } from "../src/server/processes";
import type { Python } from "../src/server/python";

const PYTHON: Python = {
  path: "/usr/bin/python3.11",
  major: 3,
  minor: 11,
  canMakeEnvironments: true,
};

let folder: string;
let plan: EnvironmentPlan;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "ralph-environment-"));
  plan = {
    storage: join(folder, "storage"),
    wheels: join(folder, "wheels"),
    version: "0.1.0",
    python: "",
    mayUseIndex: false,
  };
  await mkdir(plan.wheels);
  await writeFile(join(plan.wheels, "ralph_ls-0.1.0-py3-none-any.whl"), "our wheel");
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

async function addDependency(name = "pydantic-2.12-py3-none-any.whl"): Promise<void> {
  await writeFile(join(plan.wheels, name), "a dependency");
}

/** Plays Python: `venv` makes the folder with its program, pip is kept. */
function tools(changes: Partial<EnvironmentTools> = {}): EnvironmentTools & {
  readonly ran: Program[];
  readonly steps: string[];
} {
  const ran: Program[] = [];
  const steps: string[] = [];
  return {
    ran,
    steps,
    pythons: () => Promise.resolve([PYTHON]),
    run: async (program) => {
      ran.push(program);
      if (program.args.includes("venv")) {
        const bin = join(program.args.at(-1) ?? "", "bin");
        await mkdir(bin, { recursive: true });
        await writeFile(join(bin, "python"), "");
      }
    },
    identify: () => Promise.resolve<Identity>({ kind: "ours", version: "0.1.0" }),
    step: (text) => {
      steps.push(text);
    },
    tell: () => undefined,
    ...changes,
  };
}

async function environments(): Promise<readonly string[]> {
  return (await readdir(plan.storage)).filter((name) => name.startsWith("server-"));
}

describe("the first time", () => {
  test("it is made from the wheels alone, without an index, and tried", async () => {
    await addDependency();
    const played = tools();
    const lookup = await bundledServer(plan, played);
    assert.equal(lookup.kind, "found");
    const pip = played.ran[1] ?? assert.fail();
    assert.deepEqual(pip.args.slice(0, 4), ["-I", "-m", "pip", "install"]);
    assert.ok(pip.args.includes("--no-index"));
    assert.ok(pip.args.includes("--isolated"));
    assert.equal(pip.args.at(-1), join(plan.wheels, "ralph_ls-0.1.0-py3-none-any.whl"));
    assert.deepEqual(played.steps, [
      "looking for Python",
      "making an environment with Python 3.11",
      "installing the server",
      "trying the server",
    ]);
    assert.equal((await environments()).length, 1);
  });

  test("the program that is started lies in its place, not where it was made", async () => {
    await addDependency();
    const lookup = await bundledServer(plan, tools());
    assert.ok(lookup.kind === "found");
    const [name = ""] = await environments();
    const python = join(plan.storage, name, "bin", "python");
    assert.equal(lookup.found.server.command, python);
    assert.equal(lookup.found.cli?.command, python);
  });

  test("an index is not asked before somebody said so", async () => {
    const lookup = await bundledServer(plan, tools());
    assert.equal(lookup.kind, "missing");
    assert.equal(lookup.remedy, "install");
  });

  test("an index is asked then, for what our own wheel needs", async () => {
    const played = tools();
    const lookup = await bundledServer({ ...plan, mayUseIndex: true }, played);
    assert.equal(lookup.kind, "found");
    const pip = played.ran[1]?.args ?? [];
    assert.deepEqual([pip.includes("--no-index"), pip.includes("--isolated")], [false, false]);
  });

  test("the Python that the wheels are for is taken, or none of them", async () => {
    await addDependency("pydantic_core-2.41-cp312-cp312-manylinux.whl");
    const newer = { ...PYTHON, path: "/usr/bin/python3.12", minor: 12 };
    const played = tools({ pythons: () => Promise.resolve([PYTHON, newer]) });
    await bundledServer(plan, played);
    assert.equal(played.ran[0]?.command, newer.path);
    await rm(plan.storage, { recursive: true });
    const lookup = await bundledServer(plan, tools());
    assert.equal(lookup.kind === "missing" && lookup.remedy, "install");
  });

  test("without a Python that will do, that is what is missing", async () => {
    await addDependency();
    const old = { ...PYTHON, minor: 9 };
    const told: string[] = [];
    const lookup = await bundledServer(
      { ...plan, python: "/opt/python" },
      tools({ pythons: () => Promise.resolve([old]), tell: (line) => told.push(line) }),
    );
    assert.equal(lookup.kind === "missing" && lookup.remedy, "python");
    assert.match(told[0] ?? "", /3\.9/);
  });

  test("a build without our wheel says what helps", async () => {
    await rm(plan.wheels, { recursive: true });
    const lookup = await bundledServer(plan, tools());
    assert.equal(lookup.kind === "missing" && lookup.remedy, "setting");
  });
});

describe("what goes wrong", () => {
  test.each<[string, Partial<EnvironmentTools>]>([
    ["pip fails", { run: () => Promise.reject(new Error("no matching distribution")) }],
    [
      "the server does not start",
      { identify: () => Promise.resolve({ kind: "other", said: "Traceback" }) },
    ],
  ])("%s: nothing is left that could be taken for whole", async (_, changes) => {
    await addDependency();
    await assert.rejects(bundledServer(plan, tools(changes)));
    assert.deepEqual(await readdir(plan.storage), []);
    assert.equal((await bundledServer(plan, tools())).kind, "found");
  });
});

describe("the next time", () => {
  test("it is found, and nothing is run", async () => {
    await addDependency();
    const first = await bundledServer(plan, tools());
    const played = tools();
    assert.deepEqual(await bundledServer(plan, played), first);
    assert.deepEqual(played.ran, []);
    assert.deepEqual(played.steps, []);
  });

  test("another wheel of the same version makes another one", async () => {
    await addDependency();
    await bundledServer(plan, tools());
    await writeFile(join(plan.wheels, "ralph_ls-0.1.0-py3-none-any.whl"), "a newer wheel");
    const played = tools();
    await bundledServer(plan, played);
    assert.equal(played.ran.length, 2);
    assert.equal((await environments()).length, 2);
  });

  test("another Python that is set makes another one, and leaves the first in peace", async () => {
    await addDependency();
    await bundledServer(plan, tools());
    const set = { ...plan, python: "/opt/python" };
    const lookup = await bundledServer(set, tools());
    assert.equal((await environments()).length, 2);
    assert.deepEqual(await bundledServer(set, tools()), lookup);
  });

  test("one whose Python is gone is made anew", async () => {
    await addDependency();
    await bundledServer(plan, tools());
    const [name = ""] = await environments();
    await rm(join(plan.storage, name, "bin", "python"));
    const played = tools();
    assert.equal((await bundledServer(plan, played)).kind, "found");
    assert.equal(played.ran.length, 2);
  });

  test("one of an older version goes when nobody has used it for two weeks", async () => {
    await addDependency();
    for (const [name, days] of [
      ["server-0.0.8-aaaa-py3.11", 20],
      ["server-0.0.9-aaaa-py3.11", 3],
    ] as const) {
      await mkdir(join(plan.storage, name), { recursive: true });
      const ready = join(plan.storage, name, "ready.json");
      await writeFile(ready, "{}");
      const at = new Date(Date.now() - days * 24 * 3600 * 1000);
      await utimes(ready, at, at);
    }
    await bundledServer(plan, tools());
    await bundledServer(plan, tools());
    const left = await environments();
    assert.equal(left.includes("server-0.0.8-aaaa-py3.11"), false);
    assert.equal(left.includes("server-0.0.9-aaaa-py3.11"), true);
  });
});

describe("two windows", () => {
  test("make it once", async () => {
    await addDependency();
    const [one, two] = [tools(), tools()];
    const found = await Promise.all([bundledServer(plan, one), bundledServer(plan, two)]);
    assert.deepEqual(found[0], found[1]);
    assert.equal(one.ran.length + two.ran.length, 2);
  });

  test("a lock of a holder that died is taken over", async () => {
    await mkdir(plan.storage);
    const lock = join(plan.storage, "install.lock");
    // No process has a number as large as this.
    await writeFile(lock, "2147483647");
    assert.equal(await withLock(lock, () => Promise.resolve("done")), "done");
    assert.deepEqual(await readdir(plan.storage), []);
  });

  test("a lock of a holder that died before it wrote anything is taken over", async () => {
    await mkdir(plan.storage);
    const lock = join(plan.storage, "install.lock");
    await writeFile(lock, "");
    const before = new Date(Date.now() - 60_000);
    await utimes(lock, before, before);
    assert.equal(await withLock(lock, () => Promise.resolve("done")), "done");
  });

  test("a lock is given back when the work fails", async () => {
    await mkdir(plan.storage);
    const lock = join(plan.storage, "install.lock");
    await assert.rejects(withLock(lock, () => Promise.reject(new Error("no"))));
    assert.deepEqual(await readdir(plan.storage), []);
  });
});

describe.runIf(process.platform !== "win32")("programs", () => {
  async function script(text: string): Promise<Program> {
    const path = join(folder, "ralph-ls");
    await writeFile(path, `#!/bin/sh\n${text}\n`);
    await chmod(path, 0o755);
    return { command: path, args: [] };
  }

  test("say who they are", async () => {
    const program = await script('test "$1" = --version && echo "ralph-ls 0.1.0"');
    assert.deepEqual(await identify(program), { kind: "ours", version: "0.1.0" });
  });

  test("that fail are not ours, and why is known", async () => {
    const program = await script("echo broken >&2; exit 3");
    assert.deepEqual(await identify(program), { kind: "other", said: "broken" });
  });

  test("that are not there are not ours", async () => {
    const identity = await identify({ command: join(folder, "nothing"), args: [] });
    assert.match(identity.kind === "other" ? identity.said : "", /ENOENT/);
  });

  test("get their words as they are, and no shell reads them", async () => {
    const program = await script('test "$1" = "a; exit 9" && test "$#" = 1');
    await run({ ...program, args: ["a; exit 9"] });
  });

  test("are not led into another Python", async () => {
    process.env["PYTHONHOME"] = "/elsewhere";
    try {
      await run(await script('test -z "$PYTHONHOME"'));
    } finally {
      delete process.env["PYTHONHOME"];
    }
  });
});
