/**
 * Every run that was ever made here: listed, opened, searched, tidied up and undone; and the
 * figures of all of them as a page.
 *
 * It goes on in the window of the chapter before, whose run of seven iterations has ended.
 */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";

import { PATIENCE, until } from "../waiting.mjs";

const THEMES = [
    ["Default Light Modern", "vs"],
    ["Default Dark Modern", "vs-dark"],
    ["Default High Contrast", "hc-black"],
    ["Default High Contrast Light", "hc-light"],
];

export const steps = [
    [
        "the plan is rewritten by a second run after a question; it does not take the first one away",
        async (world) => {
            const { editor, letters } = world;
            const { kept } = letters.agent;
            for (const name of fs.readdirSync(kept).filter((each) => /^(at|gate)-/.test(each))) {
                fs.rmSync(path.join(kept, name));
            }
            await editor.command("Ralph: Rewrite Plan, Then Run…");
            await editor.dialogButton("Rewrite Plan").waitFor();
            await editor.picture("49-replan");
            await editor.dialogButton("Rewrite Plan").click();
            await letters.agent.at(1);
            const { mode } = await letters.journal.nth("iterationStarted", 7);
            assert.equal(mode, "plan");
            await editor.command("Ralph Loop: Focus on Runs View");
            const rows = editor.rows("Runs");
            await editor.reads(rows, /Live and waiting/);
            await editor.reads(rows, /letters.*#1\/20/);
            await editor.reads(rows, /running/);
            await editor.reads(editor.rows("Iterations"), /making the plan/);
            await earlier(editor).waitFor();
            await editor.picture("50-runs");
        },
    ],
    [
        "the earlier run opens: its iterations, what the agent wrote, the whole story of one",
        async ({ editor }) => {
            await earlier(editor).click();
            const seventh = editor.rows("Runs").filter({ hasText: "#7 · " });
            await seventh.click();
            await editor.line("Reading the plan for iteration 7.").waitFor();
            await fromMenu(editor, seventh, "Show Details and Prompt");
            await editor.line("Decision").waitFor();
            await editor.picture("51-details");
        },
    ],
    [
        "its report is one click away, as a page",
        async ({ editor }) => {
            await earlier(editor).hover();
            await earlier(editor).locator('.action-label[aria-label="Show Report"]').click();
            await editor.tab("Preview Report of run").waitFor();
            await editor.picture("52-report");
            await editor.command("View: Close Editor");
            await editor.tab("Preview Report of run").waitFor({ state: "detached" });
        },
    ],
    [
        "a run is found by a task that it worked on",
        async ({ editor }) => {
            await editor.command("Ralph: Find Run…");
            await editor.row("stopped").waitFor();
            await editor.type("Write a letter");
            await editor.row("stopped").click();
            await earlier(editor).and(editor.page.locator(".focused")).waitFor();
        },
    ],
    [
        "verbs of the terminal answer here: reasons, figures; a refusal is an error",
        async ({ editor }) => {
            for (const [title, words] of [
                ["Ralph: Explain Decisions", "No iteration has ended yet"],
                ["Ralph: Show Figures of All Runs", "Runs in"],
            ]) {
                await editor.command(title);
                await editor.line(words).waitFor();
            }
            await editor.picture("53-figures");
            await editor.command("Ralph: Archive Finished Work…");
            await editor.toast("owns this work tree").waitFor();
            await editor.picture("54-refused");
            await editor.command("Notifications: Clear All Notifications");
        },
    ],
    [
        "every iteration is saved as a file, which has what the terminal prints",
        async (world) => {
            const { editor, letters } = world;
            const saved = path.join(letters.folder, ".git", "iterations.csv");
            await editor.command("Ralph: Export Runs…");
            await editor.row("CSV").waitFor();
            await editor.picture("54-export");
            await editor.row("CSV").click();
            await editor.quickInput.and(editor.page.locator(":focus")).waitFor();
            await editor.reads(editor.quickTitle, "Save the figures");
            await editor.picture("54-save");
            await editor.quickInput.fill(saved);
            // The dialog takes nothing before it has read the folder.
            await editor.row("COMMIT_EDITMSG").waitFor();
            await editor.press("Enter");
            await editor.toast("Saved").waitFor();
            await editor.picture("54-saved");
            assert.equal(fs.readFileSync(saved, "utf8"), ralph(world, "export"));
            await editor.command("Notifications: Clear All Notifications");
        },
    ],
    [
        "when nothing runs, an iteration of an earlier run can be undone, and says so",
        async (world) => {
            const { editor, letters } = world;
            ralph(world, "stop", "--now");
            await letters.journal.nth("runEnded", 1);
            await editor.rows("Runs").filter({ hasText: /stopped · 1 iteration ·/ }).waitFor();
            const seventh = editor.rows("Runs").filter({ hasText: "#7 · " });
            await seventh.scrollIntoViewIfNeeded();
            await fromMenu(editor, seventh, "Roll Back to Before This Iteration…");
            await editor.picture("55-roll-back");
            await editor.dialogButton("Roll Back").click();
            const six = () => !fs.existsSync(path.join(letters.folder, "seven.txt"));
            await until(letters.folder, six, "the file is gone");
            await editor.rows("Runs").filter({ hasText: "#7 · undone" }).waitFor();
        },
    ],
    [
        "archiving shows what it would move, and asks",
        async ({ editor, letters }) => {
            await editor.command("Ralph: Archive Finished Work…");
            await editor.dialogButton("Archive").waitFor();
            await editor.picture("56-archive");
            await editor.press("Escape");
            await editor.dialogButton("Archive").waitFor({ state: "detached" });
            assert.equal(fs.existsSync(path.join(letters.folder, "archive")), false);
        },
    ],
    [
        "output of an earlier run is deleted after a question that lists it; its row says so",
        async (world) => {
            const { editor, letters } = world;
            const config = path.join(letters.folder, ".ralph", "config.toml");
            fs.appendFileSync(config, "\n[state]\nmax_bytes = 1\n");
            await editor.command("Ralph: Delete Output of Old Runs…");
            await editor.dialogButton("Delete Output").waitFor();
            await editor.picture("56-prune");
            await editor.dialogButton("Delete Output").click();
            await editor.toast("Deleted").waitFor();
            const says = '[aria-label*="its output was deleted"]';
            await earlier(editor).and(editor.page.locator(says)).waitFor();
            await editor.rows("Runs").filter({ hasText: "#6 · " }).click();
            await editor.line("The output of this run was deleted.").waitFor();
            await editor.picture("56-pruned");
            await editor.command("Notifications: Clear All Notifications");
        },
    ],
    [
        "a lesson is shown before it is accepted, and is in use from then on",
        async ({ editor, letters }) => {
            const file = path.join(letters.folder, ".ralph", "lessons", "red.md");
            fs.mkdirSync(path.dirname(file), { recursive: true });
            fs.writeFileSync(file, "---\nscope: repository\n---\n\n# Press red\n\nGreen fails.\n");
            await editor.command("Ralph: Lessons…");
            await editor.row("Propose Lessons from Earlier Runs").waitFor();
            await editor.picture("56-lessons");
            await editor.row("not accepted in this form").click();
            await editor.row("Accept into Prompts").waitFor();
            await editor.line("Green fails.").waitFor();
            await editor.picture("56-lesson");
            await editor.row("Accept into Prompts").click();
            await editor.row("Accept into Prompts").waitFor({ state: "detached" });
            const said = editor.page.locator(".statusbar-item", { hasText: "have the lesson red" });
            await said.waitFor();
            await editor.command("Ralph: Lessons…");
            await editor.row("Press red").filter({ hasNotText: "not accepted" }).waitFor();
            await editor.press("Escape");
        },
    ],
    [
        "the dashboard draws all runs in every theme, and can be read in each",
        async ({ editor, server }) => {
            await editor.command("View: Show Explorer");
            await editor.command("View: Close All Editors");
            await editor.command("Ralph: Open Dashboard");
            await editor.webview.locator("canvas").first().waitFor();
            for (const [theme, kind] of THEMES) {
                server.set("workbench.colorTheme", theme);
                await editor.themed(kind);
                await editor.webview.locator(`body.vscode-${BODY[kind]}`).waitFor();
                assert.deepEqual(await editor.violations(), [], theme);
                const [drawn, wanted] = await editor.webview.locator(".dash").evaluate(colours);
                assert.deepEqual(drawn, wanted, theme);
                await editor.picture(`57-dashboard-${kind}`);
            }
            server.set("workbench.colorTheme", THEMES[0][0]);
            await editor.themed(THEMES[0][1]);
            await editor.command("View: Close All Editors");
        },
    ],
];

/** Background and text of the page as they are drawn, and as the theme has them. */
function colours(page) {
    const probe = document.createElement("p");
    probe.style.background = "var(--vscode-editor-background)";
    probe.style.color = "var(--vscode-foreground)";
    page.append(probe);
    const of = (element) => {
        const { backgroundColor, color } = getComputedStyle(element);
        return [backgroundColor, color];
    };
    const found = [of(page), of(probe)];
    probe.remove();
    return found;
}

/** As the page of a webview names them. */
const BODY = {
    vs: "light",
    "vs-dark": "dark",
    "hc-black": "high-contrast",
    "hc-light": "high-contrast-light",
};

/** What a verb prints in a terminal in the folder. */
function ralph({ known, letters }, ...words) {
    const [program, ...before] = known.ralph;
    return execFileSync(program, [...before, ...words], { cwd: letters.folder, encoding: "utf8" });
}

/** The run of the chapter before. */
function earlier(editor) {
    return editor.rows("Runs").filter({ hasText: "7 iterations" });
}

/**
 * Choose from the menu of a row, by its key, since a click right after it opened is no choice.
 * A menu has what the row offered when it was opened: one that came too early is opened again.
 */
async function fromMenu(editor, row, title) {
    const end = Date.now() + PATIENCE;
    for (;;) {
        await row.click({ button: "right" });
        try {
            await editor.menuItem(title).hover({ timeout: 3000 });
            await editor.press("Enter");
            return;
        } catch (error) {
            if (Date.now() > end) {
                throw error;
            }
            await editor.press("Escape");
        }
    }
}
