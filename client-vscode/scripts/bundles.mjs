/** What is bundled and what is shipped: for the build, the package and the budgets alike. */

import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const client = dirname(dirname(fileURLToPath(import.meta.url)));

/** Budgets in bytes: what is read at every start of an editor, and what is fetched once. */
export const BUDGETS = {
    extension: { minified: 180_000, compressed: 54_000 },
    /** The protocol's client, read when the first server is started. */
    languageClient: { minified: 420_000, compressed: 110_000 },
    /** Read when it is opened for the first time. */
    wizard: { minified: 60_000 },
    page: { minified: 80_000 },
    /** Script and style together: also in every file that \`ralph dashboard\` writes. */
    dashboard: { minified: 130_000 },
    dashboardStyle: { minified: 20_000 },
    /** Without the wheels of the server. */
    archive: 1_000_000,
    /** The archive with our own wheel, with those for one Python, and with those for every one. */
    universal: 3_000_000,
    onePython: 10_000_000,
    everyPython: 20_000_000,
};

/** The dashboard's script and style: the same bytes in the extension and in the Python package. */
export const DASHBOARD = [
    { entry: "src/webview/dashboard/entry.ts", name: "dashboard.js", packaged: "page.js" },
    { entry: "src/webview/dashboard/dashboard.css", name: "dashboard.css", packaged: "page.css" },
];

/** How one of them is built. */
function dashboardOptions(shared, { entry, name }) {
    return {
        ...shared,
        entryPoints: [entry],
        outfile: `media/${name}`,
        platform: "browser",
        format: "iife",
        target: "es2022",
        tsconfig: "src/webview/tsconfig.json",
        minify: true,
        sourcemap: false,
    };
}

/**
 * The bundles, each with its budget.
 *
 * @returns {readonly { options: import("esbuild").BuildOptions, budget: { minified: number, compressed?: number } }[]}
 */
export function bundles(production) {
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
    return [
        {
            budget: BUDGETS.extension,
            options: {
                ...shared,
                entryPoints: ["src/extension.ts"],
                outfile: "out/extension.js",
                platform: "node",
                format: "cjs",
                target: "node20",
                external: ["vscode"],
            },
        },
        {
            budget: BUDGETS.languageClient,
            options: {
                ...shared,
                entryPoints: ["src/server/languageClient.ts"],
                outfile: "out/languageClient.js",
                platform: "node",
                format: "cjs",
                target: "node20",
                external: ["vscode"],
                mainFields: ["module", "main"],
                alias: {
                    "semver/functions/parse": "./scripts/any-version.cjs",
                    "semver/functions/satisfies": "./scripts/any-version.cjs",
                },
            },
        },
        {
            budget: BUDGETS.wizard,
            options: {
                ...shared,
                entryPoints: ["src/wizard/entry.ts"],
                outfile: "out/wizard.js",
                platform: "node",
                format: "cjs",
                target: "node20",
                external: ["vscode"],
            },
        },
        {
            budget: BUDGETS.page,
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
        ...DASHBOARD.map((file) => ({
            budget: file.name.endsWith(".js") ? BUDGETS.dashboard : BUDGETS.dashboardStyle,
            options: dashboardOptions(shared, file),
        })),
    ];
}

/** The files in the archive beside package.json and the wheels: its name there, and its place. */
export const SHIPPED = [
    ["package.nls.json", join(client, "package.nls.json")],
    ["README.md", join(client, "README.md")],
    ["CHANGELOG.md", join(dirname(client), "CHANGELOG.md")],
    ["LICENSE.txt", join(dirname(client), "LICENSE")],
    ["out/extension.js", join(client, "out/extension.js")],
    ["out/languageClient.js", join(client, "out/languageClient.js")],
    ["out/wizard.js", join(client, "out/wizard.js")],
    ["l10n", join(client, "l10n")],
    ["media", join(client, "media")],
];

/** Whether a file of those folders is left out. */
export function isLeftOut(path) {
    return path.endsWith(".gitignore") || path.endsWith(".map");
}
