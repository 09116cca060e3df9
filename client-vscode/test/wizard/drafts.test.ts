/** Texts of the wizard that are edited or only read. */

import assert from "node:assert/strict";
import { describe, test } from "vitest";

import { folderOfDraft } from "../../src/wizard/draftUri";
import { readDraft, writeDraft } from "../../src/wizard/planDraft";
import { previewText } from "../../src/wizard/preview";
import { item, RESULT } from "./samples";

describe("the items as a text", () => {
  test("are the same when they come back", () => {
    const items = [
      item(0, { title: "First", priority: "P0", detail: "more\nand more" }),
      item(1, { title: "[ ] odd P2 title", isTicked: false }),
      item(2, { title: "Ünï — 日本", priority: "P2" }),
    ];
    assert.deepEqual(readDraft(writeDraft(items)), items);
  });

  test.each([
    ["- [x] P0 Title", "Title", "P0", true],
    ["- [ ] Title", "Title", "P1", false],
    ["* P2: Title", "Title", "P2", true],
    ["3. Title", "Title", "P1", true],
    ["Title", "Title", "P1", true],
    ["P10 reads", "P10 reads", "P1", true],
  ])("may be written as %j", (line, title, priority, isTicked) => {
    assert.deepEqual(readDraft(`${line}\r\n`), [{ ...item(0), title, priority, isTicked }]);
  });

  test("may have lines that say more, blank ones, and ones that are not read", () => {
    const draft = "# help\n\n- One\n  more\n\n\n  of it\n- [x]\n# no\n  of the last\n";
    assert.deepEqual(
      readDraft(draft).map(({ title, detail }) => [title, detail]),
      [["One", "more\nof it"]],
    );
    assert.equal(readDraft("  set in\n")[0]?.title, "set in");
    assert.deepEqual(readDraft(""), []);
  });
});

test("a draft says which folder it is about, and nothing else does", () => {
  const folder = "file:///srv/parser";
  assert.equal(folderOfDraft({ scheme: "ralph-draft", query: folder }), folder);
  for (const other of [undefined, null, "x", 1, { scheme: "file", query: folder }, {}]) {
    assert.equal(folderOfDraft(other), undefined);
  }
  assert.equal(folderOfDraft({ scheme: "ralph-draft", query: "" }), undefined);
});

test("what would be written is shown file by file, inside of fences that hold", () => {
  const text = "````\ncode\n````\n";
  const shown = previewText({
    ...RESULT,
    files: [...RESULT.files, { path: "x.md", action: "create", text }],
  });
  assert.match(shown, /^# What setup would write$/m);
  assert.match(shown, /^- Allow it first\.$/m);
  assert.match(shown, /## @fix_plan\.md\n\nNew file\.\n\n```\n# Plan\n\n- \[ \] a\n```\n/);
  assert.match(shown, /## \.ralph\/config\.toml\n\nChanges to:/);
  assert.match(shown, /## \.gitignore\n\nUnchanged\.\n/);
  assert.ok(shown.includes(`\`\`\`\`\`\n${text.trimEnd()}\n\`\`\`\`\`\n`));
  assert.ok(!previewText({ ...RESULT, notes: [] }).includes("- Allow"));
});
