import assert from "node:assert/strict";
import { describe, test } from "vitest";

import type { Message } from "../src/generated/protocol";
import {
  cutToEnd,
  Lines,
  linesAdded,
  renderLine,
  renderMessage,
  wasAtEnd,
  withoutAnsi,
} from "../src/logs/render";

describe("bytes become lines", () => {
  test("wherever they are cut, also within a character", () => {
    const bytes = new TextEncoder().encode("ö1\nzwei €\ndrei");
    for (let at = 0; at <= bytes.length; at += 1) {
      const lines = new Lines();
      const read = [...lines.feed(bytes.subarray(0, at)), ...lines.feed(bytes.subarray(at))];
      assert.deepEqual(read, ["ö1", "zwei €"]);
    }
  });
});

describe("a message", () => {
  const about = { start: 2, offset: 0 };

  test.each<[Message, string]>([
    [{ ...about, kind: "text", text: "I look at it." }, "I look at it.\n"],
    [{ ...about, kind: "text", text: "\u001b[31mred\u001b[0m\r\n" }, "red\n"],
    [
      { ...about, kind: "tool", call: "1", name: "Bash", summary: "make test", state: "started" },
      "[tool] Bash make test\n",
    ],
    [
      { ...about, kind: "tool", call: "1", name: "Bash", summary: "", state: "failed" },
      "[tool] Bash (failed)\n",
    ],
    [{ ...about, kind: "file", path: "a.py", action: "changed" }, "[file] changed a.py\n"],
    [
      {
        ...about,
        kind: "todo",
        items: [
          { text: "one", state: "done" },
          { text: "two", state: "inProgress" },
          { text: "three", state: "pending" },
        ],
      },
      "[todo] [x] one\n[todo] [~] two\n[todo] [ ] three\n",
    ],
    [{ ...about, kind: "usage", usage: {} }, ""],
    [{ ...about, kind: "thought" } as unknown as Message, ""],
  ])("%# is read as a person reads it", (message, text) => {
    assert.equal(renderMessage(message), text);
  });

  test("of another iteration, or one that is torn, is passed over", () => {
    const line = JSON.stringify({ ...about, kind: "text", text: "hello" });
    assert.equal(renderLine(line, 2), "hello\n");
    assert.equal(renderLine(line, 3), "");
    assert.equal(renderLine(line.slice(0, 10), 2), "");
  });
});

describe("plain text", () => {
  test("loses its colours, links and cursor movements", () => {
    const text = "\u001b[1;32mok\u001b[0m \u001b]8;;http://x\u0007link\u001b]8;;\u0007 50%\r100%";
    assert.equal(withoutAnsi(text), "ok link 50%\n100%");
  });

  test("that is too long keeps its end, from a whole line on, and says so", () => {
    assert.equal(cutToEnd("short", 10), "short");
    const cut = cutToEnd("one\ntwo\nthree\nfour", 11);
    assert.equal(cut, "… 8 earlier characters omitted\nthree\nfour");
    assert.match(cutToEnd("x".repeat(30), 10), /20 earlier characters.*\nx{10}$/s);
  });
});

describe("a log that grows", () => {
  const change = (
    text: string,
    start: number,
    end = start,
  ): Parameters<typeof linesAdded>[0][0] => ({
    text,
    range: { start: { line: start }, end: { line: end } },
  });

  test("is longer by what was put in less what was taken out", () => {
    assert.equal(linesAdded([change("a\nb\n", 7)]), 2);
    assert.equal(linesAdded([change("one line", 0, 3), change("\n", 9)]), -2);
  });

  test("is followed by whoever had its end in view, and by nobody else", () => {
    // Lines 0 to 99 became 0 to 102.
    assert.equal(wasAtEnd([99], 102, 3), true);
    assert.equal(wasAtEnd([40, 99], 102, 3), true);
    assert.equal(wasAtEnd([98], 102, 3), false);
    assert.equal(wasAtEnd([], 102, 3), false);
    assert.equal(wasAtEnd([], 0, 0), true);
  });
});
