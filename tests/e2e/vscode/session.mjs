/**
 * A person and loops in one session of the real VS Code, chapter by chapter.
 *
 * Reads where everything lies from stdin as JSON, and says of each step on stdout, one JSON object
 * a line, whether it went well. A step that fails ends its chapter, since what follows in it would
 * fail too; the screen as it was and every log are then kept beside the pictures. The next chapter
 * begins in a window of its own.
 */

import fs from "node:fs";
import path from "node:path";
import { text } from "node:stream/consumers";

import * as answering from "./chapters/answering.mjs";
import * as ending from "./chapters/ending.mjs";
import * as history from "./chapters/history.mjs";
import * as host from "./chapters/host.mjs";
import * as keyboard from "./chapters/keyboard.mjs";
import * as loop from "./chapters/loop.mjs";
import * as lanes from "./chapters/lanes.mjs";
import * as looks from "./chapters/looks.mjs";
import * as newcomer from "./chapters/newcomer.mjs";
import * as opening from "./chapters/opening.mjs";
import * as setup from "./chapters/setup.mjs";
import * as stories from "./chapters/stories.mjs";
import * as story from "./chapters/story.mjs";
import { allEvents } from "./waiting.mjs";
import { World } from "./world.mjs";

/**
 * In their order; one that goes on in the window of the one before names it, and one that is
 * played only where it is asked for says so.
 */
const CHAPTERS = [
    { name: "opening", chapter: opening },
    { name: "newcomer", chapter: newcomer },
    { name: "story", chapter: story },
    { name: "loop", chapter: loop },
    { name: "looks", chapter: looks, after: "loop" },
    { name: "keyboard", chapter: keyboard },
    { name: "answering", chapter: answering, after: "keyboard" },
    { name: "history", chapter: history, after: "answering" },
    { name: "stories", chapter: stories },
    { name: "lanes", chapter: lanes },
    { name: "host", chapter: host },
    { name: "setup", chapter: setup, onlyNamed: true },
    { name: "ending", chapter: ending },
];

/** What begins and ends every session. */
const BOUNDS = ["opening", "ending"];

const known = JSON.parse(await text(process.stdin));
const world = new World(known, (what, value) => {
    process.stdout.write(`${JSON.stringify({ measured: what, value })}\n`);
});
const broken = new Set();
const passed = new Set();

/** Whether a chapter was asked for (`RALPH_E2E_CHAPTERS`), or is needed by one that was. */
function isWanted(name) {
    const { chapters } = known;
    const { onlyNamed } = CHAPTERS.find((chapter) => chapter.name === name);
    const needed = CHAPTERS.some(({ name: other, after }) => after === name && isWanted(other));
    return (chapters.length === 0 && !onlyNamed) || chapters.includes(name) || needed;
}

function tell(check, began, error) {
    const seconds = (Date.now() - began) / 1000;
    const ok = error === undefined;
    process.stdout.write(`${JSON.stringify({ check, ok, seconds, error: error ?? "" })}\n`);
}

/** What there is to look at after a failure. */
async function keepTraces(name) {
    const { editor, server } =
        { setup: world.strange, newcomer: world.newcomer }[name] ?? world;
    const into = path.join(known.output, `failed-${name}`);
    fs.mkdirSync(into, { recursive: true });
    await editor?.picture(`failed-${name}/screen`).catch(() => {});
    fs.writeFileSync(path.join(into, "logs.txt"), server.logs());
    fs.writeFileSync(path.join(into, "complaints.txt"), editor?.complaints.join("\n") ?? "");
    const events = allEvents(known.stateFolder).map((event) => `${JSON.stringify(event)}\n`);
    fs.writeFileSync(path.join(into, "events.jsonl"), events.join(""));
}

/**
 * Write down which chapters a second session has to play, the names with commas between: those
 * that did not pass, or all where what bounds the session is broken.
 */
function leaveForSecond() {
    const isBounded = BOUNDS.every((name) => passed.has(name));
    const wanted = CHAPTERS.map(({ name }) => name).filter(isWanted);
    const left = isBounded ? wanted.filter((name) => !passed.has(name)) : wanted;
    fs.writeFileSync(path.join(known.output, "left.txt"), left.join(","));
}

async function play({ name, chapter }) {
    for (const [check, act] of chapter.steps) {
        const began = Date.now();
        const told = `${name}: ${check}`;
        try {
            await act(world);
        } catch (error) {
            broken.add(name);
            await keepTraces(name);
            tell(told, began, String(error.stack ?? error));
            return;
        }
        tell(told, began);
    }
    passed.add(name);
}

try {
    for (const chapter of CHAPTERS) {
        const { name, after } = chapter;
        if (!BOUNDS.includes(name) && !isWanted(name)) {
            continue;
        }
        if (broken.has("opening") || broken.has(after)) {
            // Nor can what goes on in its window be played.
            broken.add(name);
        } else {
            await play(chapter);
        }
    }
    leaveForSecond();
    tell("the end", Date.now(), broken.size > 0 ? `broken: ${[...broken].join(", ")}` : undefined);
} finally {
    await world.editor?.close();
    await world.server.stop();
    await world.strange?.server.stop();
    await world.newcomer?.server.stop();
}
