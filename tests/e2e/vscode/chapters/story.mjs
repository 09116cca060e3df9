/**
 * The whole story, in a repository without any file of a loop: it is set up, it runs, it asks, its
 * breaker opens and is reset, and it completes.
 */

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";

import { asks, commits, reports, says } from "../agent.mjs";
import { setUp } from "./wizard.mjs";

const QUESTION = "Where do the words come from? (a) A file of the system (b) A list in the program";

export const steps = [
    [
        "the server is made ready in a private environment, with nothing asked",
        async (world) => {
            const { editor, fresh, server } = world;
            await editor.goto(server.page(fresh.folder, path.join(fresh.folder, "words.py")));
            await editor.openViews(editor.webview.locator("main > *").first());
            await world.served(editor.webview.locator(".first .primary:not([aria-disabled])"));
            assert.equal(await editor.toasts.count(), 0, "something popped up");
        },
    ],
    [
        "nothing is set up: the view says what can be done, and nothing else speaks",
        async (world) => {
            const { editor } = world;
            await editor.webview.locator("button", { hasText: "Try the Demo" }).waitFor();
            await editor.pane("Plan").waitFor({ state: "hidden" });
            await editor.pane("Iterations").waitFor({ state: "hidden" });
            await world.status.waitFor({ state: "hidden" });
            await editor.badge.waitFor({ state: "hidden" });
            assert.equal(await editor.toasts.count(), 0, "something popped up");
            await editor.picture("00-nothing-set-up");
        },
    ],
    ...setUp,
    [
        "the first iteration finishes a task",
        async (world) => {
            const { editor, fresh } = world;
            await editor.reads(world.status, "1/");
            await editor.reads(editor.webview.locator(".headline"), /running/i);
            await fresh.agent.does(
                1,
                commits("Collect the words", "words.py", "WORDS = ['a']", "Collect the words"),
                reports({ TASKS_COMPLETED_THIS_LOOP: 1, FILES_MODIFIED: 2 }),
            );
            await editor.reads(editor.rows("Iterations"), "#1");
            await world.fact(/Evidence.*1 commit/);
        },
    ],
    [
        "a question comes while another file is open: one notification, whose button answers",
        async (world) => {
            const { editor, fresh } = world;
            await fresh.agent.does(
                2,
                commits("Look for words", "notes.txt", "Words are everywhere."),
                reports({ FILES_MODIFIED: 1 }),
                asks(QUESTION),
            );
            await editor.reads(world.status, "asks");
            await editor.toast("Where do the words come from?").waitFor();
            assert.equal(await editor.toasts.count(), 1);
            await editor.picture("03-notification");
            await editor.takes("Where do the words come from?", "Answer");
            await editor.reads(editor.quickTitle, "Where do the words come from?");
            await editor.row("A file of the system").click();
            const { answer } = await fresh.journal.event("questionAnswered");
            assert.equal(answer, "A file of the system");
            await fresh.agent.at(3);
        },
    ],
    [
        "three iterations without progress: the breaker opens, and the panel says why",
        async (world) => {
            const { editor, fresh } = world;
            for (const iteration of [3, 4, 5]) {
                await fresh.agent.does(
                    iteration,
                    says("I looked at the words once more."),
                    reports({ FILES_MODIFIED: 4, TASKS_COMPLETED_THIS_LOOP: 1 }),
                );
            }
            await fresh.journal.event(
                "circuitBreakerStateChange",
                (event) => event.toState === "OPEN",
            );
            await editor.reads(world.status, /breaker open/i);
            await editor.reads(editor.webview.locator(".card"), /breaker open/i);
            await editor.reads(editor.badge, "1");
            await editor.toast("breaker opened").waitFor();
            await editor.picture("04-breaker-open");
        },
    ],
    [
        "a reset from the card lets it go on",
        async (world) => {
            const { editor, fresh } = world;
            await editor.webview.locator(".card button", { hasText: /reset breaker/i }).click();
            await fresh.journal.event(
                "circuitBreakerStateChange",
                ({ toState }) => toState === "CLOSED",
            );
            await fresh.agent.at(6);
            await editor.reads(editor.webview.locator(".headline"), /running/i);
            await world.fact(/Breaker.*closed/i);
        },
    ],
    [
        "everything is done: the run completes, and the summary is one press away",
        async (world) => {
            const { editor, fresh } = world;
            await fresh.agent.does(
                6,
                "sed -i 's/\\[ \\]/[x]/' @fix_plan.md",
                commits("Print the words", "print.py", "print('a')"),
                says("All tasks are complete."),
                reports({ STATUS: "COMPLETE", TASKS_COMPLETED_THIS_LOOP: 1, EXIT_SIGNAL: true }),
            );
            const ended = await fresh.journal.event("runEnded");
            assert.equal(ended.reason, "complete", ended.message);
            await editor.reads(world.status, /complete/i);
            await editor.reads(editor.webview.locator(".headline"), /complete/i);
            await editor.reads(editor.toast("complete"), /run ended/i);
            assert.match(fs.readFileSync(fresh.plan, "utf8"), /\[x\] .*Collect the words/);
            await editor.picture("05-story-complete");
        },
    ],
];
