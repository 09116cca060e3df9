/**
 * A plan that is JSON: stories that go through their review, shown on the file and in the views.
 */

import assert from "node:assert/strict";
import path from "node:path";

import { commits, reports, says } from "../agent.mjs";

const TITLE = "Read the invoice";

/** Change the only story in the file, as an agent does. */
const sets = (field, from, to) => `sed -i 's/"${field}": ${from}/"${field}": ${to}/' ralph/tasks.json`;

export const steps = [
    [
        "a TODO.txt that is a Markdown list is a plan on its file",
        async (world) => {
            const { editor, server, invoices } = world;
            const list = path.join(invoices.folder, "TODO.txt");
            await editor.goto(server.page(invoices.folder, list));
            await world.served(editor.lens("Start loop"));
        },
    ],
    [
        "stories in tasks.json: lenses on the file, the story in the tree, the loop can be started",
        async (world) => {
            const { editor, server, invoices } = world;
            await editor.goto(server.page(invoices.folder, invoices.plan));
            await editor.openViews();
            await world.served(editor.lens("Start loop"));
            await editor.reads(editor.rows("Plan"), TITLE);
            await editor.command("Ralph: Start Loop");
            await invoices.journal.event("runStarted");
            await invoices.agent.at(1);
            assert.ok(invoices.agent.prompt(1).includes(`US-001: ${TITLE}`), "the prompt lacks it");
            await editor.reads(editor.webview.locator(".headline"), /running/i);
        },
    ],
    [
        "the story waits for its review, and the next iteration is a review's: the file says so",
        async ({ editor, invoices }) => {
            await invoices.agent.does(
                1,
                sets("reviewStatus", "null", '"needs_review"'),
                commits("Read it", "invoice.py", "def read(): ..."),
                reports({ FILES_MODIFIED: 1 }),
            );
            await invoices.agent.at(2);
            const begun = await invoices.journal.nth("iterationStarted", 1);
            assert.equal(begun.mode, "review");
            await editor.reads(editor.rows("Plan"), "waits for its review");
            await editor.reads(editor.webview.locator(".doing"), /review/i);
            await editor.picture("60-stories");
        },
    ],
    [
        "what a review may not do is put back and said on the file; approved, the run completes",
        async ({ editor, invoices }) => {
            await invoices.agent.does(
                2,
                sets("title", `"${TITLE}"`, '"Something smaller"'),
                sets("passes", "false", "true"),
                commits("Nothing to see", "notes.txt", "as it was"),
                reports({ FILES_MODIFIED: 1, WORK_TYPE: "DOCUMENTATION" }),
            );
            await invoices.journal.event("guardReverted");
            await invoices.agent.does(
                3,
                sets("reviewStatus", '"needs_review"', '"approved"'),
                sets("reviewCount", "0", "1"),
                sets("passes", "false", "true"),
                commits("Approve it", "notes.txt", "seen to pass"),
                reports({ STATUS: "COMPLETE", WORK_TYPE: "DOCUMENTATION" }),
                says("<promise>COMPLETE</promise>"),
            );
            const ended = await invoices.journal.event("runEnded");
            assert.equal(ended.reason, "complete", ended.message);
            await editor.reads(editor.webview.locator(".headline"), /complete/i);
            await editor.picture("61-stories-complete");
        },
    ],
];
