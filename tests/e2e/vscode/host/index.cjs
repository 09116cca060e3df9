/**
 * What is tested inside the extension host, where VS Code's own API is: that is, what no unit test
 * can reach and no screen shows.
 *
 * VS Code calls `run`. A runner of a few lines stands in for mocha: it has to do nothing that those
 * lines do not, and would be one more package to pin and to load. What came out goes into a file
 * beside this one, a line a test, since the host's console is not a page's.
 */

const fs = require("node:fs");
const path = require("node:path");

const { Recorder } = require("./recorder.cjs");

const TOLD = path.join(__dirname, "told.jsonl");
const FILES = ["./activation.cjs", "./views.cjs", "./answers.cjs", "./settings.cjs"];

exports.run = async () => {
    const recorder = new Recorder();
    const world = {
        recorder,
        measured: (what, value) => tell({ measured: what, value }),
    };
    let failed = 0;
    for (const file of FILES) {
        for (const [name, test] of require(file).tests) {
            const began = Date.now();
            try {
                await test(world);
                tell({ test: name, ok: true, seconds: (Date.now() - began) / 1000 });
            } catch (error) {
                failed += 1;
                tell({ test: name, ok: false, error: String(error?.stack ?? error) });
            }
        }
    }
    if (failed > 0) {
        throw new Error(`${failed} failed`);
    }
};

function tell(line) {
    fs.appendFileSync(TOLD, `${JSON.stringify(line)}\n`);
}
