/** What all chapters share: the editor's server, its page, and the loops' repositories. */

import fs from "node:fs";
import path from "node:path";

import { Agent } from "./agent.mjs";
import { CodeServer } from "./server.mjs";
import { Journal, PATIENCE } from "./waiting.mjs";

export class World {
    /** @type {import("./driver.mjs").Editor} */
    editor;

    /** @param {(what: string, value: number) => void} measured tells a figure */
    constructor(known, measured) {
        this.known = known;
        this.measured = measured;
        this.otherLog = path.join(known.folder, "other-ralph.log");
        this.fresh = this.#loop(known.fresh);
        this.parser = this.#loop(known.repository);
        this.letters = this.#loop(known.otherRepository);
        this.invoices = this.#loop(known.stories, "ralph/tasks.json");
        this.ledger = this.#loop(known.ledger);
        this.host = this.#loop(known.host);
        this.server = new CodeServer({
            program: known.program,
            folder: fs.mkdirSync(path.join(known.folder, "code"), { recursive: true }),
            environment: { ...process.env, OTHER_RALPH_LOG: this.otherLog },
            settings: {
                "workbench.colorTheme": "Default Light Modern",
                "ralphLoop.server.python": known.python,
            },
        });
    }

    /** What the extension of somebody else wrote down. */
    get other() {
        return fs.existsSync(this.otherLog) ? fs.readFileSync(this.otherLog, "utf8") : "";
    }

    /** Our one item in the status bar. */
    get status() {
        return this.editor.status("ralph-loop.ralph-loop.ralphLoop.status");
    }

    /**
     * Wait for something that only the server can bring: the first window makes it an environment
     * of its own, which takes longer than anything else.
     */
    async served(locator) {
        await locator.first().waitFor({ timeout: 3 * PATIENCE });
    }

    /** Wait until this question of a loop is on the screen, and not the one before. */
    async asked(loop, question) {
        await loop.journal.event("questionAsked", (event) => event.question === question);
        await this.editor.reads(this.editor.webview.locator(".card"), question);
        await this.editor.reads(this.status, "asks");
    }

    /** A row of the facts in the Loop view. */
    async fact(pattern) {
        await this.editor.reads(this.editor.webview.locator(".facts .row"), pattern);
    }

    /** The agent in a lane of the ledger, by the name of its folder. */
    lane(name) {
        return new Agent(path.join(this.known.kept, name));
    }

    #loop(folder, plan = "@fix_plan.md") {
        return {
            folder,
            plan: path.join(folder, plan),
            journal: new Journal(this.known.stateFolder, folder),
            agent: new Agent(path.join(this.known.kept, path.basename(folder))),
        };
    }
}
