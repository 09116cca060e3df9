/**
 * Waiting for files and for events of a journal: for a change, never for a time.
 *
 * Each wait is for two minutes at most, since a busy machine is slow and not broken.
 */

import fs from "node:fs";
import path from "node:path";

/** Milliseconds for anything that has to come. */
export const PATIENCE = 120_000;

/** The journals of one work tree's runs. */
export class Journal {
    constructor(stateFolder, repository) {
        this.worktrees = path.join(stateFolder, "worktrees");
        this.repository = repository;
        fs.mkdirSync(this.worktrees, { recursive: true });
    }

    /** Every event of every run, in the order of the runs. */
    events() {
        return this.#runs().flat();
    }

    /** The first event of this kind that fits; waits for it. */
    async event(kind, fits = () => true) {
        return await until(
            this.worktrees,
            () => this.events().find((event) => event.kind === kind && fits(event)),
            `an event ${kind}`,
        );
    }

    /** The event of this kind after so many others of it. */
    async nth(kind, before) {
        const all = () => this.events().filter((event) => event.kind === kind);
        return await until(this.worktrees, () => all()[before], `event ${before + 1} ${kind}`);
    }

    #runs() {
        const here = real(this.repository);
        // The name of a run begins with its time.
        const run = (name) => path.basename(path.dirname(name));
        return journals(this.worktrees)
            .sort((a, b) => (run(a) < run(b) ? -1 : 1))
            .map(readLines)
            .filter(([first]) => first !== undefined && real(first.workspace) === here);
    }
}

/** Every event of every run of every work tree. */
export function allEvents(stateFolder) {
    return journals(path.join(stateFolder, "worktrees")).flatMap(readLines);
}

/** The journal of each run; what else lies there comes and goes while a loop runs. */
function journals(worktrees) {
    const inside = (folder) =>
        fs.existsSync(folder) ? fs.readdirSync(folder).map((name) => path.join(folder, name)) : [];
    return inside(worktrees)
        .flatMap((worktree) => inside(path.join(worktree, "runs")))
        .map((run) => path.join(run, "journal.jsonl"))
        .filter((journal) => fs.existsSync(journal));
}

/** The events of a journal; none where it moved meanwhile, as that of a closed lane does. */
function readLines(name) {
    let text = "";
    try {
        text = fs.readFileSync(name, "utf8");
    } catch (error) {
        if (error.code !== "ENOENT") {
            throw error;
        }
    }
    return text
        .split("\n")
        .slice(0, -1)
        .map((line) => JSON.parse(line));
}

function real(folder) {
    return fs.existsSync(folder) ? fs.realpathSync(folder) : folder;
}

/** Wait until `look` finds something; it is asked whenever something changes in the folder. */
export async function until(folder, look, what) {
    const end = Date.now() + PATIENCE;
    for (;;) {
        const changed = changeIn(folder, 1000);
        const found = look();
        if (found !== undefined && found !== false) {
            return found;
        }
        if (Date.now() > end) {
            throw new Error(`${what} did not come in ${PATIENCE / 1000} s, in ${folder}`);
        }
        await changed;
    }
}

/** Wait until a file is there. */
export async function file(name) {
    await until(path.dirname(name), () => fs.existsSync(name), name);
}

/** What a promise comes to, if it does so in this many milliseconds. */
export async function within(most, promise, what) {
    let timer;
    const late = new Promise((_, reject) => {
        const error = new Error(`${what} did not end in ${most / 1000} s`);
        timer = setTimeout(() => reject(error), most);
    });
    try {
        return await Promise.race([promise, late]);
    } finally {
        clearTimeout(timer);
    }
}

/** The next change in a folder and below it; or a look now and then, since a watch may miss one. */
export function changeIn(folder, most, options = { recursive: true }) {
    return new Promise((resolve) => {
        const watch = fs.watch(folder, options);
        const done = () => {
            clearTimeout(timer);
            watch.close();
            resolve();
        };
        const timer = setTimeout(done, most);
        watch.once("change", done);
        watch.once("error", done);
    });
}
