/** Settings that are changed while everything runs. */

const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");

const vscode = require("vscode");

/** Settings of the loop, a value for each, and its line in the configuration. */
const WRITTEN = [
    ["agent", "claude", 'agent = "claude"'],
    ["models.every", "opus", 'every = "opus"'],
    ["maxStuck", 7, "max_stuck = 7"],
    ["notify.quiet", "22:00-07:00", 'quiet = "22:00-07:00"'],
];

exports.tests = [
    [
        "the status item goes and comes with its setting",
        async ({ recorder }) => {
            const found = [...recorder.statusItems].find(([id]) => id.includes("ralphLoop"));
            assert.ok(found, [...recorder.statusItems.keys()].join());
            const [, status] = found;
            await set("statusBar.show", "always");
            await recorder.until(() => status.visible, "the item");
            await set("statusBar.show", "never");
            await recorder.until(() => !status.visible, "an empty place");
            await set("statusBar.show", undefined);
        },
    ],
    [
        "lenses go and come with theirs",
        async ({ recorder }) => {
            const [{ uri }] = vscode.workspace.workspaceFolders;
            const plan = vscode.Uri.joinPath(uri, "@fix_plan.md");
            await vscode.window.showTextDocument(plan);
            const lenses = async () =>
                await vscode.commands.executeCommand("vscode.executeCodeLensProvider", plan);
            assert.notEqual((await lenses()).length, 0);
            await set("lens.enabled", false);
            await settled(recorder, async () => (await lenses()).length === 0);
            await set("lens.enabled", undefined);
            await settled(recorder, async () => (await lenses()).length > 0);
        },
    ],
    [
        "agent, model, limit and notifications of the folder are written to its configuration",
        async ({ recorder }) => {
            const [{ uri }] = vscode.workspace.workspaceFolders;
            const file = path.join(uri.fsPath, ".ralph", "config.toml");
            const before = fs.readFileSync(file, "utf8");
            const lines = () => fs.readFileSync(file, "utf8").split("\n");
            const loop = vscode.workspace.getConfiguration("ralphLoop.run", uri);
            const { Workspace } = vscode.ConfigurationTarget;
            for (const [name, value] of WRITTEN) {
                await loop.update(name, value, Workspace);
            }
            const isIn = () => WRITTEN.every(([, , line]) => lines().includes(line));
            await recorder.until(isIn, "what was set");
            fs.writeFileSync(file, before);
        },
    ],
    [
        "everything is read with a default: no setting of ours is unknown to VS Code",
        () => {
            const { packageJSON } = vscode.extensions.getExtension("ralph-loop.ralph-loop");
            const blocks = packageJSON.contributes.configuration.map((block) => block.properties);
            const properties = Object.assign({}, ...blocks);
            for (const name of Object.keys(properties)) {
                const { defaultValue } = vscode.workspace.getConfiguration().inspect(name) ?? {};
                assert.deepEqual(defaultValue, properties[name].default, name);
            }
        },
    ],
];

async function set(name, value) {
    await vscode.workspace.getConfiguration("ralphLoop").update(name, value, true);
}

/** Wait until a question that takes time is answered with yes. */
async function settled(recorder, ask) {
    let isSo = false;
    const asking = async () => {
        isSo = isSo || (await ask());
    };
    await recorder.until(() => {
        void asking();
        return isSo;
    }, "the change");
}
