/**
 * A loop without a mouse: found, looked at and answered with keys alone.
 *
 * The next chapter goes on in its window, with the same run.
 */

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";

import { asks, commits } from "../agent.mjs";
import { until } from "../waiting.mjs";

const WHERE = "Where are letters kept? (a) SQLite file (b) Redis";
const STAMPS = "And where are stamps kept? (a) SQLite file (b) Redis";

export const steps = [
    [
        "a limit in the Settings of one folder is written to that folder's configuration alone",
        async (world) => {
            const { editor, known, server, parser, letters } = world;
            await editor.openWorkspace(server.page(known.workspace, parser.plan), "parser");
            await world.served(editor.lens(/Start loop|Start another run/));
            const configs = [letters, parser].map(({ folder }) =>
                path.join(folder, ".ralph", "config.toml"),
            );
            const texts = () => configs.map((name) => fs.readFileSync(name, "utf8"));
            const before = texts();
            const limit = await editor.settingOf("letters", "ralphLoop.run.notify.costUsd");
            await limit.fill("7");
            const line = "cost_usd = 7\n";
            await until(letters.folder, () => texts()[0].includes(line), "the limit in the file");
            assert.equal(texts()[1], before[1]);
            await editor.picture("30-settings");
            await limit.fill("");
            await until(letters.folder, () => !texts()[0].includes(line), "no limit in the file");
            await editor.press("Escape");
            fs.rmSync(path.join(letters.folder, ".vscode"), { recursive: true });
            fs.writeFileSync(configs[0], before[0]);
        },
    ],
    [
        "the other folder's loop is started from its own plan, and the view goes over to it",
        async (world) => {
            const { editor, letters } = world;
            await editor.command("Ralph Loop: Focus on Plan View");
            await editor.reads(editor.rows("Plan"), "High Priority");
            await editor.command("Ralph: Select Folder to Show…");
            await editor.row("letters").waitFor();
            await editor.type("letters");
            await editor.press("Enter");
            await editor.reads(editor.rows("Plan"), "Write a letter");
            await editor.command("Ralph: Open Plan");
            await editor.reads(editor.breadcrumbs, "letters");
            await editor.lens("Start loop").waitFor();
            await editor.command("Ralph: Start Loop");
            const started = await letters.journal.event("runStarted");
            assert.equal(fs.realpathSync(started.workspace), fs.realpathSync(letters.folder));
            await letters.agent.at(1);
            await editor.reads(editor.webview.locator(".count"), "1 / 20");
            const folders = editor.webview.locator(".folders button");
            await editor.reads(folders.filter({ hasText: "letters" }), /Running · 1\/20/);
            const shown = await folders.and(editor.webview.locator("[aria-current]")).allTextContents();
            assert.deepEqual(shown.length, 1);
        },
    ],
    [
        "the rows of the plan are walked with arrows, and Enter shows a line and keeps the keys",
        async ({ editor }) => {
            await editor.command("Ralph Loop: Focus on Plan View");
            await editor.inTree("Plan");
            const row = editor.focusedRow("Plan");
            await editor.press("Home");
            await editor.reads(row, "0/1");
            await editor.walksDownTo("Plan", "Write a letter");
            assert.match((await row.getAttribute("aria-label")) ?? "", /Write a letter/);
            await editor.press("Enter");
            await editor.reads(row, "Write a letter");
            await editor.picture("30-keyboard-plan");
        },
    ],
    [
        "the Loop view's buttons are reached with Tab, and one sees which of them it is",
        async ({ editor }) => {
            await editor.command("Ralph Loop: Focus on Loop View");
            const focused = editor.webview.locator("button:focus-visible").first();
            for (let pressed = 0; pressed < 10 && (await focused.count()) === 0; pressed += 1) {
                await editor.press("Tab");
                await editor.webview.locator(":focus").first().waitFor();
            }
            const outline = await focused.evaluate(
                (button) => getComputedStyle(button).outlineStyle,
            );
            assert.notEqual(outline, "none");
            await editor.picture("31-keyboard-loop");
        },
    ],
    [
        "Ctrl+Alt+A in the plan, one letter, Ctrl+Enter: the question is answered",
        async (world) => {
            const { editor, letters } = world;
            await letters.agent.does(1, commits("One", "one.txt", "one"), asks(WHERE));
            await world.asked(letters, WHERE);
            await editor.command("Ralph: Open Plan");
            await editor.inEditor();
            await editor.press("ControlOrMeta+Alt+a");
            await editor.inDraft();
            await editor.picture("32-keyboard-answer");
            // The key works from the first letter on, before any button has heard of it.
            await editor.type("a");
            await editor.press("ControlOrMeta+Enter");
            const answered = await letters.journal.nth("questionAnswered", 0);
            assert.equal(answered.answer, "a");
            await letters.agent.at(2);
        },
    ],
    [
        "Alt+F9 goes to the thread, Tab to one of its options, Enter answers with it",
        async (world) => {
            const { editor, letters } = world;
            await letters.agent.does(2, commits("Two", "two.txt", "two"), asks(STAMPS));
            await world.asked(letters, STAMPS);
            await editor.openGlyph.waitFor();
            await editor.command("Ralph: Open Plan");
            await editor.inEditor();
            const link = editor.threadLink("(b) Redis");
            await editor.toLinkBelowTop(link);
            await editor.picture("33-keyboard-thread");
            await link.press("Enter");
            const answered = await letters.journal.nth("questionAnswered", 1);
            assert.equal(answered.answer, "Redis");
        },
    ],
];
