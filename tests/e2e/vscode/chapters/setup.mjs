/**
 * An editor of its own, in which nothing is ready: no Python that will do, and no trust.
 *
 * Then a server that is made, that dies, that comes back, and that leaves with the window, while
 * the run goes on through all of it. Everything lies in folders with blanks and umlauts.
 */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";

import { Editor } from "../driver.mjs";
import { CodeServer } from "../server.mjs";
import { changeIn, file, Journal, PATIENCE } from "../waiting.mjs";

const PLAN = "# Plan\n\n- [ ] Write the manual\n- [ ] Print it\n";

export const steps = [
    [
        "a Python that is too old: which, and the way to get one, in a folder that is not trusted",
        async (world) => {
            const strange = layOut(world);
            world.strange = strange;
            const { server } = strange;
            server.install(world.known.archives[0]);
            await server.start();
            const page = await world.editor.browser.newPage({
                viewport: { width: 1400, height: 900 },
            });
            const editor = new Editor(page, world.known.output);
            strange.editor = editor;
            await editor.goto(server.page(strange.folder, strange.plan));
            await page.getByRole("button", { name: "No, I don't trust the authors" }).click();
            await editor.openViews(editor.webview.locator(".card"));
            const card = editor.webview.locator(".card");
            await editor.reads(card, "One-time setup");
            assert.equal(await card.getAttribute("data-tone"), "plain", "it is red at first");
            await editor.reads(card, "3.9, and 3.11 or newer is needed");
            await card.locator("button", { hasText: "Other Ways…" }).click();
            await editor.row("Select Python…").waitFor();
            await editor.press("Escape");
            assert.deepEqual(processesOf(server), []);
            await editor.picture("setup-1-python-too-old");
        },
    ],
    [
        "with a Python that will do it is set up step by step, and asks nothing",
        async (world) => {
            const { server, editor } = world.strange;
            server.set("ralphLoop.server.python", world.known.python);
            await world.served(editor.webview.locator(".card .busy:not([hidden])"));
            await editor.reads(status(editor), "setting up");
            await editor.picture("setup-2-installing");
            await world.served(editor.webview.locator(".card", { hasText: "Restricted mode" }));
            assert.equal(await editor.toasts.count(), 0, "something popped up");
        },
    ],
    [
        "not trusted: the plan is shown, and nothing can be started",
        async (world) => {
            const { server, editor } = world.strange;
            await editor.reads(editor.rows("Plan"), "Write the manual");
            const [served] = processesOf(server);
            assert.match(served?.line ?? "", /--read-only/);
            await editor.press("F1");
            await editor.quickInput.fill(">Ralph: S");
            // One that may be called all the same is there, so the list is that of these words.
            await editor.row("Ralph: Show Output").waitFor();
            assert.equal(await editor.row("Ralph: Start Loop").count(), 0);
            await editor.press("Escape");
            await editor.picture("setup-3-not-trusted");
        },
    ],
    [
        "trust is granted: the full server, without loading the window again",
        async (world) => {
            const { server, editor } = world.strange;
            const [before] = processesOf(server);
            await editor.page.evaluate(() => (globalThis.sameWindow = true));
            const card = editor.webview.locator(".card", { hasText: "Restricted mode" });
            await card.locator("button", { hasText: "Manage Trust" }).click();
            const trust = editor.page.locator(".workspace-trust-editor .monaco-button", {
                hasText: /^Trust$/,
            });
            await trust.first().click();
            await editor.press("Escape");
            await card.waitFor({ state: "detached" });
            await running(server, ({ pid, line }) => {
                return pid !== before.pid && !line.includes("--read-only");
            });
            // It takes orders once the new server has answered.
            await editor.webview.locator("button:enabled", { hasText: "Start loop" }).waitFor();
            assert.equal(await editor.page.evaluate(() => globalThis.sameWindow), true);
        },
    ],
    [
        "a server that is killed is started again, and the run never notices",
        async (world) => {
            const { server, editor, journal } = world.strange;
            await editor.reads(editor.rows("Plan"), "Write the manual");
            await editor.command("Ralph: Start Loop");
            const { pid: engine } = await journal.event("runStarted");
            await file(world.strange.working);
            await editor.reads(editor.webview.locator(".headline"), /running/i);
            const [before] = processesOf(server);
            process.kill(before.pid, "SIGKILL");
            await running(server, ({ pid }) => pid !== before.pid);
            await editor.reads(status(editor), "Ralph 1/");
            process.kill(engine, 0);
            world.strange.engine = engine;
        },
    ],
    [
        "one that dies again and again: the card says so, and that the loop goes on",
        async (world) => {
            const { server, editor, engine } = world.strange;
            const card = editor.webview.locator(".card", { hasText: "Server stopped" });
            let last;
            while ((await card.count()) === 0) {
                const found = await running(server, ({ pid }) => pid !== last, card);
                if (found !== undefined) {
                    last = found.pid;
                    process.kill(last, "SIGKILL");
                }
            }
            await editor.reads(card, "The running loop continues without it.");
            await editor.reads(card, /SIGKILL/);
            process.kill(engine, 0);
            await editor.picture("setup-4-server-stopped");
            await card.locator("button", { hasText: "Restart Server" }).click();
            await card.waitFor({ state: "detached" });
            await editor.reads(status(editor), "Ralph 1/");
        },
    ],
    [
        "the window is closed: its server leaves, and the run goes on",
        async (world) => {
            const { server, editor, engine } = world.strange;
            await editor.page.goto("about:blank");
            const end = Date.now() + PATIENCE;
            while (processesOf(server).length > 0) {
                assert.ok(Date.now() < end, JSON.stringify(processesOf(server)));
                await changeIn(server.folder, 500);
            }
            process.kill(engine, 0);
            await editor.page.close();
            ralph(world, "stop", "--now");
            await world.strange.journal.event("runEnded");
        },
    ],
];

/** A repository with an agent that waits, an old Python, and an editor's server. */
function layOut(world) {
    const { known } = world;
    const folder = path.join(known.folder, "Büro für Schleifen", "manual");
    const tools = path.join(known.folder, "Büro für Schleifen", "tools");
    fs.mkdirSync(path.join(folder, ".ralph"), { recursive: true });
    fs.mkdirSync(tools);
    const working = path.join(tools, "working");
    const agent = script(tools, "agent", [
        'say() { printf "%s\\n" "$@"; }',
        'say "Reading the plan."',
        `: >"${working}"`,
        `mkfifo "${working}.gate" 2>/dev/null; read -r _ <"${working}.gate"`,
    ]);
    const old = script(tools, "python3.9", ["echo '[\"/usr/bin/python3.9\", 3, 9, true]'"]);
    const plan = path.join(folder, "@fix_plan.md");
    fs.writeFileSync(plan, PLAN);
    const config = `agent = "command"\n\n[agents.command]\nargv = ${JSON.stringify([agent])}\n`;
    fs.writeFileSync(path.join(folder, ".ralph", "config.toml"), config);
    for (const words of [["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "The beginning"]]) {
        execFileSync("git", words, { cwd: folder });
    }
    const server = new CodeServer({
        program: known.program,
        folder: fs.mkdirSync(path.join(known.folder, "Büro für Code"), { recursive: true }),
        environment: process.env,
        trust: true,
        settings: {
            "workbench.colorTheme": "Default Light Modern",
            "security.workspace.trust.enabled": true,
            "security.workspace.trust.startupPrompt": "once",
            "workbench.editor.useModal": "off",
            "ralphLoop.server.python": old,
        },
    });
    const strange = { folder, plan, server, working };
    strange.journal = new Journal(known.stateFolder, folder);
    world.strange = strange;
    ralph(world, "allow", "--yes");
    return strange;
}

function script(folder, name, lines) {
    const program = path.join(folder, name);
    fs.writeFileSync(program, `#!/bin/sh\n${lines.join("\n")}\n`, { mode: 0o755 });
    return program;
}

function ralph({ known, strange }, ...words) {
    const [program, ...before] = known.ralph;
    execFileSync(program, [...before, ...words], { cwd: strange.folder });
}

function status(editor) {
    return editor.status("ralph-loop.ralph-loop.ralphLoop.status");
}

/** Every language server that runs from this editor's own storage. */
function processesOf({ folder }) {
    return fs
        .readdirSync("/proc")
        .filter((name) => /^\d+$/.test(name))
        .map((pid) => ({ pid: Number(pid), line: lineOf(pid) }))
        .filter(({ line }) => line.includes(folder) && line.includes("run_language_server"))
        .filter(({ line }) => line.includes("--stdio"));
}

function lineOf(pid) {
    try {
        return fs.readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
    } catch {
        return "";
    }
}

/** The first such server that fits; None where this is on the screen before. */
async function running(server, fits, orElse) {
    const end = Date.now() + PATIENCE;
    for (;;) {
        const found = processesOf(server).find(fits);
        if (found !== undefined || (orElse !== undefined && (await orElse.count()) > 0)) {
            return found;
        }
        assert.ok(Date.now() < end, `no such server: ${JSON.stringify(processesOf(server))}`);
        await changeIn(server.folder, 250);
    }
}
