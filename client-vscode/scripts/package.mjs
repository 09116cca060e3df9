/**
 * Makes the VSIX: the bundles, the page's files and the server's wheel, and nothing else.
 *
 *     node scripts/package.mjs [--with-dependencies | --target NAME [--wheels FOLDER]] [--pre-release] [--out FILE]
 *
 * The plain one is for every platform and holds our own wheel only; `--with-dependencies` adds the
 * wheels that the server needs on this platform with the Python of .venv, for installing without
 * a network; `--target darwin-arm64` those for that platform and every Python, which may have been
 * fetched into a folder before; `--pre-release` marks it for the galleries' second channel. It is
 * in dist/ afterwards. The addresses in the manifest are those of RALPH_REPOSITORY_URL. What is
 * shipped is laid out in a separate folder first, so that no list of files to leave out can be
 * forgotten.
 */

import { execFileSync, spawnSync } from "node:child_process";
import {
    cpSync,
    existsSync,
    mkdirSync,
    mkdtempSync,
    readFileSync,
    rmSync,
    statSync,
    writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";

import { BUDGETS, client, isLeftOut, SHIPPED } from "./bundles.mjs";

const root = dirname(client);
const python =
    process.env.RALPH_PYTHON ??
    join(root, ".venv", process.platform === "win32" ? "Scripts/python.exe" : "bin/python");
const { values: asked } = parseArgs({
    options: {
        "with-dependencies": { type: "boolean", default: false },
        target: { type: "string" },
        wheels: { type: "string" },
        "pre-release": { type: "boolean", default: false },
        out: { type: "string" },
    },
});
const withDependencies = asked["with-dependencies"];

const manifest = JSON.parse(readFileSync(join(client, "package.json"), "utf8"));
const target =
    asked.target ?? (withDependencies ? `${process.platform}-${process.arch}` : undefined);
const file = resolve(
    asked.out ??
        join(
            root,
            "dist",
            `${manifest.name}-${target === undefined ? "" : `${target}-`}${manifest.version}.vsix`,
        ),
);

/** The package and the extension are one product: one version. */
function checkVersion() {
    const source = readFileSync(join(root, "server/ralph_ls/__init__.py"), "utf8");
    const version = /^__version__ = "(.+)"$/m.exec(source)?.[1];
    if (version !== manifest.version) {
        throw new Error(
            `client-vscode/package.json is at ${manifest.version}, the server at ${version}: make them one`,
        );
    }
}

function run(program, parameters, cwd) {
    execFileSync(program, parameters, { cwd, stdio: ["ignore", "inherit", "inherit"] });
}

/** Make the archive; what the packer warns of would be shown to whoever looks for an extension. */
function pack(parameters, cwd) {
    const vsce = createRequire(join(client, "package.json")).resolve("@vscode/vsce/vsce");
    const { status, stdout, stderr } = spawnSync(
        process.execPath,
        [vsce, "package", ...parameters],
        { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] },
    );
    process.stdout.write(stdout);
    process.stderr.write(stderr);
    if (status !== 0 || /\bWARNING\b/.test(stdout + stderr)) {
        throw new Error("the extension was not packed without a warning: see above");
    }
}

/** What the archive may have, by the wheels that are in it. */
function budget() {
    if (target === undefined) {
        return BUDGETS.universal;
    }
    return withDependencies ? BUDGETS.onePython : BUDGETS.everyPython;
}

/** Lay out in `stage` exactly what is shipped. */
function layOut(stage) {
    // What an editor does not read: neither how it is built, nor with what.
    const shipped = { ...manifest, ...addresses };
    delete shipped.scripts;
    // Whatever is laid out here: the packer wants to be told so.
    writeFileSync(join(stage, ".vscodeignore"), "");
    delete shipped.devDependencies;
    writeFileSync(join(stage, "package.json"), `${JSON.stringify(shipped, undefined, 2)}\n`);
    for (const [name, from] of SHIPPED) {
        if (existsSync(from)) {
            cpSync(from, join(stage, name), {
                recursive: true,
                filter: (path) => !isLeftOut(path),
            });
        }
    }
    // Links start at the repository's root, as those of the changelog do. A local build's lead nowhere.
    const readme = readFileSync(join(stage, "README.md"), "utf8").replaceAll("](../", "](");
    writeFileSync(
        join(stage, "README.md"),
        isLocal ? readme.replaceAll(/^!\[.*\n\n/gm, "") : readme,
    );
    if (asked.wheels !== undefined) {
        cpSync(asked.wheels, join(stage, "wheels"), { recursive: true });
        return;
    }
    const wheels = [join(client, "scripts/wheels.py"), join(stage, "wheels")];
    const extent = asked.target === undefined ? [] : ["--target", asked.target];
    run(python, [...wheels, ...(withDependencies ? ["--with-dependencies"] : extent)], root);
}

checkVersion();
const addresses = JSON.parse(
    execFileSync(python, [join(root, ".ci/metadata_hook.py")], { encoding: "utf8" }),
);
const isLocal = new URL(addresses.homepage).hostname === "example.invalid";
/** Where the README's relative links and pictures lead to. */
const files = (kind) => `${addresses.homepage.replace(/\/$/, "")}/${kind}/v${manifest.version}`;
run(process.execPath, [join(client, "scripts/build.mjs"), "--production"], client);
const stage = mkdtempSync(join(tmpdir(), "ralph-vsix-"));
try {
    layOut(stage);
    mkdirSync(dirname(file), { recursive: true });
    pack(
        [
            "--no-dependencies",
            "--baseContentUrl",
            files("blob"),
            "--baseImagesUrl",
            files("raw"),
            ...(target === undefined ? [] : ["--target", target]),
            ...(asked["pre-release"] ? ["--pre-release"] : []),
            "--out",
            file,
        ],
        stage,
    );
} finally {
    rmSync(stage, { recursive: true, force: true });
}
const [is, may] = [statSync(file).size, budget()].map((size) => size / 1_000_000);
console.log(`${file}: ${is.toFixed(2)} MB of ${may} MB`);
if (is > may) {
    throw new Error(`${file} may have ${may} MB at most`);
}
