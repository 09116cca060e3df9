/**
 * The agent of one repository, told iteration by iteration what to do.
 *
 * Each of its iterations waits at a gate for a piece of shell; so what the screen shows meanwhile
 * does not hang on how fast the machine is. The other half of it is in `stage.py`.
 */

import fs from "node:fs";
import path from "node:path";

import { file } from "./waiting.mjs";

export class Agent {
    /** @param {string} kept the folder that it keeps for this repository */
    constructor(kept) {
        this.kept = kept;
        fs.mkdirSync(kept, { recursive: true });
    }

    /** Wait until it is at the gate of this iteration. */
    async at(iteration) {
        await file(path.join(this.kept, `at-${iteration}`));
    }

    /** What this iteration was told. */
    prompt(iteration) {
        return fs.readFileSync(path.join(this.kept, `prompt-${iteration}`), "utf8");
    }

    /** Let it through the gate of this iteration, to do this. */
    async does(iteration, ...script) {
        await this.at(iteration);
        // A named pipe: whoever opens it waits for the other side, in a thread of Node's own.
        const gate = path.join(this.kept, `gate-${iteration}`);
        await fs.promises.writeFile(gate, `${script.join("\n")}\n`);
    }
}

/** Words on its output. */
export function says(text) {
    return `say ${quoted(text)}`;
}

/** A question of a person. */
export function asks(question) {
    return says(`<promise>DECIDE:${question}</promise>`);
}

/** That it cannot go on. */
export function isBlocked(reason) {
    return says(`<promise>BLOCKED:${reason}</promise>`);
}

/** A file of this text, ticked tasks, and a commit of all that. */
export function commits(message, name, text, ...tasks) {
    return [
        `printf '%s\\n' ${quoted(text)} >${quoted(name)}`,
        ...tasks.map((task) => `tick ${quoted(task)}`),
        `git add -A; git commit -q -m ${quoted(message)}`,
    ].join("\n");
}

/** Its report at the end of an iteration. */
export function reports(fields) {
    const told = {
        STATUS: "IN_PROGRESS",
        TASKS_COMPLETED_THIS_LOOP: 0,
        FILES_MODIFIED: 0,
        TESTS_STATUS: "PASSING",
        WORK_TYPE: "IMPLEMENTATION",
        EXIT_SIGNAL: false,
        ...fields,
    };
    return [
        says("---RALPH_STATUS---"),
        ...Object.entries(told).map(([name, value]) => says(`${name}: ${value}`)),
        says("---END_RALPH_STATUS---"),
    ].join("\n");
}

function quoted(text) {
    return `'${String(text).replaceAll("'", `'\\''`)}'`;
}
