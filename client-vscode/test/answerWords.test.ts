import assert from "node:assert/strict";
import { describe, test } from "vitest";

import type { Option } from "../src/answer/threadModel";
import { acceptedAnswer, choicesFor, oneLine, plainMarkdown } from "../src/answer/words";

const options = (...answers: readonly string[]): readonly Option[] =>
  answers.map((answer) => ({ label: answer, answer }));

describe("the choices", () => {
  test("are the options, before anything is typed", () => {
    assert.deepEqual(choicesFor("  ", options("SQLite", "Redis")), [
      { label: "SQLite", answer: "SQLite" },
      { label: "Redis", answer: "Redis" },
    ]);
  });

  test("begin with what is typed, which no comparison hides", () => {
    const [own, ...rest] = choicesFor(" Neither. ", options("SQLite"));
    assert.deepEqual(own, { label: "Answer: Neither.", answer: "Neither.", alwaysShow: true });
    assert.deepEqual(rest, [{ label: "SQLite", answer: "SQLite" }]);
  });

  test("stand on one line each, and are sent as they were written", () => {
    assert.deepEqual(choicesFor("", options("a\n  file")), [
      { label: "a file", answer: "a\n  file" },
    ]);
  });

  test("accept what is typed, also where the choices are those for less of it", () => {
    const [own, option] = choicesFor("Eur", options("Dollar"));
    assert.equal(acceptedAnswer(own, " Euro "), "Euro");
    assert.equal(acceptedAnswer(undefined, "Euro"), "Euro");
    assert.equal(acceptedAnswer(option, "D"), "Dollar");
    assert.equal(acceptedAnswer(option, ""), "Dollar");
    assert.equal(acceptedAnswer(undefined, "  "), undefined);
  });

  test.each([
    ["", ""],
    ["\n a \t b\r\n", "a b"],
  ])("%j in one line is %j", (text, line) => {
    assert.equal(oneLine(text), line);
  });
});

describe("an agent's words as markdown", () => {
  test.each([
    ["Which engine? (a) SQLite (b) Redis!", "Which engine? (a) SQLite (b) Redis!"],
    ["one\ntwo\r\nthree", "one\n\ntwo\n\nthree"],
    ["[run it](command:workbench.action.quit)", "\\[run it\\](command:workbench.action.quit)"],
    ["![x](https://example.org/x.png)", "!\\[x\\](https://example.org/x.png)"],
    ["<img src=x>", "\\<img src=x\\>"],
    ["a & b &amp; c", "a \\& b \\&amp; c"],
    ["`code` *b* __c__ ~~d~~ \\e", "\\`code\\` \\*b\\* \\_\\_c\\_\\_ \\~\\~d\\~\\~ \\\\e"],
    ["# heading", "\\# heading"],
    ["- item", "\\- item"],
    ["+ item", "\\+ item"],
    ["===", "\\==="],
    ["12. item", "12\\. item"],
    ["3) item", "3\\) item"],
    ["3 of 4", "3 of 4"],
    ["> quoted", "\\> quoted"],
    ["    code", "\u00a0\u00a0\u00a0\u00a0code"],
    ["\t- item", "\u00a0\\- item"],
  ])("%j is written %j", (text, markdown) => {
    assert.equal(plainMarkdown(text), markdown);
  });
});
