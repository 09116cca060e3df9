/** The server's process, played by real ones. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { describe, test } from "vitest";

import { launch, type ServerLog } from "../src/server/launch";
import type { Program } from "../src/server/lookup";
import { Restarts } from "../src/server/restarts";

function node(script: string): Program {
  return { command: process.execPath, args: ["-e", script] };
}

function log(): ServerLog & { readonly lines: string[] } {
  const lines: string[] = [];
  const at = (level: string) => (line: string) => {
    lines.push(`${level} ${line}`);
  };
  return { lines, info: at("info"), warn: at("warn"), error: at("error") };
}

describe("a server", () => {
  test("that dies tells its code and its last words, at the levels that it names", async () => {
    const told = log();
    const words = "INFO a: begun\\nWARNING b: odd\\nERROR c: bad\\nTraceback\\nImportError: gone";
    const server = await launch(
      node(`process.stderr.write("${words}", () => process.exit(3))`),
      told,
    );
    assert.equal(await server.ended, "it ended with code 3: ImportError: gone");
    assert.deepEqual(told.lines, [
      "info INFO a: begun",
      "warn WARNING b: odd",
      "error ERROR c: bad",
      "info Traceback",
      "info ImportError: gone",
      `error the server (pid ${server.child.pid ?? 0}) is gone: it ended with code 3`,
    ]);
  });

  test.runIf(process.platform !== "win32")("that is killed tells by what", async () => {
    const server = await launch(node("setInterval(() => {}, 1000)"), log());
    server.child.kill("SIGKILL");
    assert.equal(await server.ended, "it was ended by SIGKILL");
  });

  test("that leaves when it is asked is no error", async () => {
    const told = log();
    const server = await launch(node("process.stdin.resume().on('end', () => {})"), told);
    server.child.stdin.end();
    await server.end();
    assert.match(told.lines.join(), /^info the server .* code 0$/);
  });

  test("that will not leave is ended", async () => {
    const script =
      "process.on('SIGTERM', () => {}); console.log('on'); setInterval(() => {}, 1000)";
    const server = await launch(node(script), log(), 10);
    await once(server.child.stdout, "data");
    await server.end();
    assert.equal(server.child.signalCode, "SIGKILL");
  });

  test("that is not there rejects", async () => {
    await assert.rejects(launch({ command: "/nowhere/ralph-ls", args: [] }, log()), /ENOENT/);
  });
});

describe("a server that dies", () => {
  test("is started three times in three minutes, later each time, and no more", () => {
    const restarts = new Restarts();
    const pauses = [0, 1, 2].map((minute) => restarts.after(minute * 30_000) ?? assert.fail());
    assert.deepEqual(
      [...pauses].sort((a, b) => a - b),
      pauses,
    );
    assert.equal(new Set(pauses).size, 3);
    assert.equal(restarts.after(100_000), undefined);
    assert.equal(restarts.count, 4);
  });

  test("now and then is always started", () => {
    const restarts = new Restarts();
    for (let n = 0; n < 10; n += 1) {
      assert.notEqual(restarts.after(n * 61_000), undefined);
    }
  });

  test("is started once more for a person", () => {
    const restarts = new Restarts();
    [0, 1, 2, 3].forEach((at) => restarts.after(at));
    restarts.forget();
    assert.notEqual(restarts.after(4), undefined);
  });
});
