/**
 * Somebody who has just installed the VSIX: a home with nothing in it, no network for pip, workspace
 * trust as VS Code has it, and the steps in the order in which one takes them.
 *
 * An empty folder, a repository made of it, a loop described and started, a stranger's repository
 * with its own agent, an agent that is not there, and the demo. Every click and key until the first
 * loop runs is counted.
 */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";

import { Editor } from "../driver.mjs";
import { CodeServer } from "../server.mjs";
import { file, Journal } from "../waiting.mjs";

const DESCRIPTION = "A page that greets visitors by name. Done when its test passes.";

/** Settings of a repository that brings its own agent. */
const OWN_AGENT = 'agent = "command"\n\n[agents.command]\nargv = ["./agent.sh"]\n';

/** Pixels that the Loop view has at least when it is first shown. */
const LEAST_HEIGHT = 300;

/** The same while three views share a small window: VS Code keeps 142 pixels for each other one. */
const LEAST_SHARED = 290;

/** Sizes of a window: a usual one, and a small laptop's. */
const SIZES = [
    { width: 1400, height: 900 },
    { width: 1024, height: 700 },
];

/** Sizes and themes of which there are pictures where somebody wants to look at all of them. */
const MORE_SIZES = [
    { width: 1920, height: 1080 },
    { width: 700, height: 450 },
];
const MORE_THEMES = [
    ["Default Dark Modern", "vs-dark"],
    ["Default High Contrast", "hc-black"],
    ["Default High Contrast Light", "hc-light"],
    ["Default Light Modern", "vs"],
];

export const steps = [
    [
        "an empty folder is opened and trusted: the Loop view is there, and large enough",
        async (world) => {
            const newcomer = await arrive(world);
            const { editor, server, empty } = newcomer;
            await editor.goto(server.page(empty));
            const trust = editor.page.getByRole("button", { name: "Yes, I trust the authors" });
            await trust.waitFor();
            await editor.picture("newcomer-1-trust");
            await newcomer.click(trust);
            await newcomer.click(editor.page.locator(OUR_ICON));
            await editor.webview.locator("main > *").first().waitFor();
            await editor.picture("newcomer-2-arrives");
            for (const size of SIZES) {
                await editor.page.setViewportSize(size);
                await isLargeEnough(editor);
            }
            await editor.page.setViewportSize(SIZES[0]);
        },
    ],
    [
        "the server that came along is set up by itself; nothing is red and nothing is asked",
        async (world) => {
            const { editor } = world.newcomer;
            const card = editor.webview.locator(".card", { hasText: "git repository yet" });
            await world.served(card);
            assert.deepEqual(await world.newcomer.redCards(), []);
            assert.equal(await editor.toasts.count(), 0, "something popped up");
            await editor.picture("newcomer-3-no-repository");
        },
    ],
    [
        "one button makes the repository; then a loop is described and started",
        async (world) => {
            const { newcomer } = world;
            const { editor, empty, house } = newcomer;
            const { webview } = editor;
            await newcomer.click(button(editor, "Initialize Repository"));
            await webview.locator("#agent:enabled").waitFor();
            assert.ok(fs.existsSync(path.join(empty, ".git")));
            await looks(world, "newcomer-4-first-use");
            assert.equal(await webview.locator("#agent").inputValue(), "house");
            await newcomer.click(webview.locator("#describe"));
            await editor.type(DESCRIPTION);
            const began = Date.now();
            newcomer.clicks += 1;
            // The form may be gone before anybody could look at it from outside.
            const hint = await webview.locator(".first").evaluate((form) => {
                form.querySelector(".primary").click();
                return form.querySelector(".hint").textContent;
            });
            assert.match(hint, /starting the loop/);
            world.measured("feedback on Start, ms", Date.now() - began);
            await newcomer.journal(empty).event("runStarted");
            await editor.reads(webview.locator(".headline"), /running|starting/i);
            world.measured("from Start to a running loop, ms", Date.now() - began);
            world.measured("clicks to the first loop", newcomer.clicks);
            await file(house.working);
            const plan = fs.readFileSync(path.join(empty, "@fix_plan.md"), "utf8");
            assert.match(plan, /- \[ \] A page that greets visitors by name$/m);
            const config = fs.readFileSync(path.join(empty, ".ralph/config.toml"), "utf8");
            assert.match(config, /agent = "house"/);
            await editor.reads(editor.rows("Plan"), "A page that greets");
            await isLargeEnough(editor);
            await looks(world, "newcomer-5-running");
            await editor.page.setViewportSize(SIZES[1]);
            await isLargeEnough(editor, LEAST_SHARED);
            await editor.page.setViewportSize(SIZES[0]);
            newcomer.ralph(empty, "stop", "--now");
            await newcomer.journal(empty).event("runEnded");
        },
    ],
    [
        "a stranger's repository: what it would run is shown, opened and allowed in place",
        async (world) => {
            const { newcomer } = world;
            const { editor, strange } = newcomer;
            await newcomer.open(strange, path.join(strange, "@fix_plan.md"));
            const { webview } = editor;
            await world.served(button(editor, "Start loop"));
            await button(editor, "Start loop").click();
            const card = webview.locator(".card", { hasText: "you haven't approved" });
            await editor.reads(card, "agent.sh");
            await editor.reads(card, "echo Building");
            assert.equal(await editor.toasts.count(), 0, "something popped up");
            await editor.reads(newcomer.status, "Ralph needs you");
            await editor.reads(editor.badge, "1");
            await looks(world, "newcomer-6-allow");
            await card.locator(".link", { hasText: "agent.sh" }).click();
            await editor.reads(editor.breadcrumbs, "agent.sh");
            // What changes while it is shown is shown again, and not allowed.
            fs.appendFileSync(path.join(strange, "agent.sh"), "echo Changed\n");
            await button(editor, "Allow and Start").click();
            await editor.reads(card, "echo Changed");
            assert.deepEqual(newcomer.journal(strange).events(), []);
            await button(editor, "Allow and Start").click();
            await newcomer.journal(strange).event("runStarted");
            await card.waitFor({ state: "detached" });
            await newcomer.journal(strange).event("runEnded");
        },
    ],
    [
        "an agent that is not there is a card in the same place, counted as a need",
        async (world) => {
            const { newcomer } = world;
            const { editor, strange } = newcomer;
            const config = path.join(strange, ".ralph", "config.toml");
            fs.writeFileSync(config, 'agent = "codex"\n');
            await editor.webview.locator("button", { hasText: /^Start/ }).first().click();
            const card = editor.webview.locator(".card", { hasText: "The agent was not found" });
            await card.waitFor();
            await editor.reads(newcomer.status, "Ralph needs you");
            await editor.picture("newcomer-7-no-agent");
            await card.locator("button", { hasText: "Not Now" }).click();
            await card.waitFor({ state: "detached" });
            await editor.badge.waitFor({ state: "hidden" });
        },
    ],
    [
        "changes that would be carried to another branch: which, and the way to them",
        async (world) => {
            const { newcomer } = world;
            const { editor, strange } = newcomer;
            execFileSync("git", ["branch", "other"], { cwd: strange });
            const config = path.join(strange, ".ralph", "config.toml");
            fs.writeFileSync(config, `work_branch = "other"\n${OWN_AGENT}`);
            await editor.webview.locator("button", { hasText: /^Start/ }).first().click();
            const card = editor.webview.locator(".card", { hasText: "Uncommitted changes" });
            await editor.reads(card, "agent.sh");
            assert.doesNotMatch(await card.textContent(), /--help/);
            await editor.reads(newcomer.status, "Ralph needs you");
            await editor.reads(editor.badge, "1");
            await editor.picture("newcomer-7-uncommitted");
            await card.locator("button", { hasText: "Show Changes" }).click();
            await editor.sourceControl.waitFor();
            await editor.command("Ralph Loop: Focus on Loop View");
            await card.locator("button", { hasText: "Not Now" }).click();
            await card.waitFor({ state: "detached" });
        },
    ],
    [
        "the demo opens its own folder, starts there, asks, and completes",
        async (world) => {
            const { newcomer } = world;
            const { editor } = newcomer;
            await editor.goto(newcomer.server.page());
            await editor.openViews(editor.webview.locator(".card"));
            await editor.reads(editor.webview.locator(".card"), "No folder is open");
            await editor.picture("newcomer-8-no-folder");
            await button(editor, "Try the Demo").click();
            const trust = editor.page.getByRole("button", { name: "Yes, I trust the authors" });
            await trust.click();
            await world.served(editor.webview.locator(".headline", { hasText: /running/i }));
            await editor.reads(editor.page.locator(".tab.active"), "@fix_plan.md");
            await editor.picture("newcomer-9-demo-runs");
            const ask = editor.webview.locator(".card", { hasText: "last row be called" });
            await ask.waitFor();
            await looks(world, "newcomer-9-demo-asks");
            await ask.locator("button", { hasText: "Amount due" }).click();
            await editor.reads(editor.webview.locator(".headline"), /complete/i);
            const finished = editor.rows("Plan").filter({ hasText: "Rounding" });
            await finished.waitFor({ state: "detached" });
            await editor.picture("newcomer-9-demo-complete");
            assert.deepEqual(await newcomer.redCards(), []);
            await editor.page.close();
        },
    ],
];

const OUR_ICON = '.activitybar a.action-label[aria-label^="Ralph Loop"]';

function button(editor, text) {
    return editor.webview.locator("button", { hasText: text }).first();
}

/** How much of the side bar the Loop view has. */
async function isLargeEnough(editor, least = LEAST_HEIGHT) {
    const pane = editor.pane("Loop");
    await pane.waitFor();
    const { height } = await pane.boundingBox();
    assert.ok(height >= least, `the Loop view is ${height} px high`);
}

/** A picture at each size; with `RALPH_E2E_LOOKS=all` at more of them, and in each theme. */
async function looks({ known, newcomer }, name) {
    const { editor, server } = newcomer;
    const themes = known.allLooks ? MORE_THEMES : MORE_THEMES.slice(-1);
    const sizes = known.allLooks ? [...SIZES, ...MORE_SIZES] : SIZES;
    for (const [theme, kind] of themes) {
        server.set("workbench.colorTheme", theme);
        await editor.themed(kind);
        for (const size of sizes) {
            await editor.page.setViewportSize(size);
            await editor.picture(`${name}-${kind}-${size.width}`);
        }
    }
    await editor.page.setViewportSize(SIZES[0]);
}

/** A machine on which nobody has used any of this, with one agent of the user's own. */
async function arrive(world) {
    const { known } = world;
    const folder = path.join(known.folder, "newcomer");
    const [home, empty, strange, tools, code] = ["home", "empty", "strange", "tools", "code"].map(
        (name) => {
            fs.mkdirSync(path.join(folder, name), { recursive: true });
            return path.join(folder, name);
        },
    );
    const working = path.join(tools, "working");
    const house = script(path.join(tools, "house"), [
        'echo "Reading the plan."',
        `: >"${working}"`,
        `mkfifo "${working}.gate" 2>/dev/null; read -r _ <"${working}.gate"`,
    ]);
    const own = path.join(home, ".config", "ralph");
    fs.mkdirSync(own, { recursive: true });
    const table = `[agents.house]\nargv = ${JSON.stringify([house])}\n`;
    fs.writeFileSync(path.join(own, "config.toml"), `agent = "house"\n\n${table}`);
    layOutStrange(strange);
    // Its own state, home and settings; an index that answers nothing, so that pip is of no use.
    const environment = {
        ...process.env,
        ...{ HOME: home, XDG_CONFIG_HOME: path.join(home, ".config") },
        ...{ PIP_INDEX_URL: "http://127.0.0.1:9/simple", PIP_RETRIES: "0" },
        RALPH_DEMO_PACE: "0.05",
    };
    const server = new CodeServer({
        program: known.program,
        folder: code,
        environment,
        trust: true,
        settings: {
            "workbench.colorTheme": "Default Light Modern",
            "security.workspace.trust.enabled": true,
            "security.workspace.trust.startupPrompt": "always",
            "workbench.editor.useModal": "off",
        },
    });
    server.install(known.archives[0]);
    await server.start();
    const page = await world.editor.browser.newPage({ viewport: SIZES[0] });
    const editor = new Editor(page, known.output);
    const newcomer = {
        ...{ server, editor, empty, strange, house: { working }, clicks: 0 },
        status: editor.status("ralph-loop.ralph-loop.ralphLoop.status"),
        async click(locator) {
            newcomer.clicks += 1;
            await locator.click();
        },
        journal: (repository) => new Journal(known.stateFolder, repository),
        redCards: () => editor.webview.locator('.card[data-tone="bad"] .title').allTextContents(),
        async open(repository, document) {
            await editor.goto(server.page(repository, document));
            await page.getByRole("button", { name: "Yes, I trust the authors" }).click();
            await editor.openViews();
        },
        ralph(repository, ...words) {
            const [program, ...before] = known.ralph;
            execFileSync(program, [...before, ...words], { cwd: repository, env: environment });
        },
    };
    world.newcomer = newcomer;
    return newcomer;
}

/** Somebody else's repository, which brings its own agent. */
function layOutStrange(folder) {
    script(path.join(folder, "agent.sh"), [
        "cat >/dev/null",
        "echo Building",
        "sed 's/\\[ \\]/[x]/' @fix_plan.md >.git/plan && cat .git/plan >@fix_plan.md",
        "echo '---RALPH_STATUS---'",
        "echo 'STATUS: COMPLETE'",
        "echo 'EXIT_SIGNAL: true'",
        "echo '---END_RALPH_STATUS---'",
    ]);
    fs.writeFileSync(path.join(folder, "@fix_plan.md"), "# Plan\n\n- [ ] Build it\n");
    fs.mkdirSync(path.join(folder, ".ralph"));
    fs.writeFileSync(path.join(folder, ".ralph", "config.toml"), OWN_AGENT);
    for (const words of [["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "The beginning"]]) {
        execFileSync("git", words, { cwd: folder });
    }
}

function script(program, lines) {
    fs.writeFileSync(program, `#!/bin/sh\n${lines.join("\n")}\n`, { mode: 0o755 });
    return program;
}
