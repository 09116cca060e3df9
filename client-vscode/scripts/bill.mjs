/**
 * Writes the bill of materials of the extension: the packages of npm that are in its bundles.
 *
 *     node scripts/bill.mjs FILE
 *
 * Most of what the lock names only builds and tests; esbuild knows what it took.
 */

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import * as esbuild from "esbuild";

import { bundles, client } from "./bundles.mjs";

const read = (path) => JSON.parse(readFileSync(path, "utf8"));

const folders = new Set();
for (const { options } of bundles(true)) {
    const { metafile } = await esbuild.build({ ...options, write: false, metafile: true });
    for (const path of Object.keys(metafile.inputs)) {
        // The innermost package that the file is in; a name may have a scope.
        const found = /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path);
        if (found !== null) {
            folders.add(found[0]);
        }
    }
}

const components = [...folders].sort().map((folder) => {
    const { name, version, license } = read(join(client, folder, "package.json"));
    const purl = `pkg:npm/${name.replace("@", "%40")}@${version}`;
    return {
        type: "library",
        "bom-ref": purl,
        name,
        version,
        purl,
        licenses: [{ expression: license }],
    };
});
const { name, version, license } = read(join(client, "package.json"));
const component = {
    type: "application",
    "bom-ref": name,
    name,
    version,
    licenses: [{ expression: license }],
};
const bill = {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: { component },
    components,
};
writeFileSync(process.argv[2], `${JSON.stringify(bill, undefined, 2)}\n`);
