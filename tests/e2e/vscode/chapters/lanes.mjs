/**
 * Two tasks side by side: lanes with a view, a question of one of them, and a conflict of both.
 */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";

import { asks, commits, reports } from "../agent.mjs";

const QUESTION = "Which currency is the total in?";
const DONE = reports({ STATUS: "COMPLETE", EXIT_SIGNAL: true, FILES_MODIFIED: 1 });

export const steps = [
    [
        "a loop is started with two lanes: each task is at work in one, and the plan says where",
        async (world) => {
            const { editor, server, ledger } = world;
            await editor.goto(server.page(ledger.folder, ledger.plan));
            await editor.openViews();
            await world.served(editor.lens("Start loop"));
            await editor.command("Ralph: Start Parallel Loop…");
            await editor.reads(editor.quickTitle, "Start Parallel Loop");
            await editor.quickInput.fill("2");
            await editor.press("Enter");
            await ledger.journal.event("runStarted");
            await world.lane(TOTAL).at(1);
            await world.lane(TAX).at(1);
            await editor.reads(editor.rows("Lanes"), /Show the total.*lane 1/);
            await editor.reads(editor.rows("Lanes"), /Show the tax.*lane 2/);
            await editor.reads(editor.webview.locator(".headline"), /2 lanes/);
            await editor.picture("62-lanes");
        },
    ],
    [
        "one lane asks, is answered from its row, and the other continues meanwhile",
        async (world) => {
            const { editor, ledger } = world;
            await world.lane(TOTAL).does(1, asks(QUESTION));
            await ledger.journal.event("laneWaiting", (event) => event.question === QUESTION);
            await editor.reads(editor.rows("Lanes"), /asks/);
            await editor.command("Ralph: Open Terminal in Lane");
            await editor.row("Show the total").click();
            await editor.page.locator(".terminal-wrapper .xterm").first().waitFor();
            await editor.picture("63-lane-asks");
            await editor.command("Terminal: Kill the Active Terminal Instance");
            await editor.command("Ralph: Answer Lane…");
            await editor.reads(editor.quickTitle, QUESTION);
            await editor.type("Euro");
            await editor.press("Enter");
            await world.lane(TOTAL).at(2);
            assert.ok(world.lane(TOTAL).prompt(2).includes("Euro"), "the answer is not in the prompt");
        },
    ],
    [
        "the second to be merged changed the same line: its conflict opens at its markers",
        async (world) => {
            const { editor, ledger } = world;
            await world.lane(TAX).does(
                1,
                commits("Show the tax", "page.txt", "total and tax", "T002: Show the tax"),
                DONE,
            );
            await ledger.journal.event("laneMerged");
            await editor.reads(editor.rows("Lanes"), /Show the tax.*merged/);
            beginAgain(world.lane(TOTAL));
            await world.lane(TOTAL).does(
                2,
                commits("Show the total", "page.txt", "total in euros", "T001: Show the total"),
                DONE,
            );
            await ledger.journal.event("mergeRefused", (event) => event.problem === "conflict");
            await world.lane(TOTAL).at(1);
            await editor.command("Ralph: Open Conflict");
            await editor.line("<<<<<<<").waitFor();
            await editor.page.getByText("Accept Current Change").first().waitFor();
            await editor.picture("64-conflict");
            await editor.command("View: Close Editor");
        },
    ],
    [
        "once it is resolved both are merged, and the branch has them one after the other",
        async (world) => {
            const { editor, ledger } = world;
            await world.lane(TOTAL).does(
                1,
                commits("Show the total", "page.txt", "total in euros, and tax", "T001: Show the total"),
                DONE,
            );
            const ended = await ledger.journal.event("runEnded");
            assert.equal(ended.reason, "complete", ended.message);
            const branch = `ralph/session-${ended.run}`;
            const git = (...words) =>
                execFileSync("git", words, { cwd: ledger.folder, encoding: "utf8" });
            assert.equal(git("show", `${branch}:page.txt`), "total in euros, and tax\n");
            const subjects = git("log", "--format=%s", `HEAD..${branch}`).trim().split("\n");
            assert.deepEqual(subjects, ["Show the total", "Show the tax"]);
            assert.equal(git("status", "--porcelain"), "");
            await editor.reads(editor.webview.locator(".headline"), /complete/i);
            await editor.picture("65-lanes-merged");
        },
    ],
];

/** Folders of the lanes: the task's id, and the number of the lane among all of the run. */
const [TOTAL, TAX] = ["t001-1", "t002-2"];

/** Let the agent begin with 1 again, as the next run in its lane does. */
function beginAgain({ kept }) {
    for (const name of ["at-1", "gate-1"]) {
        fs.rmSync(path.join(kept, name));
    }
}
