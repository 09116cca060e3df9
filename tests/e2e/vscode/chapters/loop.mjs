/**
 * A loop that is set up, from the palette to a breaker that was half open: everything that the
 * panel, the lenses, the status bar and the problems say on the way.
 */

import assert from "node:assert/strict";
import fs from "node:fs";

import { asks, commits, reports, says } from "../agent.mjs";
import { until } from "../waiting.mjs";

const QUESTION = "Which storage engine should the cache use? (a) SQLite file (b) Redis";
const ANSWER = "Use the SQLite file.\nIt needs no server.";

export const steps = [
    [
        "the plan is shown as a tree before anything ran, and nothing pops up",
        async (world) => {
            const { editor, known, server, parser } = world;
            await editor.openWorkspace(server.page(known.workspace, parser.plan), "parser");
            await until(known.folder, () => fs.existsSync(world.otherLog), "the other extension");
            await editor.openViews();
            await world.served(editor.lens("Start"));
            await editor.webview.locator(".headline").waitFor();
            await editor.reads(editor.rows("Plan"), "Write the parser");
            await editor.reads(editor.rows("Plan"), "Describe the cache in the manual");
            assert.equal(await editor.toasts.count(), 0, "something popped up");
            await editor.picture("10-idle");
        },
    ],
    [
        "Ralph: Start Loop, from the palette, starts the run of this folder",
        async (world) => {
            const { editor, parser, server } = world;
            await editor.command("Ralph: Start Loop");
            await startInParser(world);
            await editor.reads(editor.webview.locator(".headline"), /starting|running/i);
            const started = await parser.journal.event("runStarted");
            if (process.platform === "linux") {
                // The engine is the server's own program: the one that the VSIX brought.
                const [program] = fs
                    .readFileSync(`/proc/${started.pid}/cmdline`, "utf8")
                    .split("\0");
                assert.ok(program.startsWith(server.folder), program);
            }
            assert.equal(world.other.includes("called"), false, "it called the other's command");
        },
    ],
    [
        "the panel is live: state, iteration, the agent's words before any details",
        async (world) => {
            const { editor, parser } = world;
            const { webview } = editor;
            await parser.agent.at(1);
            await editor.reads(webview.locator(".headline"), /running/i);
            await editor.reads(webview.locator(".count"), "1 / 20");
            await editor.reads(webview.locator(".feed .line"), "Reading the plan for iteration 1.");
            await editor.reads(world.status, "1/20");
            // What headline, card and buttons say is not said once more.
            assert.equal(await webview.locator(".answers").count(), 0);
            await editor.reads(webview.locator(".doing"), "Write the parser");
            const order = await webview
                .locator("main")
                .evaluate((main) => [...main.children].map((child) => child.className));
            assert.ok(order.indexOf("feed") < order.indexOf("facts"), order.join());
            await editor.lens("Stop").waitFor();
            await editor.lens("iteration 1 of 20").waitFor();
            await editor.picture("11-running");
        },
    ],
    [
        "an iteration with progress: the task is ticked, the commit and the evidence are seen",
        async (world) => {
            const { editor, parser } = world;
            await parser.agent.does(
                1,
                says("The parser reads numbers, names and strings."),
                "echo 'def test_parse(): assert True' >test_parser.py",
                commits("Write the parser", "parser.py", "def parse(): ...", "Write the parser"),
                reports({
                    TASKS_COMPLETED_THIS_LOOP: 1,
                    FILES_MODIFIED: 3,
                    RECOMMENDATION:
                        "Wire the parser into the reader, then add the test of broken input.",
                }),
            );
            await parser.agent.at(2);
            await editor.reads(editor.rows("Iterations"), /Write the parser.*#1 · progress · 3 files/);
            await world.fact(/Evidence.*1 commit, 2 files besides/);
            await world.fact(/Tests.*passing/i);
            await editor.reads(editor.webview.locator(".count"), "2 / 20");
        },
    ],
    [
        "a question arrives while somebody types: all 36 characters land in the document",
        async (world) => {
            const { editor, parser } = world;
            const words = "Note: read the grammar first, please";
            const seen = await editor.watch("answer", "1");
            await editor.toEnd();
            await editor.type(words.slice(0, 4));
            const asked = parser.agent.does(
                2,
                says("The specification names no storage engine."),
                commits("Write down the engines", "engines.txt", "Two engines would do."),
                reports({ FILES_MODIFIED: 1, WORK_TYPE: "DOCUMENTATION" }),
                asks(QUESTION),
            );
            await editor.type(words.slice(4, 20));
            await asked;
            const { at } = await parser.journal.event("questionAsked");
            await editor.reads(world.status, "asks");
            await editor.type(words.slice(20));
            await editor.save();
            const { folder, plan } = parser;
            const written = () => fs.readFileSync(plan, "utf8").includes(words);
            await until(folder, written, "the words");
            assert.equal(await editor.panel.isVisible(), false, "a panel opened");
            const { lens, badge } = await seen();
            world.measured("question to lens, ms", lens - Date.parse(at));
            world.measured("question to badge, ms", badge - Date.parse(at));
        },
    ],
    [
        "the question is everywhere: status bar, badge, card, lens, problem, gutter",
        async ({ editor }) => {
            await editor.reads(editor.webview.locator(".card"), QUESTION);
            await editor.reads(editor.badge, "1");
            await editor.lens(/answer/i).waitFor();
            await editor.openGlyph.waitFor();
            assert.equal(await editor.thread.count(), 0, "the thread is not folded");
            await editor.picture("12-question");
            assert.deepEqual(await editor.webview.locator("[hidden]").evaluateAll(drawn), []);
            assert.deepEqual(await editor.violations(), []);
            // As at 200 %: half the room for everything, and the way to answer is still in sight.
            await editor.page.setViewportSize({ width: 700, height: 450 });
            const answer = editor.webview.locator(".card .button.primary");
            await editor.isSeen(answer);
            await editor.picture("12-question-zoomed");
            await editor.page.setViewportSize({ width: 1400, height: 900 });
            await editor.command("Problems: Focus on Problems View");
            await editor.reads(editor.problems, QUESTION);
            await editor.press("ControlOrMeta+j");
        },
    ],
    [
        "hover tells the answers on the plan, and a task's own story on the task",
        async ({ editor }) => {
            await editor.squiggle.waitFor({ state: "attached" });
            for (const [line, words] of [
                ["# Plan", /Needs you/],
                ["Choose the storage engine", /1 attempt/],
            ]) {
                await editor.line(line).click();
                await editor.command("Show or Focus Hover");
                await editor.reads(editor.hover, words);
                await editor.press("Escape", "Escape");
                await editor.hover.waitFor({ state: "hidden" });
            }
        },
    ],
    [
        "the lens opens the answer in place, and the cursor is in it",
        async ({ editor, parser }) => {
            await editor.lens(/answer/i).click();
            await editor.inDraft();
            await editor.type(ANSWER);
            await editor.picture("13-answer");
            await editor.press("ControlOrMeta+Enter");
            const answered = await parser.journal.event("questionAnswered");
            assert.equal(answered.answer, ANSWER);
        },
    ],
    [
        "the answer closes the question, and reaches the agent",
        async (world) => {
            const { editor, parser } = world;
            await parser.agent.at(3);
            await editor.reads(world.status, "3/20");
            await editor.webview.locator(".card").waitFor({ state: "detached" });
            assert.ok(parser.agent.prompt(3).includes("Use the SQLite file."), "no answer in it");
        },
    ],
    [
        "two iterations without progress: the breaker is half open, the claim beside the evidence",
        async (world) => {
            const { editor, parser } = world;
            for (const iteration of [3, 4]) {
                await parser.agent.does(iteration, ...NOTHING_DONE);
            }
            await parser.journal.event(
                "circuitBreakerStateChange",
                (event) => event.toState === "HALF_OPEN",
            );
            await parser.agent.at(5);
            await world.fact(/Breaker.*half.open/i);
            await world.fact(/0 files.*4/);
            await editor.webview.locator('.card[data-tone="warning"]').waitFor();
            await editor.lens("Reset breaker").waitFor();
            await editor.lens(/answer/i).waitFor({ state: "detached" });
            await editor.picture("14-half-open");
        },
    ],
    [
        "the window is loaded again in the middle: the run goes on, and is shown once",
        async (world) => {
            const { editor, parser } = world;
            const runs = () =>
                parser.journal.events().filter((event) => event.kind === "runStarted");
            const [before] = runs();
            await editor.reloadWorkspace("parser");
            // The editor opens again what was open: a click on the icon would close it.
            await editor.webview.locator("main").waitFor();
            await editor.reads(editor.webview.locator(".count"), "5 / 20");
            await world.fact(/Breaker.*half.open/i);
            assert.deepEqual(await editor.iterations(5), ["#5", "#4", "#3", "#2", "#1"]);
            assert.deepEqual(runs(), [before]);
            process.kill(before.pid, 0);
        },
    ],
    [
        "progress closes the breaker",
        async (world) => {
            const { editor, parser } = world;
            await parser.agent.does(
                5,
                says("The cache keeps what was parsed."),
                commits(
                    "Cache what was parsed",
                    "cache.py",
                    "import sqlite3",
                    "Choose the storage engine",
                    "Cache what was parsed",
                ),
                reports({ TASKS_COMPLETED_THIS_LOOP: 2, FILES_MODIFIED: 2 }),
            );
            await parser.journal.event(
                "circuitBreakerStateChange",
                (event) => event.toState === "CLOSED",
            );
            await parser.agent.at(6);
            await world.fact(/Breaker.*closed/i);
            await editor.webview
                .locator('.card[data-tone="warning"]')
                .waitFor({ state: "detached" });
        },
    ],
];

/** Which of these take room all the same, and are read aloud. */
function drawn(elements) {
    return elements
        .filter((each) => getComputedStyle(each).display !== "none")
        .map((each) => each.className);
}

const NOTHING_DONE = [
    says("I looked at the cache once more."),
    reports({
        TASKS_COMPLETED_THIS_LOOP: 1,
        FILES_MODIFIED: 4,
        TESTS_STATUS: "FAILING",
        RECOMMENDATION: "Look at the lock of the cache file.",
    }),
];

/** A start asks which of the two folders is meant, unless the open document says it. */
async function startInParser({ editor, parser }) {
    const never = () => "never";
    const begun = parser.journal.event("runStarted").then(() => "begun", never);
    const asked = editor
        .row("parser")
        .waitFor()
        .then(() => "asked", never);
    if ((await Promise.race([begun, asked])) === "asked") {
        await editor.press("Enter");
    }
}
