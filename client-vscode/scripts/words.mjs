/**
 * The words that users read, and whether each of them can be translated.
 *
 *     node scripts/words.mjs [--write | --sentences]
 *
 * Every `t("…")` of src/ is in l10n/bundle.l10n.json and nothing else is; `--write` makes it so. It
 * also finds what no bundle could reach: words that are put together, and words that are made
 * before there is a translator. `--sentences` lists texts that look like words and are not given
 * to `t`: for review, since commands and patterns look like words too.
 */

import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

import ts from "typescript";

const client = dirname(dirname(fileURLToPath(import.meta.url)));
const source = join(client, "src");
const bundle = join(client, "l10n", "bundle.l10n.json");

/** Where nobody but a developer reads: the log, errors of our own making, and what is compared. */
const UNSPOKEN_CALLS =
    /^(?:(?:this\.)?(?:tools\.)?(?:log|report)(?:\.\w+)?|RegExp|Error|TypeError|console\.\w+)$/;

/** What is called so in every language. */
const NAMES = new Set(["Ralph", "Ralph Loop", "Ralph:"]);

/** Marks the end of a line whose text looks like words and is none. */
const MARKED = "words: not for people";

function filesOf(folder) {
    return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
        const path = join(folder, entry.name);
        if (entry.isDirectory()) {
            return ["generated", "test"].includes(entry.name) ? [] : filesOf(path);
        }
        return entry.name.endsWith(".ts") ? [path] : [];
    });
}

/** Words in the order in which they are met, and what is wrong. */
function read() {
    const words = new Set();
    const problems = [];
    const sentences = [];
    for (const path of filesOf(source)) {
        const name = relative(client, path);
        if (name === join("src", "l10n.ts")) {
            continue;
        }
        const text = readFileSync(path, "utf8");
        const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
        const lines = text.split("\n");
        const report = (node, what, list = problems) => {
            const { line } = file.getLineAndCharacterOfPosition(node.getStart());
            if (list !== sentences || !lines[line]?.includes(MARKED)) {
                list.push(`${name}:${line + 1}: ${what}`);
            }
        };
        const visit = (node, inFunction) => {
            if (ts.isCallExpression(node) && node.expression.getText() === "t") {
                readCall(node, inFunction, words, report);
                // What is put in its place is read like any other text.
                node.arguments.slice(1).forEach((given) => {
                    visit(given, inFunction);
                });
                return;
            }
            if (isText(node) && isSentence(textOf(node)) && isSpoken(node)) {
                report(node, `not given to t(): ${node.getText()}`, sentences);
            }
            const inside = inFunction || ts.isFunctionLike(node);
            ts.forEachChild(node, (child) => {
                visit(child, inside);
            });
        };
        visit(file, false);
    }
    return { words, problems, sentences };
}

function readCall(node, inFunction, words, report) {
    const [message, ...given] = node.arguments;
    if (message === undefined || !ts.isStringLiteral(message)) {
        report(node, "the first argument of t() has to be one plain text");
        return;
    }
    words.add(message.text);
    if (!inFunction) {
        report(node, `made before there is a translator: ${message.getText()}`);
    }
    const places = new Set([...message.text.matchAll(/\{(\d+)\}/g)].map(([, at]) => Number(at)));
    if (given.some((each) => ts.isSpreadElement(each))) {
        return;
    }
    if (places.size !== given.length || [...places].some((at) => at >= given.length)) {
        report(node, `${places.size} places for ${given.length} values: ${message.getText()}`);
    }
}

function isText(node) {
    return (
        ts.isStringLiteral(node) ||
        ts.isNoSubstitutionTemplateLiteral(node) ||
        ts.isTemplateExpression(node)
    );
}

function textOf(node) {
    return ts.isTemplateExpression(node)
        ? [node.head.text, ...node.templateSpans.map(({ literal }) => literal.text)].join("\0")
        : node.text;
}

/** Two words of letters after each other, or one with a capital that is no name of a program. */
function isSentence(text) {
    if (NAMES.has(text.trim()) || /[<>]|;\s|^\s*[.#$-]/.test(text)) {
        return false;
    }
    return /\p{L}{2,}[,:]? \p{L}{2,}|(?:^|\s)\p{L}{2,} ?\0|\0 ?\p{L}{3,}|^\p{Lu}\p{Ll}+…?$/u.test(
        text,
    );
}

function isSpoken(node) {
    for (let at = node.parent; at !== undefined; at = at.parent) {
        if (
            ts.isImportDeclaration(at) ||
            ts.isTypeNode(at) ||
            ts.isCaseClause(at) ||
            (ts.isBinaryExpression(at) && /^[!=]==?$/.test(at.operatorToken.getText()))
        ) {
            return false;
        }
        if (
            (ts.isCallExpression(at) || ts.isNewExpression(at)) &&
            UNSPOKEN_CALLS.test(at.expression.getText())
        ) {
            return false;
        }
        if (ts.isFunctionLike(at) || ts.isStatement(at)) {
            break;
        }
    }
    return true;
}

const { words, problems, sentences } = read();
const sorted = [...words].sort((one, other) => (one < other ? -1 : 1));
const wanted = `${JSON.stringify(Object.fromEntries(sorted.map((word) => [word, word])), undefined, 2)}\n`;
if (process.argv.includes("--write")) {
    mkdirSync(dirname(bundle), { recursive: true });
    writeFileSync(bundle, wanted);
} else {
    const kept = existsSync(bundle) ? JSON.parse(readFileSync(bundle, "utf8")) : {};
    for (const word of sorted.filter((each) => kept[each] !== each)) {
        problems.push(`l10n/bundle.l10n.json lacks ${JSON.stringify(word)}`);
    }
    for (const word of Object.keys(kept).filter((each) => !words.has(each))) {
        problems.push(`l10n/bundle.l10n.json has what is not in src/: ${JSON.stringify(word)}`);
    }
    if (problems.length > 0) {
        problems.push("where only the bundle differs: node scripts/words.mjs --write");
    }
}
for (const problem of process.argv.includes("--sentences") ? sentences : problems) {
    console.error(problem);
}
process.exitCode = problems.length > 0 ? 1 : 0;
