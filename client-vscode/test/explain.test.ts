import assert from "node:assert/strict";
import { describe, test } from "vitest";

import { installCommand, whyNotInstalled } from "../src/server/explain";
import { callsOf, usualFolders, whyNoPython, type Python } from "../src/server/python";

const ATTEMPT = {
  storage: "/users/jörg/my storage",
  wheels: "/users/jörg/it's here/wheels",
  version: "0.1.0",
  platform: "linux",
} as const;

function failed(message: string, code?: string): Error {
  return Object.assign(new Error(message), code === undefined ? {} : { code });
}

describe("an installation that failed", () => {
  test.each([
    ["a full disk", failed("ENOSPC: no space left on device, write", "ENOSPC"), /disk is full/],
    ["a disk that pip filled", failed("[Errno 28] No space left on device"), /disk is full/],
    [
      "a read-only one",
      failed("EROFS: read-only file system", "EROFS"),
      /cannot write to .* .EROFS/,
    ],
    ["a folder of another's", failed("EACCES: permission denied", "EACCES"), /cannot write to/],
    [
      "no network",
      failed(
        "WARNING: Retrying … Failed to establish a new connection: [Errno -3]\n" +
          "ERROR: No matching distribution found for pydantic",
      ),
      /could not reach its package index/,
    ],
    [
      "a wheel that lacks",
      failed("ERROR: No matching distribution found for pydantic-core==2.41.5"),
      /no wheel of pydantic-core==2\.41\.5 fits/,
    ],
    ["anything else", failed("Traceback\n  …\nOSError: nobody knows"), /: OSError: nobody knows$/],
  ])("by %s says so, and what helps", (_, error, expected) => {
    const lookup = whyNotInstalled(error, ATTEMPT);
    assert.ok(lookup.kind === "missing");
    assert.match(lookup.why, expected);
    // Where pip could do it by hand, how is one button away.
    assert.equal(lookup.remedy === "install", lookup.command !== undefined);
  });

  test("can be made up for by hand, whatever the folders are called", () => {
    assert.equal(
      installCommand(ATTEMPT),
      "python3 -I -m venv ~/.ralph-ls && ~/.ralph-ls/bin/pip install " +
        "'/users/jörg/it'\\''s here/wheels/ralph_ls-0.1.0-py3-none-any.whl'",
    );
    assert.match(
      installCommand({ ...ATTEMPT, platform: "win32" }),
      /^py -3 -I -m venv "%USERPROFILE%/,
    );
  });
});

describe("no Python that will do", () => {
  const python = (minor: number, able = true): Python => ({
    path: `/usr/bin/python3.${minor}`,
    major: 3,
    minor,
    canMakeEnvironments: able,
  });
  const BROKEN = { command: "/shims/python3", reply: "pyenv: no such version\n" };

  test.each([
    ["none", [], [], /^No Python was found\. /, /^uv python install/],
    ["only broken ones", [], [BROKEN], /\/shims\/python3 printed “pyenv: no such version”/, /^uv/],
    ["too old ones", [python(8), python(10)], [], /newest Python here is 3\.10 \(/, /^uv/],
    [
      "one without venv",
      [python(9), python(12, false)],
      [],
      /Python 3\.12 .* install python3\.12-venv/,
      /^sudo apt install python3\.12-venv$/,
    ],
  ])("%s: says what there is and what helps", (_, pythons, broken, why, command) => {
    const told = whyNoPython({ pythons, broken }, "", "linux");
    assert.match(told.why, why);
    assert.match(told.command ?? "", command);
  });

  test.each([
    [[python(10)], [], /3\.10, and 3\.11 or newer is needed/],
    [[], [{ command: "/opt/python", reply: "spawn ENOENT" }], /\/opt\/python, .*: spawn ENOENT\./],
    [[], [], /it printed nothing/],
  ])("the one that is set is named with what is wrong with it", (pythons, broken, why) => {
    const told = whyNoPython({ pythons, broken }, "/opt/python", "linux");
    assert.match(told.why, /ralphLoop\.server\.python points to \/opt\/python/);
    assert.match(told.why, why);
  });

  test("no package manager is guessed at on another system", () => {
    const told = whyNoPython({ pythons: [python(12, false)], broken: [] }, "", "darwin");
    assert.equal(told.command, undefined);
  });
});

describe("on other systems", () => {
  test("Windows' launcher is asked for each version that wheels may be made for", () => {
    const calls = callsOf("C:\\Windows\\py.exe").map(({ args }) => args.join());
    assert.deepEqual(calls, ["-3", "-3.14", "-3.13", "-3.12", "-3.11"]);
    assert.deepEqual(callsOf("/usr/bin/python3"), [{ command: "/usr/bin/python3", args: [] }]);
  });

  test("folders are looked into that an editor's PATH lacks", () => {
    assert.ok(usualFolders("darwin", "/Users/x").includes("/opt/homebrew/bin"));
    assert.ok(usualFolders("linux", "/users/x").includes("/users/x/.local/bin"));
    assert.deepEqual(usualFolders("win32", "C:\\Users\\x"), []);
  });
});
