/**
 * Import cycles: fails if modules of src/ import each other in a circle, types included.
 *
 *     node scripts/cycles.mjs
 */

import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

import ts from "typescript";

const source = join(dirname(dirname(fileURLToPath(import.meta.url))), "src");

const modules = readdirSync(source, { recursive: true })
    .map((name) => join(source, name))
    .filter((path) => path.endsWith(".ts"));
const known = new Set(modules);
const imports = new Map(modules.map((path) => [path, importsOf(path)]));

/** The modules of ours that a module imports. */
function importsOf(path) {
    return ts
        .preProcessFile(readFileSync(path, "utf8"))
        .importedFiles.map(({ fileName }) => join(dirname(path), `${fileName}.ts`))
        .filter((imported) => known.has(imported));
}

/** One cycle that a search from `path` meets, as the modules on it. */
function findCycle(path, trail, done) {
    const position = trail.indexOf(path);
    if (position >= 0) {
        return [...trail.slice(position), path];
    }
    if (done.has(path)) {
        return undefined;
    }
    for (const imported of imports.get(path)) {
        const cycle = findCycle(imported, [...trail, path], done);
        if (cycle !== undefined) {
            return cycle;
        }
    }
    done.add(path);
    return undefined;
}

const done = new Set();
for (const path of modules) {
    const cycle = findCycle(path, [], done);
    if (cycle !== undefined) {
        console.error(`import cycle: ${cycle.map((one) => relative(source, one)).join(" -> ")}`);
        process.exitCode = 1;
        break;
    }
}
