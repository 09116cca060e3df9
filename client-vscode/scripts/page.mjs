/**
 * The dashboard's page in the Python package: made of the same sources as the extension's.
 *
 *     node scripts/page.mjs --write | --check
 *
 * It is committed, so that nobody needs Node to use or install the package; `--check` fails where a
 * file is not what the sources make.
 */

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

import * as esbuild from "esbuild";

import { bundles, client, DASHBOARD } from "./bundles.mjs";

const folder = join(dirname(client), "server/ralph_ls/cli/dashboard");
const isWriting = process.argv.includes("--write");

for (const { name, packaged } of DASHBOARD) {
    const { options } = bundles(true).find((one) => one.options.outfile === `media/${name}`);
    const { outputFiles } = await esbuild.build({ ...options, write: false });
    const [{ text }] = outputFiles;
    const file = join(folder, packaged);
    if (existsSync(file) && readFileSync(file, "utf8") === text) {
        continue;
    }
    if (isWriting) {
        writeFileSync(file, text);
        console.log(`wrote ${file}`);
    } else {
        console.error(`${file} is stale; run: make generate`);
        process.exitCode = 1;
    }
}
