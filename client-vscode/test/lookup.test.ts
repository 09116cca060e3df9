import assert from "node:assert/strict";
import { describe, test } from "vitest";

import {
  findServer,
  fits,
  readIdentity,
  type Identity,
  type Lookup,
  type LookupSettings,
  type Probes,
} from "../src/server/lookup";
import { readPython, wheelsAreFor, whyNot } from "../src/server/python";

const OURS: Identity = { kind: "ours", version: "0.1.3" };
const OTHER: Identity = { kind: "other", reply: 'it printed "ralph 2.0"' };

const BUNDLED: Lookup = {
  kind: "found",
  found: {
    server: { command: "/storage/python", args: ["-c", "…"] },
    cli: undefined,
    version: "0.1.0",
    from: "/storage",
  },
};

/** A world in which these programs are there; what was asked of whom is kept. */
function world(
  programs: Readonly<Record<string, Identity>>,
  environment: readonly string[] = [],
): Probes & { readonly asked: string[]; readonly told: string[] } {
  const asked: string[] = [];
  const told: string[] = [];
  return {
    asked,
    told,
    identify: ({ command, args }) => {
      asked.push([command, ...args].join(" "));
      return Promise.resolve(programs[command] ?? { kind: "other", reply: "ENOENT" });
    },
    environment: () => Promise.resolve(environment.map((path) => ({ path, from: "PATH" }))),
    beside: (path, name) => (path === "/venv/bin/ralph-ls" ? `/venv/bin/${name}` : undefined),
    bundled: () => Promise.resolve(BUNDLED),
    report: (line) => {
      told.push(line);
    },
  };
}

const BY_BUNDLE: LookupSettings = { path: "", importStrategy: "bundled" };
const BY_ENVIRONMENT: LookupSettings = { path: "", importStrategy: "environment" };

describe("the server", () => {
  test("that a setting names is taken, and its command line beside it", async () => {
    const probes = world({ "/venv/bin/ralph-ls": OURS });
    const lookup = await findServer({ ...BY_BUNDLE, path: "/venv/bin/ralph-ls" }, "0.1.0", probes);
    assert.equal(lookup.kind === "found" && lookup.found.server.command, "/venv/bin/ralph-ls");
    assert.equal(lookup.kind === "found" && lookup.found.cli?.command, "/venv/bin/ralph");
    assert.deepEqual(probes.asked, ["/venv/bin/ralph-ls"]);
  });

  test("that a setting names is never passed over in silence", async () => {
    const probes = world({ "/bin/ralph-ls": OTHER }, ["/venv/bin/ralph-ls"]);
    const lookup = await findServer(
      { path: "/bin/ralph-ls", importStrategy: "environment" },
      "0.1.0",
      probes,
    );
    assert.equal(lookup.kind, "missing");
    assert.match(lookup.why, /\/bin\/ralph-ls.*ralph 2\.0/);
    assert.equal(lookup.remedy, "setting");
  });

  test("comes with the extension, and nothing of the environment is asked", async () => {
    const probes = world({ "/venv/bin/ralph-ls": OURS }, ["/venv/bin/ralph-ls"]);
    assert.equal(await findServer(BY_BUNDLE, "0.1.0", probes), BUNDLED);
    assert.deepEqual(probes.asked, []);
  });

  test("of the environment comes first where that is wanted", async () => {
    const probes = world({ "/venv/bin/ralph-ls": OURS }, ["/venv/bin/ralph-ls"]);
    const lookup = await findServer(BY_ENVIRONMENT, "0.1.0", probes);
    assert.equal(lookup.kind === "found" && lookup.found.version, "0.1.3");
  });

  test("of another owner, or of another version, is passed over and told", async () => {
    const probes = world(
      { "/a/ralph-ls": OTHER, "/b/ralph-ls": { kind: "ours", version: "0.2.0" } },
      ["/a/ralph-ls", "/b/ralph-ls"],
    );
    assert.equal(await findServer(BY_ENVIRONMENT, "0.1.0", probes), BUNDLED);
    assert.match(probes.told[0] ?? "", /\/a\/ralph-ls .* not our server/);
    assert.match(probes.told[1] ?? "", /\/b\/ralph-ls .* 0\.2\.0; .* 0\.1\.0/);
  });
});

describe("who a program is", () => {
  test.each([
    ["ralph-ls 0.1.0\n", { kind: "ours", version: "0.1.0" }],
    ["ralph-ls 1.2.3rc1", { kind: "ours", version: "1.2.3rc1" }],
    ["ralph 0.1.0\n", { kind: "other", reply: 'it printed "ralph 0.1.0"' }],
    ["Wreck-It ralph-ls 0.1.0", { kind: "other", reply: 'it printed "Wreck-It ralph-ls 0.1.0"' }],
    ["ralph-ls 0.1.0\nand more", { kind: "other", reply: 'it printed "ralph-ls 0.1.0"' }],
    ["", { kind: "other", reply: "it printed nothing" }],
  ])("%j", (output, identity) => {
    assert.deepEqual(readIdentity(output), identity);
  });

  test.each([
    ["0.1.9", "0.1.0", true],
    ["0.2.0", "0.1.0", false],
    ["1.9.0", "1.2.0", true],
    ["2.0.0", "1.2.0", false],
    ["1.0.0", "0.1.0", false],
  ])("%s for %s: %s", (version, ours, expected) => {
    assert.equal(fits(version, ours), expected);
  });
});

describe("a Python", () => {
  test("is read from what the probe prints", () => {
    assert.deepEqual(readPython('["/usr/bin/python3.11", 3, 11, true]\n'), {
      path: "/usr/bin/python3.11",
      major: 3,
      minor: 11,
      canMakeEnvironments: true,
    });
  });

  test.each(["", "Python was not found", "{}", "[1, 2]", '["x", "3", 11, true]'])(
    "is none where that is %j",
    (output) => {
      assert.equal(readPython(output), undefined);
    },
  );

  test.each([
    [{ major: 3, minor: 11, canMakeEnvironments: true }, undefined],
    [{ major: 3, minor: 15, canMakeEnvironments: true }, undefined],
    [{ major: 3, minor: 10, canMakeEnvironments: true }, /3\.10.*3\.11 or newer/],
    [{ major: 2, minor: 7, canMakeEnvironments: true }, /2\.7/],
    [{ major: 3, minor: 12, canMakeEnvironments: false }, /python3-venv/],
  ])("%o will do: %s", (python, expected) => {
    const why = whyNot({ path: "python", ...python });
    if (expected === undefined) {
      assert.equal(why, undefined);
    } else {
      assert.match(why ?? "", expected);
    }
  });
});

describe("wheels", () => {
  test.each([
    [["pydantic-2.12-py3-none-any.whl"], undefined],
    [["pydantic_core-2.41-cp311-cp311-manylinux_2_17_x86_64.whl"], [11]],
    [
      ["a-1-cp311-cp311-linux.whl", "a-1-cp312-cp312-linux.whl"],
      [11, 12],
    ],
    [["psutil-7.0-cp36-abi3-manylinux.whl"], undefined],
  ])("%j are for %j", (names, minors) => {
    assert.deepEqual(wheelsAreFor(names), minors);
  });
});
