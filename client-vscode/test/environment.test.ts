/** The private environment, on a real disk; only Python itself is played. */

import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "vitest";

import {
  bundledServer,
  type EnvironmentPlan,
  type EnvironmentTools,
} from "../src/server/environment";
import { whyNotInstalled } from "../src/server/explain";
import type { Identity, Program } from "../src/server/lookup";
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
    doubted: false,
    platform: "linux",
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
    pythons: () => Promise.resolve({ pythons: [PYTHON], broken: [] }),
    run: async (program) => {
      ran.push(program);
      if (program.args.includes("venv")) {
        const bin = join(program.args.at(-1) ?? "", "bin");
        await mkdir(bin, { recursive: true });
        await writeFile(join(bin, "python"), "");
      }
    },
    identify: () => Promise.resolve<Identity>({ kind: "ours", version: "0.1.0" }),
    isInUse: () => Promise.resolve(undefined),
    step: (text) => {
      steps.push(text);
    },
    report: () => undefined,
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
    const pip = played.ran[2] ?? assert.fail();
    assert.deepEqual(pip.args.slice(0, 4), ["-I", "-m", "pip", "install"]);
    assert.ok(pip.args.includes("--no-index"));
    assert.ok(pip.args.includes("--isolated"));
    assert.equal(pip.args.at(-1), join(plan.wheels, "ralph_ls-0.1.0-py3-none-any.whl"));
    assert.deepEqual(played.steps, [
      "looking for Python",
      "creating an environment with Python 3.11",
      "installing the server",
      "testing the server",
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
    assert.match(
      lookup.command ?? "",
      /^python3 -I -m venv .*ralph_ls-0\.1\.0-py3-none-any\.whl'$/,
    );
  });

  test("an index is asked then, for what our own wheel needs", async () => {
    const played = tools();
    const lookup = await bundledServer({ ...plan, mayUseIndex: true }, played);
    assert.equal(lookup.kind, "found");
    const pip = played.ran[2]?.args ?? [];
    assert.deepEqual([pip.includes("--no-index"), pip.includes("--isolated")], [false, false]);
  });

  test("the Python that the wheels are for is taken, or none of them", async () => {
    await addDependency("pydantic_core-2.41-cp312-cp312-manylinux.whl");
    const newer = { ...PYTHON, path: "/usr/bin/python3.12", minor: 12 };
    const played = tools({
      pythons: () => Promise.resolve({ pythons: [PYTHON, newer], broken: [] }),
    });
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
      tools({
        pythons: () => Promise.resolve({ pythons: [old], broken: [] }),
        report: (line) => told.push(line),
      }),
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
      { identify: () => Promise.resolve({ kind: "other", reply: "Traceback" }) },
    ],
  ])("%s: nothing is left that could be taken for whole", async (_, changes) => {
    await addDependency();
    await assert.rejects(bundledServer(plan, tools(changes)));
    assert.deepEqual(await readdir(plan.storage), []);
    assert.equal((await bundledServer(plan, tools())).kind, "found");
  });
});

describe("a Python that makes no environment after all", () => {
  const newer = { ...PYTHON, path: "/usr/bin/python3.12", minor: 12 };

  test("gives way to the next one", async () => {
    await addDependency();
    const played = tools({
      pythons: () => Promise.resolve({ pythons: [newer, PYTHON], broken: [] }),
    });
    const lookup = await bundledServer(plan, {
      ...played,
      run: (program) =>
        program.command === newer.path ? Promise.reject(new Error("broken")) : played.run(program),
    });
    assert.equal(lookup.kind, "found");
    assert.match((await environments())[0] ?? "", /py3\.11$/);
  });

  test("is not followed by another where the disk is full", async () => {
    await addDependency();
    const asked = { pythons: [newer, PYTHON], broken: [] };
    const played = tools({ pythons: () => Promise.resolve(asked) });
    const run = async (program: Program): Promise<void> => {
      await played.run(program);
      throw new Error("OSError: [Errno 28] No space left on device");
    };
    await assert.rejects(bundledServer(plan, { ...played, run }), /No space left/);
    assert.equal(played.ran.length, 1);
    assert.deepEqual(await readdir(plan.storage), []);
  });

  test("fails with its own words where it is the only one", async () => {
    await addDependency();
    const run = (): Promise<void> => Promise.reject(new Error("ensurepip is not available"));
    await assert.rejects(bundledServer(plan, tools({ run })), /ensurepip/);
  });
});

describe("wheels of which one lacks", () => {
  function withoutIndex(): ReturnType<typeof tools> {
    const played = tools();
    return {
      ...played,
      run: async (program) => {
        await played.run(program);
        if (program.args.includes("--no-index")) {
          throw new Error("ERROR: No matching distribution found for pydantic-core");
        }
      },
    };
  }

  test("are told, and no index is asked", async () => {
    await addDependency();
    await assert.rejects(bundledServer(plan, withoutIndex()), /pydantic-core/);
  });

  test("are added to from the index once a person said so", async () => {
    await addDependency();
    const played = withoutIndex();
    const lookup = await bundledServer({ ...plan, mayUseIndex: true }, played);
    assert.equal(lookup.kind, "found");
    assert.deepEqual(
      played.ran.slice(2).map(({ args }) => args.includes("--no-index")),
      [true, false],
    );
    assert.deepEqual(played.steps.slice(2), [
      "installing the server",
      "installing the server with pip",
      "testing the server",
    ]);
  });
});

describe("an installation that was ended in the middle", () => {
  test("leaves nothing that is taken for whole, and what it left goes at the next start", async () => {
    await addDependency();
    // As kill -9 leaves it: half an environment under a pid that is gone, and its lock.
    const [name] = await halfMade();
    await writeFile(join(plan.storage, "install.lock"), "2147483647");
    const lookup = await bundledServer(plan, tools());
    assert.equal(lookup.kind, "found");
    assert.deepEqual(
      (await readdir(plan.storage)).filter((each) => each === name || each === "install.lock"),
      [],
    );
  });

  test("is cleared away too where another window has finished since", async () => {
    await addDependency();
    await bundledServer(plan, tools());
    const [name] = await halfMade();
    await bundledServer(plan, tools());
    assert.equal((await readdir(plan.storage)).includes(name ?? ""), false);
  });

  test("that somebody else is at is left alone", async () => {
    await addDependency();
    await mkdir(join(plan.storage, `server-0.1.0-aaaa-${process.pid}.new`), { recursive: true });
    await bundledServer(plan, tools());
    const names = await readdir(plan.storage);
    assert.equal(names.includes(`server-0.1.0-aaaa-${process.pid}.new`), true);
  });

  /** The environment's own name, as the installation gave it, with a pid that nobody has. */
  async function halfMade(): Promise<readonly string[]> {
    const name = "server-0.1.0-00000000-2147483647.new";
    await mkdir(join(plan.storage, name, "bin"), { recursive: true });
    await writeFile(join(plan.storage, name, "bin", "python"), "");
    await writeFile(join(plan.storage, name, "ready.json"), '{"asked": ""}');
    return [name];
  }
});

describe("a storage folder that cannot be written", () => {
  test("is told as that, and nothing is tried", async () => {
    await addDependency();
    // Root may write anywhere else.
    await writeFile(join(folder, "file"), "");
    const storage = join(folder, "file", "storage");
    const played = tools();
    const error: unknown = await bundledServer({ ...plan, storage }, played).catch(
      (failed: unknown) => failed,
    );
    const lookup = whyNotInstalled(error, { ...plan, storage });
    assert.match(lookup.kind === "missing" ? lookup.why : "", /cannot write to .*storage/);
    assert.deepEqual(played.ran, []);
  });
});

describe("a server that died before it answered", () => {
  test("is made anew where it cannot start any more", async () => {
    await addDependency();
    await bundledServer(plan, tools());
    const answers: Identity[] = [
      { kind: "other", reply: "No module named ralph_ls" },
      { kind: "ours", version: "0.1.0" },
    ];
    const played = tools({
      identify: () => Promise.resolve(answers.shift() ?? assert.fail()),
    });
    const lookup = await bundledServer({ ...plan, doubted: true }, played);
    assert.equal(lookup.kind, "found");
    assert.equal(played.ran.length, 3);
    assert.equal((await environments()).length, 1);
  });

  test("stays where it can", async () => {
    await addDependency();
    await bundledServer(plan, tools());
    const played = tools();
    await bundledServer({ ...plan, doubted: true }, played);
    assert.deepEqual(played.ran, []);
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
    assert.equal(played.ran.length, 3);
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
    assert.equal(played.ran.length, 3);
  });

  test("one of an older version goes as soon as nothing runs from it", async () => {
    await addDependency();
    const names = ["server-0.0.8-aaaa-py3.11", "server-0.0.9-aaaa-py3.11"];
    for (const name of names) {
      await mkdir(join(plan.storage, name), { recursive: true });
      await writeFile(join(plan.storage, name, "ready.json"), "{}");
    }
    const isInUse = (path: string): Promise<boolean> => Promise.resolve(path.includes("0.0.9"));
    await bundledServer(plan, tools({ isInUse }));
    const left = await environments();
    assert.deepEqual(
      names.map((name) => left.includes(name)),
      [false, true],
    );
    assert.equal(left.length, 2);
  });

  test("where nobody can tell, one goes that was not used for two weeks", async () => {
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
    assert.equal(one.ran.length + two.ran.length, 3);
  });

  test("one that waits says so, and makes nothing", async () => {
    await addDependency();
    const [one, two] = [tools(), tools()];
    let open = (): void => undefined;
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    let holds = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      holds = resolve;
    });
    const first = bundledServer(plan, {
      ...one,
      run: async (program) => {
        await one.run(program);
        holds();
        await gate;
      },
    });
    await held;
    const second = bundledServer(plan, {
      ...two,
      step: (text) => {
        two.step(text);
        if (text.startsWith("waiting")) {
          open();
        }
      },
    });
    assert.deepEqual(await first, await second);
    assert.equal(two.steps.at(-1), "waiting for another window to finish setup");
    assert.deepEqual(two.ran, []);
  });
});
