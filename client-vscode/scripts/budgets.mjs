/**
 * Whether the extension is as small as it has to be: its bundle, its pages, and its archive.
 *
 *     node scripts/budgets.mjs
 *
 * Bundles are made in memory as they are shipped; the archive is reckoned from the compressed sizes
 * of what is in it, without the wheels.
 */

import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { deflateRawSync, gzipSync } from "node:zlib";

import * as esbuild from "esbuild";

import { BUDGETS, bundles, client, isLeftOut, SHIPPED } from "./bundles.mjs";

/** What a ZIP says of a file beside its bytes, twice over, without its name. */
const ZIP_ENTRY = 30 + 46;

let isOver = false;

function report(what, size, most) {
    const verdict = size > most ? "TOO LARGE" : "ok";
    const [is, may] = [size, most].map((bytes) => (bytes / 1000).toFixed(1));
    console.log(`${what}: ${is} KB of ${may} KB, ${verdict}`);
    isOver ||= size > most;
}

/** Every file below a path. */
function filesIn(path) {
    return statSync(path).isDirectory()
        ? readdirSync(path).flatMap((name) => filesIn(join(path, name)))
        : [path];
}

const made = new Map();
for (const { options, budget } of bundles(true)) {
    const { outputFiles } = await esbuild.build({ ...options, write: false });
    const [{ contents }] = outputFiles;
    made.set(join(client, options.outfile), contents);
    report(`${options.outfile} minified`, contents.length, budget.minified);
    if (budget.compressed !== undefined) {
        report(`${options.outfile} compressed`, gzipSync(contents).length, budget.compressed);
    }
}

const others = [["package.json", join(client, "package.json")], ...SHIPPED]
    .map(([, path]) => path)
    .filter((path) => existsSync(path))
    .flatMap(filesIn)
    .filter((path) => !isLeftOut(path) && !made.has(path))
    .map((path) => [path, readFileSync(path)]);
const archive = [...made, ...others].reduce(
    (sum, [path, bytes]) => sum + deflateRawSync(bytes).length + ZIP_ENTRY + 2 * path.length,
    0,
);
report("the archive without wheels", archive, BUDGETS.archive);
process.exitCode = isOver ? 1 : 0;
