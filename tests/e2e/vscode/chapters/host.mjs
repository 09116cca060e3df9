/** The tests that need VS Code's own API, run inside the extension host of a window of their own. */

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";

const TESTS = path.join(import.meta.dirname, "..", "host");

export const steps = [
    [
        "the tests inside the extension host pass",
        async (world) => {
            const { editor, known, server, host } = world;
            // In a folder of the extension, since that is how VS Code knows whose API they get.
            const extension = path.join(known.folder, "extension-under-test");
            const installed = server.extension("ralph-loop.ralph-loop");
            fs.cpSync(installed, extension, { recursive: true });
            fs.cpSync(TESTS, path.join(extension, "host"), { recursive: true });
            const tests = path.join(extension, "host", "index.cjs");
            const heard = [];
            const ended = editor.runTests(server.testPage(host.folder, extension, tests), (line) =>
                heard.push(line),
            );
            const failed = await ended.finally(() => {
                fs.writeFileSync(path.join(known.output, "host.log"), heard.join("\n"));
            });
            const told = readLines(path.join(extension, "host", "told.jsonl"));
            for (const { measured, value } of told.filter((line) => "measured" in line)) {
                world.measured(measured, value);
            }
            const ran = told.filter((line) => "test" in line);
            const broken = ran.filter(({ ok }) => !ok);
            assert.deepEqual(broken, []);
            assert.ok(ran.length > 0, "no test ran; see host.log");
            assert.equal(failed, 0);
        },
    ],
];

function readLines(name) {
    return fs.existsSync(name)
        ? fs
              .readFileSync(name, "utf8")
              .split("\n")
              .slice(0, -1)
              .map((line) => JSON.parse(line))
        : [];
}
