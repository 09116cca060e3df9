/**
 * Bundles the extension and the pages of its views.
 *
 *     node scripts/build.mjs [--production] [--watch]
 *
 * `--production` leaves out the maps and makes the bundles small; `--watch` continues until it is
 * stopped. It fails where a bundle is above its budget.
 */

import { stat } from "node:fs/promises";
import { join } from "node:path";

import * as esbuild from "esbuild";

import { bundles, client } from "./bundles.mjs";

const production = process.argv.includes("--production");
const watch = process.argv.includes("--watch");

const all = bundles(production);

if (watch) {
    for (const { options } of all) {
        await (await esbuild.context({ ...options, logLevel: "info" })).watch();
    }
} else {
    for (const { options, budget } of all) {
        await esbuild.build(options);
        const { size } = await stat(join(client, options.outfile));
        console.log(`${options.outfile}: ${(size / 1000).toFixed(1)} KB`);
        if (production && size > budget.minified) {
            console.error(`${options.outfile} may have ${budget.minified / 1000} KB at most`);
            process.exitCode = 1;
        }
    }
}
