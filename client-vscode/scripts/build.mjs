/**
 * Bundles the extension and the pages of its views.
 *
 *     node scripts/build.mjs [--production] [--watch]
 *
 * `--production` leaves out the maps and makes the bundles small; `--watch` goes on until it is
 * stopped. The extension must stay under 450 KB and a page under 80 KB: it fails where one does
 * not, since both are read at every start of an editor.
 */

import { stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import * as esbuild from "esbuild";

const client = dirname(dirname(fileURLToPath(import.meta.url)));
const production = process.argv.includes("--production");
const watch = process.argv.includes("--watch");

/** @type {import("esbuild").BuildOptions} */
const shared = {
    absWorkingDir: client,
    bundle: true,
    charset: "utf8",
    legalComments: "none",
    logLevel: "warning",
    minify: production,
    sourcemap: !production,
};

const bundles = [
    {
        most: 450_000,
        options: {
            ...shared,
            entryPoints: ["src/extension.ts"],
            outfile: "out/extension.js",
            platform: "node",
            format: "cjs",
            target: "node20",
            external: ["vscode"],
            mainFields: ["module", "main"],
        },
    },
    {
        most: 80_000,
        options: {
            ...shared,
            entryPoints: ["src/webview/loop.ts"],
            outfile: "media/loop.js",
            platform: "browser",
            format: "iife",
            target: "chrome120",
            tsconfig: "src/webview/tsconfig.json",
            // Always small: the page may not read a map anyway.
            minify: true,
            sourcemap: false,
        },
    },
];

if (watch) {
    for (const { options } of bundles) {
        await (await esbuild.context({ ...options, logLevel: "info" })).watch();
    }
} else {
    for (const { options, most } of bundles) {
        await esbuild.build(options);
        const { size } = await stat(join(client, options.outfile));
        console.log(`${options.outfile}: ${(size / 1000).toFixed(1)} KB`);
        if (production && size > most) {
            console.error(`${options.outfile} may have ${most / 1000} KB at most`);
            process.exitCode = 1;
        }
    }
}
