/** How the story's loop comes to be: by the wizard, in a repository with nothing of a loop in it. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";

const DESCRIPTION =
    "Count the words of a text and print them. It is done when the program prints each word once," +
    " with its number, and the tests pass.";

export const setUp = [
    [
        "the wizard begins from the view, and says what is wrong with a description",
        async ({ editor }) => {
            await editor.webview.locator("button", { hasText: "Advanced…" }).click();
            await editor.reads(editor.quickTitle, /Task Setup.*Profile/);
            await editor.picture("01-wizard-profile");
            await editor.row("@fix_plan.md").click();
            await editor.reads(editor.quickTitle, /Template/);
            await editor.row("In My Own Words").click();
            await editor.reads(editor.quickTitle, /Task Description/);
            await editor.quickInput.fill("Count words.");
            await editor.press("Enter");
            await editor.reads(editor.quickMessage, /12 of 50/);
            await editor.picture("01-wizard-description");
            await editor.quickInput.fill(DESCRIPTION);
            await editor.press("Enter");
            await editor.reads(editor.quickTitle, /Completion Phrase/);
            await editor.press("Enter");
        },
    ],
    [
        "a program of one's own is the agent, within the limits that are proposed",
        async ({ editor, known }) => {
            await editor.reads(editor.quickTitle, /Agent/);
            await editor.picture("01-wizard-agent");
            await editor.row("Custom Command").click();
            await editor.reads(editor.quickTitle, /Custom Command/);
            await editor.quickInput.fill(known.agent);
            await editor.press("Enter");
            await editor.reads(editor.quickTitle, /Limits/);
            await editor.row("Continue with These Limits").click();
        },
    ],
    [
        "the plan is written item by item, ordered and ticked",
        async ({ editor }) => {
            await editor.reads(editor.quickTitle, /Create the Plan/);
            await editor.row("Write It Myself").click();
            await editor.reads(editor.quickTitle, /New Item/);
            for (const title of ["Print the words", "Collect the words", "Sell the words"]) {
                await editor.quickInput.fill(title);
                await editor.press("Enter");
                await editor.quickIsEmpty();
            }
            await editor.press("Enter");
            await editor.reads(editor.quickTitle, /Plan Items/);
            await editor.pressInRow("Collect the words", "Move Up");
            await editor.row("Sell the words").click();
            await editor.picture("02-wizard-items");
            await editor.press("Enter");
        },
    ],
    [
        "nothing was written until the launch; then the files are there, and the loop runs",
        async (world) => {
            const { editor, fresh } = world;
            await editor.reads(editor.quickTitle, /Launch/);
            await editor.row("@fix_plan.md").waitFor();
            await editor.picture("02-wizard-launch");
            const changed = execFileSync("git", ["status", "--porcelain"], { cwd: fresh.folder });
            assert.equal(String(changed), "");
            await editor.row("Start Now").click();
            await fresh.agent.at(1);
            const plan = fs.readFileSync(fresh.plan, "utf8");
            assert.ok(plan.indexOf("Collect the words") < plan.indexOf("Print the words"), plan);
            assert.equal(plan.includes("Sell the words"), false, plan);
            assert.ok(fs.existsSync(path.join(fresh.folder, ".ralph", "config.toml")));
            await editor.reads(editor.rows("Plan"), "Collect the words");
        },
    ],
];
