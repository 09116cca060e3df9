/**
 * Finds phrases of .ci/phrases.json in texts for users, with better ones.
 *
 *     echo '[{"file": "README.md", "line": 1, "text": "…"}]' | node scripts/prose.mjs
 *
 * Reads texts and prints findings, both as JSON. A text of a `.md` file is read as Markdown, so that
 * code in it is not; any other as it is, with code between backticks left out.
 */

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

import { TextlintKernel } from "@textlint/kernel";
import markdown from "@textlint/textlint-plugin-markdown";
import text from "@textlint/textlint-plugin-text";
import terminology from "textlint-rule-terminology";

const phrases = fileURLToPath(new URL("../../.ci/phrases.json", import.meta.url));
const { names, dialect, sentences } = JSON.parse(readFileSync(phrases, "utf8"));

/** The rule looks for the ends of words itself, but not around a pattern that looks ahead. */
const bounded = [...dialect, ...sentences].map(([pattern, better]) => [
    pattern.includes("(?!") || pattern.includes("(?=") ? `\\b(?:${pattern})` : `(?:${pattern})`,
    better,
]);

const kernel = new TextlintKernel();
const options = {
    plugins: [
        { pluginId: "markdown", plugin: markdown.default },
        { pluginId: "text", plugin: text.default },
    ],
    rules: [
        {
            ruleId: "terminology",
            rule: terminology,
            options: { terms: [...names, ...bounded], defaultTerms: false, skip: [] },
        },
    ],
};

const findings = [];
for (const { file, line, text: written } of JSON.parse(readFileSync(0, "utf8"))) {
    const ext = file.endsWith(".md") ? ".md" : ".txt";
    const prose = ext === ".md" ? written : written.replaceAll(/`[^`\n]*`/g, "`…`");
    const { messages } = await kernel.lintText(prose, { ...options, filePath: file, ext });
    for (const { message, loc } of messages) {
        const [, phrase, better] = /“(.*)”, use “(.*)” instead$/su.exec(message) ?? [];
        if (phrase === undefined) {
            throw new Error(`${file}: ${message}`);
        }
        findings.push({ file, line: line + loc.start.line - 1, phrase, better });
    }
}
console.log(JSON.stringify(findings));
