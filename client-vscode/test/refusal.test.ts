/** Errors of requests to a real process: what it answered, and what its end left unanswered. */

import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { afterEach, describe, test } from "vitest";
import {
  createMessageConnection,
  StreamMessageReader,
  StreamMessageWriter,
  type MessageConnection,
} from "vscode-jsonrpc/node";

import { isAnswer, toRefusal } from "../src/server/refusal";

let child: ChildProcess | undefined;

afterEach(() => {
  child?.kill("SIGKILL");
});

/** A server that reads a request and then does this. */
function server(then: string): MessageConnection {
  const script = `process.stdin.once("data", () => { ${then} })`;
  const started = spawn(process.execPath, ["-e", script], { stdio: ["pipe", "pipe", "inherit"] });
  child = started;
  const connection = createMessageConnection(
    new StreamMessageReader(started.stdout),
    new StreamMessageWriter(started.stdin),
  );
  // As the language client does: what is pending is given up.
  connection.onClose(() => {
    connection.dispose();
  });
  connection.listen();
  return connection;
}

async function errorOf(request: Promise<unknown>): Promise<unknown> {
  return await request.then(
    () => undefined,
    (error: unknown) => error,
  );
}

describe("a request", () => {
  test("that the server refuses is answered, by the server's own name for it", async () => {
    const error = { code: -32_803, message: "it is no repository", data: { code: "no-repo" } };
    const reply = JSON.stringify({ jsonrpc: "2.0", id: 0, error });
    const text = `Content-Length: ${reply.length}\r\n\r\n${reply}`;
    const connection = server(`process.stdout.write(${JSON.stringify(text)})`);
    const found = await errorOf(connection.sendRequest("ralph/subscribe", {}));
    assert.equal(isAnswer(found), true);
    assert.equal(toRefusal(found).code, "no-repo");
    connection.dispose();
  });

  test("of a server that dies is not answered", async () => {
    const connection = server('process.kill(process.pid, "SIGKILL")');
    const found = await errorOf(connection.sendRequest("ralph/subscribe", {}));
    assert.ok(found instanceof Error);
    assert.equal(isAnswer(found), false);
  });

  test("after its end is not answered", async () => {
    const connection = server("process.exit()");
    await errorOf(connection.sendRequest("ralph/state", {}));
    const found = await errorOf(
      Promise.resolve().then(() => connection.sendRequest("ralph/state", {})),
    );
    assert.ok(found instanceof Error);
    assert.equal(isAnswer(found), false);
  });
});
