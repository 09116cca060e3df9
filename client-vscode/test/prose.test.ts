import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";

import { describe, test } from "vitest";

const SCRIPT = fileURLToPath(new URL("../scripts/prose.mjs", import.meta.url));

interface Finding {
  readonly file: string;
  readonly line: number;
  readonly phrase: string;
  readonly better: string;
}

function findIn(...texts: readonly { file: string; line: number; text: string }[]): unknown {
  const output = execFileSync(process.execPath, [SCRIPT], { input: JSON.stringify(texts) });
  return (JSON.parse(output.toString()) as readonly Finding[]).map(
    ({ file, line, phrase, better }) => `${file}:${line}: ${phrase} > ${better}`,
  );
}

describe("phrases that users should not read", () => {
  test("are found in pages and in plain texts with a better one, and not in code", () => {
    const page = "# Title\n\nThe loop goes on.\nIt `goes on`, stands for\nstandard, put\nback.\n";
    assert.deepEqual(
      findIn(
        { file: "a.md", line: 1, text: page },
        { file: "a.py", line: 7, text: "Mend `stands`\nno plan stands here" },
      ),
      [
        "a.md:3: goes on > continues",
        "a.md:5: put\nback > restore",
        "a.py:7: Mend > Fix",
        "a.py:8: stands > is",
      ],
    );
  });
});
