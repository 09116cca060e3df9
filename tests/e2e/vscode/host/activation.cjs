/** When it becomes active, and what it brings along then. */

const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");

const vscode = require("vscode");

const ID = "ralph-loop.ralph-loop";

/** Commands that a lens or a button carries; they stand in no menu. */
const CARRIED = /^ralphLoop\.(?:lens|runs)\.\w+$/;

/** Milliseconds of CPU that activate() may take: what a busy machine adds is waiting, not CPU. */
const MOST_CPU = 50;

exports.tests = [
    [
        "it sleeps in a folder without a loop",
        () => {
            assert.equal(extension().isActive, false);
        },
    ],
    [
        "it becomes active where a loop is, and tells how long that took",
        async ({ recorder, measured }) => {
            bringLoop();
            const [began, before] = [performance.now(), process.cpuUsage()];
            await extension().activate();
            const { user, system } = process.cpuUsage(before);
            measured("activation with loading its code, ms", performance.now() - began);
            measured("activation with loading its code, ms of CPU", (user + system) / 1000);
            const told = recorder.log
                .map((line) => /activated in ([\d.]+) ms, ([\d.]+) ms of CPU/.exec(line))
                .find((found) => found !== null);
            assert.ok(told, "the output channel says nothing of it");
            const [ms, cpu] = told.slice(1).map(Number);
            measured("activate(), ms", ms);
            measured("activate(), ms of CPU", cpu);
            assert.ok(cpu <= MOST_CPU, `activate() took ${cpu} ms of CPU`);
        },
    ],
    [
        "the commands that it registers are those that it contributes",
        async ({ recorder }) => {
            const contributed = extension()
                .packageJSON.contributes.commands.map(({ command }) => command)
                .sort();
            const registered = [...recorder.commands.keys()].filter((id) => !CARRIED.test(id));
            assert.deepEqual(registered.sort(), contributed);
            const known = new Set(await vscode.commands.getCommands(true));
            assert.deepEqual(
                contributed.filter((id) => !known.has(id)),
                [],
            );
        },
    ],
    [
        "every view that it contributes has somebody who fills it",
        async ({ recorder }) => {
            const views = extension().packageJSON.contributes.views.ralphLoop;
            const trees = views.filter(({ type }) => type !== "webview").map(({ id }) => id);
            assert.deepEqual([...recorder.trees.keys()].sort(), trees.sort());
        },
    ],
    [
        "once the server answers, the keys say what can be done here",
        async ({ recorder }) => {
            const { context } = recorder;
            await recorder.until(() => context.get("ralphLoop.server") === "ok", "the server");
            await recorder.until(() => context.get("ralphLoop.setup") === true, "the plan");
            await recorder.until(() => context.get("ralphLoop.can.start") === true, "a start");
            assert.equal(context.get("ralphLoop.hasRun"), false);
            assert.equal(context.get("ralphLoop.live"), false);
            assert.equal(context.get("ralphLoop.questionWaiting"), false);
            assert.equal(context.get("ralphLoop.state"), "none");
        },
    ],
];

function extension() {
    const found = vscode.extensions.getExtension(ID);
    assert.ok(found, `${ID} is not there`);
    return found;
}

/** Put the files of a loop into the folder, which has been opened without them. */
function bringLoop() {
    const [{ uri }] = vscode.workspace.workspaceFolders;
    const aside = path.join(uri.fsPath, ".git", "aside");
    for (const name of fs.readdirSync(aside)) {
        fs.renameSync(path.join(aside, name), path.join(uri.fsPath, name));
    }
}
