/**
 * A person and a loop, from the palette to the end of the run.
 *
 * Reads where everything lies from stdin as JSON, and says of each step on stdout, one JSON object
 * a line, whether it went well. A step that fails ends the scenario, since all after it would fail
 * too; the screen as it was and every log are then kept beside the pictures.
 */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { text } from "node:stream/consumers";

import { CodeServer, Editor, file, Journal, until } from "./driver.mjs";

const known = JSON.parse(await text(process.stdin));
const { kept, repository, output } = known;
const plan = path.join(repository, "@fix_plan.md");
const otherLog = path.join(known.folder, "other-ralph.log");
const journal = new Journal(known.stateFolder);

const server = new CodeServer({
    program: known.program,
    folder: fs.mkdirSync(path.join(known.folder, "code"), { recursive: true }),
    environment: { ...process.env, OTHER_RALPH_LOG: otherLog },
    settings: {
        "workbench.colorTheme": "Default Light Modern",
        "ralphLoop.server.python": known.python,
    },
});

/** @type {Editor} */
let editor;

const steps = [
    [
        "the extension is installed from its VSIX, beside one that owns ralph.start",
        async () => {
            server.install(...known.archives);
            await server.start();
            editor = await Editor.open(
                known.driverModules,
                known.chromium,
                output,
            );
            await editor.goto(server.page(known.workspace, plan));
            await until(
                known.folder,
                () => other().includes("active"),
                "the other extension",
            );
        },
    ],
    [
        "the server is made ready in a private environment, with nothing asked",
        async () => {
            await openViews();
            await editor.webview.locator(".headline").waitFor();
            assert.equal(await editor.toasts.count(), 0, "something popped up");
        },
    ],
    [
        "the plan is shown as a tree before anything ran",
        async () => {
            await editor.reads(editor.rows("Plan"), "Write the parser");
            await editor.reads(
                editor.rows("Plan"),
                "Describe the cache in the manual",
            );
            await editor.lens("Start").waitFor();
            await editor.picture("01-idle");
        },
    ],
    [
        "Ralph: Start Loop, from the palette, starts the run of this folder",
        async () => {
            await editor.command("Ralph: Start Loop");
            await startInParser();
            const started = await journal.event("runStarted");
            assert.equal(
                fs.realpathSync(started.workspace),
                fs.realpathSync(repository),
            );
            if (process.platform === "linux") {
                // The engine is the server's own program: the one that the VSIX brought.
                const [program] = fs
                    .readFileSync(`/proc/${started.pid}/cmdline`, "utf8")
                    .split("\0");
                assert.ok(program.startsWith(server.folder), program);
            }
            assert.equal(
                other().includes("called"),
                false,
                "it called the other extension's command",
            );
        },
    ],
    [
        "the panel is live: state, iteration, the agent's words, the six answers before any badge",
        async () => {
            await file(path.join(kept, "at-1"));
            const { webview } = editor;
            await editor.reads(webview.locator(".headline"), /running/i);
            await editor.reads(webview.locator(".count"), "1 / 20");
            await editor.reads(
                webview.locator(".feed .line"),
                "Reading the plan for iteration 1.",
            );
            await editor.reads(statusItem(), "1/20");
            const headings = await webview
                .locator(".answers .heading")
                .allTextContents();
            assert.equal(headings.length, 6, headings.join());
            const order = await webview.locator("main").evaluate((main) => {
                return [...main.children].map((child) => child.className);
            });
            assert.ok(
                order.indexOf("answers") < order.indexOf("facts"),
                order.join(),
            );
            await editor.lens("Stop").waitFor();
            await editor.lens("iteration 1 of 20").waitFor();
            await editor.picture("02-running");
        },
    ],
    [
        "an iteration with progress: the task is ticked, the commit and the evidence are seen",
        async () => {
            release(1);
            await file(path.join(kept, "at-2"));
            await editor.reads(editor.rows("Iterations"), "#1");
            await editor.reads(
                editor.webview.locator(".facts .row"),
                /Evidence.*1 commit/,
            );
            await editor.reads(
                editor.webview.locator(".facts .row"),
                /Tests.*passing/i,
            );
            await editor.reads(editor.webview.locator(".count"), "2 / 20");
        },
    ],
    [
        "a question arrives while somebody types: all 36 characters land in the document",
        async () => {
            const words = "Note: read the grammar first, please";
            await editor.toEnd();
            await editor.page.keyboard.type(words.slice(0, 4));
            release(2);
            await editor.page.keyboard.type(words.slice(4, 20));
            await journal.event("questionAsked");
            await editor.reads(statusItem(), "asks");
            await editor.page.keyboard.type(words.slice(20));
            await editor.save();
            await until(
                repository,
                () => fs.readFileSync(plan, "utf8").includes(words),
                "the words",
            );
            assert.equal(
                await editor.page.locator(".part.panel").isVisible(),
                false,
                "a panel opened",
            );
        },
    ],
    [
        "the question is everywhere: status bar, badge, card, lens, problem, gutter",
        async () => {
            await editor.reads(editor.webview.locator(".card"), known.question);
            await editor.reads(editor.page.locator(".activitybar .badge"), "1");
            await editor.lens(/answer/i).waitFor();
            await editor.page
                .locator(".comment-range-glyph.comment-thread-unresolved")
                .first()
                .waitFor();
            await editor.picture("03-question");
            await editor.command("Problems: Focus on Problems View");
            await editor.reads(editor.problems, known.question);
            await editor.page.keyboard.press("ControlOrMeta+j");
        },
    ],
    [
        "hover tells the six answers on the plan, and a task's own story on the task",
        async () => {
            await editor.page
                .locator(".squiggly-warning")
                .first()
                .waitFor({ state: "attached" });
            const hover = editor.page.locator(".monaco-hover:visible");
            for (const [line, words] of [
                ["# Plan", /Needs you/],
                ["Choose the storage engine", /1 attempt/],
            ]) {
                await editor.page
                    .locator(".view-line", { hasText: line })
                    .first()
                    .click();
                await editor.command("Show or Focus Hover");
                await editor.reads(hover, words);
                await editor.page.keyboard.press("Escape");
                await editor.page.keyboard.press("Escape");
                await hover.waitFor({ state: "hidden" });
            }
        },
    ],
    [
        "the lens opens the answer in place, and the cursor is in it",
        async () => {
            await editor.lens(/answer/i).click();
            await editor.page.waitForFunction(
                () =>
                    document.activeElement?.closest(".review-widget") !== null,
            );
            await editor.page.keyboard.type(
                "Use the SQLite file.\nIt needs no server.",
            );
            await editor.picture("04-answer");
            await editor.page.keyboard.press("ControlOrMeta+Enter");
            const answered = await journal.event("questionAnswered");
            assert.equal(
                answered.answer,
                "Use the SQLite file.\nIt needs no server.",
            );
        },
    ],
    [
        "the answer closes the question, and reaches the agent",
        async () => {
            await file(path.join(kept, "at-3"));
            await editor.reads(statusItem(), "3/20");
            await editor.webview
                .locator(".card")
                .waitFor({ state: "detached" });
            const prompt = fs.readFileSync(path.join(kept, "prompt-3"), "utf8");
            assert.ok(
                prompt.includes("Use the SQLite file."),
                "the prompt lacks the answer",
            );
        },
    ],
    [
        "two iterations without progress: the breaker is half open, the claim beside the evidence",
        async () => {
            release(3);
            await file(path.join(kept, "at-4"));
            release(4);
            await journal.event(
                "circuitBreakerStateChange",
                (event) => event.toState === "HALF_OPEN",
            );
            await file(path.join(kept, "at-5"));
            await editor.reads(
                editor.webview.locator(".facts .row"),
                /Breaker.*half open/i,
            );
            await editor.reads(
                editor.webview.locator(".facts .row"),
                /0 files.*4/,
            );
            await editor.webview
                .locator('.card[data-tone="warning"]')
                .waitFor();
            await editor.lens("Reset breaker").waitFor();
            await editor.lens(/answer/i).waitFor({ state: "detached" });
            await editor.picture("05-half-open");
        },
    ],
    [
        "the window is loaded again in the middle: the run goes on, and is shown once",
        async () => {
            const before = journal
                .events()
                .find((event) => event.kind === "runStarted");
            await editor.reload();
            // The editor opens again what was open: a click on the icon would close it.
            await editor.webview.locator("main").waitFor();
            await editor.reads(editor.webview.locator(".count"), "5 / 20");
            await editor.reads(
                editor.webview.locator(".facts .row"),
                /Breaker.*half open/i,
            );
            const rows = await iterationRows(5);
            assert.deepEqual(rows, ["#5", "#4", "#3", "#2", "#1"]);
            const started = journal
                .events()
                .filter((event) => event.kind === "runStarted");
            assert.deepEqual(started, [before]);
            process.kill(before.pid, 0);
        },
    ],
    [
        "progress closes the breaker",
        async () => {
            release(5);
            await journal.event(
                "circuitBreakerStateChange",
                (event) => event.toState === "CLOSED",
            );
            await file(path.join(kept, "at-6"));
            await editor.reads(
                editor.webview.locator(".facts .row"),
                /Breaker.*closed/i,
            );
            await editor.webview
                .locator('.card[data-tone="warning"]')
                .waitFor({ state: "detached" });
        },
    ],
    ...[
        "Default Dark Modern",
        "Default High Contrast",
        "Default High Contrast Light",
    ].map((theme) => [
        `the panel can be read in ${theme}`,
        async () => {
            server.set("workbench.colorTheme", theme);
            const dark = theme.includes("Dark")
                ? "vs-dark"
                : /Light/.test(theme)
                  ? "hc-light"
                  : "hc-black";
            await editor.page.locator(`.monaco-workbench.${dark}`).waitFor();
            await editor.reads(editor.webview.locator(".count"), "6 / 20");
            await editor.picture(
                `06-${theme.toLowerCase().replaceAll(" ", "-")}`,
            );
        },
    ]),
    [
        "at 220 pixels nothing is cut off",
        async () => {
            server.set("workbench.colorTheme", "Default Light Modern");
            await editor.page.locator(".monaco-workbench.vs").waitFor();
            await editor.sideBar(220);
            const tooWide = await editor.webview
                .locator("body")
                .evaluate((body) => {
                    return [...body.querySelectorAll("*")]
                        .filter(
                            (element) =>
                                element.getBoundingClientRect().right >
                                window.innerWidth + 1,
                        )
                        .map((element) => element.className);
                });
            assert.deepEqual(tooWide, []);
            await editor.picture("07-narrow");
            await editor.sideBar(340);
        },
    ],
    [
        "the run completes, and says so",
        async () => {
            release(6);
            const ended = await journal.event("runEnded");
            assert.equal(ended.reason, "complete", ended.message);
            await editor.reads(
                editor.webview.locator(".headline"),
                /complete/i,
            );
            await editor.reads(statusItem(), /complete/i);
            await editor.reads(editor.pane("Plan"), "4/4");
            await editor.lens("Start loop").waitFor();
            await editor.lens("Pause").waitFor({ state: "detached" });
            assert.deepEqual(await iterationRows(6), [
                "#6",
                "#5",
                "#4",
                "#3",
                "#2",
                "#1",
            ]);
            await editor.picture("08-complete");
        },
    ],
    [
        "the other folder's loop is started from its own plan, and the view goes over to it",
        async () => {
            for (const number of [1, 2, 3]) {
                fs.rmSync(path.join(kept, `at-${number}`));
            }
            await editor.command("Ralph: Choose the Folder to Show…");
            await editor.row("letters").click();
            await editor.reads(editor.rows("Plan"), "Write a letter");
            await editor.command("Ralph: Open Plan");
            await editor.reads(
                editor.page.locator(".breadcrumbs-control"),
                "letters",
            );
            await editor.lens("Start loop").click();
            const started = await journal.event("runStarted", inLetters);
            assert.equal(
                fs.realpathSync(started.workspace),
                fs.realpathSync(known.otherRepository),
            );
            await file(path.join(kept, "at-1"));
            await editor.reads(editor.webview.locator(".count"), "1 / 20");
            await editor.reads(editor.rows("Plan"), "Write a letter");
        },
    ],
    [
        "an answer given in a terminal closes the question here, and says who gave it",
        async () => {
            release(1);
            await file(path.join(kept, "at-2"));
            release(2);
            await editor.reads(statusItem(), "asks");
            const thread = editor.page
                .locator(".comment-range-glyph.comment-thread-unresolved")
                .first();
            await thread.waitFor();
            terminal("answer", "Redis, since letters is a server");
            await file(path.join(kept, "at-3"));
            await editor.reads(statusItem(), "3/20");
            await thread.waitFor({ state: "detached" });
            await editor.readsThread(
                "ralph answer",
                "Redis, since letters is a server",
            );
            await editor.picture("09-answered-elsewhere");
        },
    ],
    [
        "Ralph: Stop After This Iteration, from the palette, lets the agent finish and ends the run",
        async () => {
            await editor.command("Ralph: Stop After This Iteration");
            await journal.event("commandAccepted", inLetters);
            await editor.reads(editor.webview.locator(".headline"), /stop/i);
            release(3);
            const ended = await journal.event("runEnded", inLetters);
            assert.equal(ended.reason, "stopped", ended.message);
            // The name that this build of the editor gives itself.
            assert.equal(ended.by, "code-server");
            await editor.reads(editor.webview.locator(".headline"), /stopped/i);
        },
    ],
    [
        "the other extension's command is still its own",
        async () => {
            assert.equal(other().includes("called"), false);
            await editor.command("Other: Start Somebody Else's Ralph");
            await until(
                known.folder,
                () => other().includes("called"),
                "the other's command",
            );
            assert.equal(
                journal.events().filter((event) => event.kind === "runStarted")
                    .length,
                2,
            );
        },
    ],
    [
        "nothing went wrong unseen",
        async () => {
            const ours = editor.complaints.filter((text) => {
                return /Content Security Policy|ralph-loop\.ralph-loop|ralphLoop/.test(
                    text,
                );
            });
            assert.deepEqual(ours, []);
            const logs = server.logs();
            assert.doesNotMatch(logs, /command 'ralph\.\w+' already exists/);
            assert.doesNotMatch(logs, /Traceback \(most recent call last\)/);
        },
    ],
];

/** The views of ours, opened by the gesture that opens them. */
async function openViews() {
    await editor.page
        .locator('.activitybar a.action-label[aria-label^="Ralph Loop"]')
        .click();
    await editor.webview.locator("main").waitFor();
}

/** A start asks which of the two folders is meant, unless the open document says it. */
async function startInParser() {
    const never = () => "never";
    const begun = journal.event("runStarted").then(() => "begun", never);
    const asked = editor
        .row("parser")
        .waitFor()
        .then(() => "asked", never);
    if ((await Promise.race([begun, asked])) === "asked") {
        await editor.page.keyboard.press("Enter");
    }
}

function statusItem() {
    return editor.status("ralph-loop.ralph-loop.ralphLoop.status");
}

/** The numbers of the iterations as the tree has them, once there are so many. */
async function iterationRows(most) {
    await editor
        .rows("Iterations")
        .nth(most - 1)
        .waitFor();
    return await editor
        .rows("Iterations")
        .locator(".label-name")
        .allTextContents();
}

/** Whether an event is of the run in the other folder. */
function inLetters({ run }) {
    const [, second] = journal
        .events()
        .filter((event) => event.kind === "runStarted");
    return run === second?.run;
}

/** What somebody else types, in a terminal of theirs in the other folder. */
function terminal(...words) {
    const [program, ...before] = known.ralph;
    execFileSync(program, [...before, ...words], {
        cwd: known.otherRepository,
    });
}

/** Let the agent of this iteration through its gate. */
function release(iteration) {
    // A named pipe: whoever opens it waits for the other side, in a thread of Node's own.
    fs.writeFile(path.join(kept, `gate-${iteration}`), "go\n", () => {});
}

function other() {
    return fs.existsSync(otherLog) ? fs.readFileSync(otherLog, "utf8") : "";
}

// --------------------------------------------------------------------------------- the running

function tell(check, began, error) {
    const seconds = (Date.now() - began) / 1000;
    const ok = error === undefined;
    process.stdout.write(
        `${JSON.stringify({ check, ok, seconds, error: error ?? "" })}\n`,
    );
}

/** What there is to look at after a failure. */
async function keepTraces() {
    await editor?.picture("failed").catch(() => {});
    const said = await editor?.output("Ralph: Show Output").catch(String);
    fs.writeFileSync(path.join(output, "extension.log"), said ?? "");
    fs.writeFileSync(path.join(output, "logs.txt"), server.logs());
    fs.writeFileSync(
        path.join(output, "complaints.txt"),
        editor?.complaints.join("\n") ?? "",
    );
    fs.writeFileSync(
        path.join(output, "events.jsonl"),
        journal
            .events()
            .map((event) => `${JSON.stringify(event)}\n`)
            .join(""),
    );
}

try {
    for (const [check, act] of steps) {
        const began = Date.now();
        try {
            await act();
        } catch (error) {
            await keepTraces();
            tell(check, began, String(error.stack ?? error));
            throw error;
        }
        tell(check, began);
    }
    tell("the end", Date.now());
} catch {
    process.exitCode = 1;
} finally {
    await editor?.close();
    await server.stop();
}
