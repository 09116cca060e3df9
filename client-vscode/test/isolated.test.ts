/** Nothing that the open folder brings is imported or run by a Python that the extension starts. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join, relative } from "node:path";
import ts from "typescript";
import { afterEach, beforeEach, describe, test, vi } from "vitest";

import { absoluteSearchPath, pythonCode, pythonModule, typedModule } from "../src/server/isolated";
import { isBrought, onPath } from "../src/server/processes";

const SOURCES = join(import.meta.dirname, "../src");

/** The one module that may say how Python is called. */
const BUILDER = "server/isolated.ts";

/** What only a command line of Python has. */
const FLAGS = new Set(["-m", "-c", "-I", "-P", "-E", "-s"]);

/** Typed with or without flags, as a text. */
const TYPED = /(?:\bpython[\d.]*|\bpy -3(?:\.\d+)?|\$\{\w+\})(?: -\S+)* -[mc]\b/;

/** Every place of a source that builds a command line of Python by itself, as `line: text`. */
function commandLinesIn(name: string, text: string): readonly string[] {
  const source = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true);
  const found: string[] = [];
  const look = (node: ts.Node): void => {
    const isFlag = ts.isStringLiteralLike(node) && FLAGS.has(node.text);
    const isTyped =
      (ts.isStringLiteralLike(node) || ts.isTemplateExpression(node)) && TYPED.test(node.getText());
    if (isFlag || isTyped) {
      const { line } = source.getLineAndCharacterOfPosition(node.getStart());
      found.push(`${name}:${line + 1}: ${node.getText()}`);
    }
    node.forEachChild(look);
  };
  look(source);
  return found;
}

describe("command lines of Python", () => {
  test("are built in one module", () => {
    const names = readdirSync(SOURCES, { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts"))
      .map((name) => relative(SOURCES, join(SOURCES, name)).replaceAll("\\", "/"));
    assert.ok(names.includes(BUILDER));
    assert.ok(names.length > 50);
    const found = names
      .filter((name) => name !== BUILDER)
      .flatMap((name) => commandLinesIn(name, readFileSync(join(SOURCES, name), "utf8")));
    assert.deepEqual(found, []);
  });

  test.each([
    'const cli = { command: python, args: ["-m", "ralph_ls"] };',
    'run("python3 -m venv x");',
    "run(`${python} -c 1`);",
    'const words = ["-P", script];',
  ])("would be found: %s", (text) => {
    assert.equal(commandLinesIn("x.ts", text).length, 1);
  });

  test("are isolated", () => {
    const python = { command: "py", args: ["-3"] };
    assert.deepEqual(pythonModule(python, "pip", "list").args, ["-3", "-I", "-m", "pip", "list"]);
    assert.deepEqual(pythonCode(python, "1").args, ["-3", "-I", "-c", "1"]);
    assert.equal(typedModule("python3", "venv"), "python3 -I -m venv");
  });
});

describe.runIf(process.platform !== "win32")("an open folder", () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "ralph open "));
  });

  afterEach(() => {
    vi.unstubAllEnvs();
    rmSync(folder, { recursive: true, force: true });
  });

  test("brings no module to a Python that is started in it", () => {
    const evil = `open(${JSON.stringify(join(folder, "canary"))}, "w")`;
    for (const name of ["sitecustomize.py", "json.py", "venv.py", "encodings.py"]) {
      writeFileSync(join(folder, name), evil);
    }
    const { command, args } = pythonModule({ command: "python3", args: [] }, "json.tool", "--help");
    execFileSync(command, args, { cwd: folder, env: { ...process.env, PYTHONPATH: "." } });
    assert.ok(!readdirSync(folder).includes("canary"));
  });

  test("brings no program, by whatever way its path leads there", () => {
    const programs = join(folder, ".venv", "bin");
    mkdirSync(programs, { recursive: true });
    writeFileSync(join(programs, "ralph-ls"), "#!/bin/sh\n", { mode: 0o755 });
    symlinkSync("/bin/sh", join(programs, "python"));
    const outside = mkdtempSync(join(tmpdir(), "ralph link "));
    symlinkSync(programs, join(outside, "bin"));
    symlinkSync(join(programs, "ralph-ls"), join(outside, "ralph-ls"));
    for (const path of [
      join(programs, "ralph-ls"),
      join(programs, "python"),
      join(outside, "bin", "python"),
      join(outside, "ralph-ls"),
    ]) {
      assert.ok(isBrought(path, [folder]), path);
    }
    assert.ok(!isBrought("/bin/sh", [folder]));
    assert.ok(!isBrought(`${folder}-other/ralph-ls`, [folder]));
    vi.stubEnv("PATH", [programs, join(outside, "bin"), outside, "/bin"].join(delimiter));
    assert.equal(onPath("ralph-ls", [folder]), undefined);
    assert.equal(onPath("ralph-ls", []), join(programs, "ralph-ls"));
    rmSync(outside, { recursive: true });
  });

  test("that is a whole home brings nothing", () => {
    vi.stubEnv("HOME", folder);
    assert.ok(!isBrought(join(folder, ".local/bin/ralph-ls"), [folder]));
    assert.ok(!isBrought("/bin/sh", ["/"]));
  });

  test("is no entry of PYTHONPATH", () => {
    assert.equal(absoluteSearchPath(["", "/a", ".", "b", "/c", ""].join(delimiter)), "/a:/c");
    assert.equal(absoluteSearchPath(undefined), "");
  });
});
