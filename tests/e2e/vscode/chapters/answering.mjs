/**
 * Every other way to answer, and everybody else who may be quicker: nothing that a person wrote is
 * lost, and nothing takes the keyboard from them.
 */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";

import { asks, commits, isBlocked } from "../agent.mjs";
import { until } from "../waiting.mjs";

/** Another one for each iteration: an answer that stands in the file is one to the same words. */
const COLOURS = [3, 4, 5].map((page) => `Which colour has page ${page}? (a) White (b) Grey`);

export const steps = [
    [
        "a draft stays as it is, with the keyboard in it, while the plan changes around it",
        async (world) => {
            const { editor, letters } = world;
            await letters.agent.does(3, commits("Three", "three.txt", "three"), asks(COLOURS[0]));
            await world.asked(letters, COLOURS[0]);
            await editor.lens(/answer/i).click();
            await editor.inDraft();
            await editor.type("White, ");
            const before = fs.readFileSync(letters.plan, "utf8");
            fs.writeFileSync(letters.plan, `A line from elsewhere.\n\n${before}`);
            await editor.line("A line from elsewhere.").waitFor();
            await editor.lens(/answer/i).waitFor();
            await editor.type("as ever");
            await editor.readsDraft("White, as ever");
            assert.ok(await editor.isInDraft());
            await editor.picture("40-draft");
        },
    ],
    [
        "Not Now folds the thread, and what was written is there the next time",
        async ({ editor }) => {
            await editor.threadButton("Not Now").click();
            await editor.thread.waitFor({ state: "detached" });
            await editor.press("ControlOrMeta+Alt+a");
            await editor.inDraft();
            await editor.threadButton("Not Now").waitFor();
            await editor.readsDraft("White, as ever");
        },
    ],
    [
        "an answer given in a terminal is told above the draft, which stays where it is",
        async (world) => {
            const { editor, letters } = world;
            terminal(world, "answer", "Grey, since white is out of stock");
            await letters.agent.at(4);
            await editor.reads(world.status, "4/20");
            await editor.reads(editor.threadHead, "Answered in a terminal");
            assert.ok(await editor.isInDraft(), "the keyboard is elsewhere");
            await editor.type("!");
            await editor.readsDraft("White, as ever!");
            await editor.picture("41-answered-elsewhere");
        },
    ],
    [
        "what comes too late can be sent as a note, and the thread then shows who answered",
        async ({ editor, letters }) => {
            await editor.press("ControlOrMeta+Enter");
            await editor.reads(editor.toast("not sent"), "Answered in a terminal");
            await editor.takes("not sent", "Send as Note");
            await letters.journal.event("noteAdded", ({ text }) => text === "White, as ever!");
            await editor.readsThread("ralph answer", "Grey, since white is out of stock");
            await editor.picture("42-too-late");
        },
    ],
    [
        "where no comments are drawn, the question comes on top of the window",
        async (world) => {
            const { editor, letters, server } = world;
            server.set("comments.visible", false);
            await letters.agent.does(4, commits("Four", "four.txt", "four"), asks(COLOURS[1]));
            await world.asked(letters, COLOURS[1]);
            await editor.lens(/answer/i).click();
            await editor.reads(editor.quickTitle, COLOURS[1]);
            await editor.row("White").waitFor();
            await editor.quickInput.pressSequentially("Blue");
            await editor.row("Answer: Blue").waitFor();
            await editor.picture("43-pick");
        },
    ],
    [
        "decide.txt was quicker: the pick says so and takes nothing more",
        async (world) => {
            const { editor, letters } = world;
            const decide = path.join(letters.folder, ".ralph", "decide.txt");
            fs.appendFileSync(decide, "Green\n");
            const answered = await letters.journal.nth("questionAnswered", 3);
            assert.equal(answered.answer, "Green");
            await editor.reads(editor.quickTitle, /Answered in .*decide\.txt: Green/);
            await editor.picture("44-pick-late");
            await editor.press("Enter");
            await editor.reads(editor.toast("not sent"), "decide.txt");
            await editor.command("Notifications: Clear All Notifications");
        },
    ],
    [
        "a choice of the pick is the answer",
        async (world) => {
            const { editor, letters, server } = world;
            await letters.agent.does(5, commits("Five", "five.txt", "five"), asks(COLOURS[2]));
            await world.asked(letters, COLOURS[2]);
            await editor.press("ControlOrMeta+Alt+a");
            await editor.row("Grey").click();
            const answered = await letters.journal.nth("questionAnswered", 4);
            assert.equal(answered.answer, "Grey");
            server.unset("comments.visible");
        },
    ],
    [
        "a blocked run asks what was done about it, in the same place",
        async (world) => {
            const { editor, letters } = world;
            await letters.agent.does(
                6,
                commits("Six", "six.txt", "six"),
                isBlocked("The printer has no ink."),
            );
            await editor.reads(world.status, "blocked");
            await editor.reads(editor.webview.locator(".card"), "The printer has no ink.");
            await editor.openGlyph.waitFor();
            await editor.lens(/resolved/i).click();
            await editor.inDraft();
            await editor.reads(editor.thread, "How did you resolve it?");
            await editor.type("I bought ink.");
            await editor.picture("45-blocked");
            await editor.press("ControlOrMeta+Enter");
            await letters.journal.event("blockedResolved");
            await letters.agent.at(7);
            assert.ok(letters.agent.prompt(7).includes("I bought ink."), "the prompt lacks it");
        },
    ],
    [
        "Ralph: Stop After This Iteration, from the palette, lets the agent finish and ends the run",
        async ({ editor, letters }) => {
            await editor.command("Ralph: Stop After This Iteration");
            await letters.journal.event(
                "commandAccepted",
                ({ commandKind }) => commandKind === "stop",
            );
            await editor.reads(editor.webview.locator(".headline"), /stop/i);
            await letters.agent.does(7, commits("Seven", "seven.txt", "seven"));
            const ended = await letters.journal.event("runEnded");
            assert.equal(ended.reason, "stopped", ended.message);
            // The name that this build of the editor gives itself.
            assert.equal(ended.by, "code-server");
            await editor.reads(editor.webview.locator(".headline"), /stopped/i);
        },
    ],
    [
        "the other extension's command is still its own",
        async (world) => {
            const { editor, known, letters } = world;
            assert.equal(world.other.includes("called"), false);
            await editor.command("Other: Start Somebody Else's Ralph");
            await until(known.folder, () => world.other.includes("called"), "the other's command");
            const started = letters.journal.events().filter(({ kind }) => kind === "runStarted");
            assert.equal(started.length, 1);
        },
    ],
];

/** What somebody else types, in a terminal of theirs in the folder. */
function terminal({ known, letters }, ...words) {
    const [program, ...before] = known.ralph;
    execFileSync(program, [...before, ...words], { cwd: letters.folder });
}
