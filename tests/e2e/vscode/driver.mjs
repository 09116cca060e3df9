/**
 * The real VS Code, started, opened in a headless browser and driven as a person drives it.
 *
 * Nothing here sleeps: it waits for an element, for a file or for an event of a journal, each for
 * a minute at most, since a busy machine is slow and not broken. It knows VS Code's own page, and
 * must never know what the loop under test should do: that is the scenario's.
 */

import { spawn, spawnSync } from "node:child_process";
import fs from "node:fs";
import http from "node:http";
import { createRequire } from "node:module";
import net from "node:net";
import path from "node:path";

/** Milliseconds for anything that has to come. */
export const PATIENCE = 60_000;

const CALM = {
    "workbench.startupEditor": "none",
    "workbench.secondarySideBar.defaultVisibility": "hidden",
    "workbench.welcomePage.walkthroughs.openOnInstall": false,
    "workbench.reduceMotion": "on",
    "workbench.tips.enabled": false,
    "window.commandCenter": true,
    "chat.disableAIFeatures": true,
    "extensions.autoUpdate": false,
    "extensions.autoCheckUpdates": false,
    "extensions.ignoreRecommendations": true,
    "security.workspace.trust.enabled": false,
    "telemetry.telemetryLevel": "off",
    "update.mode": "none",
    "editor.minimap.enabled": false,
    "git.openRepositoryInParentFolders": "never",
};

/** One server of the editor with a folder of its own. */
export class CodeServer {
    /**
     * @param {{ program: string, folder: string, environment: NodeJS.ProcessEnv,
     *   settings?: Record<string, unknown> }} options
     */
    constructor({ program, folder, environment, settings = {} }) {
        this.program = program;
        this.folder = folder;
        this.environment = environment;
        this.settings = { ...CALM, ...settings };
        this.log = path.join(folder, "server.log");
        for (const name of ["User", "Machine"]) {
            fs.mkdirSync(path.join(folder, "ud", name), { recursive: true });
        }
        this.#writeSettings();
    }

    /** Install extensions before the first start. */
    install(...archives) {
        const ran = spawnSync(
            process.execPath,
            [
                this.program,
                ...this.#folders(),
                "--accept-server-license-terms",
                ...archives.flatMap((archive) => [
                    "--install-extension",
                    archive,
                ]),
            ],
            { env: this.environment, encoding: "utf8" },
        );
        if (ran.status !== 0) {
            throw new Error(
                `the editor did not install ${archives}: ${ran.stdout}${ran.stderr}`,
            );
        }
    }

    /** Start it; done when it answers. */
    async start() {
        this.port = await freePort();
        const log = fs.openSync(this.log, "a");
        this.process = spawn(
            process.execPath,
            [
                this.program,
                ...[
                    "--host",
                    "127.0.0.1",
                    "--port",
                    String(this.port),
                    "--without-connection-token",
                ],
                ...[
                    "--accept-server-license-terms",
                    "--disable-telemetry",
                    "--disable-workspace-trust",
                ],
                ...this.#folders(),
            ],
            {
                env: this.environment,
                stdio: ["ignore", log, log],
                detached: true,
            },
        );
        fs.closeSync(log);
        await this.#answers();
    }

    /** End it and all it started, but not what has a session of its own, such as an engine. */
    async stop() {
        const { process: server } = this;
        if (server === undefined || server.exitCode !== null) {
            return;
        }
        const gone = new Promise((resolve) => server.once("exit", resolve));
        process.kill(-server.pid, "SIGTERM");
        const timer = setTimeout(
            () => process.kill(-server.pid, "SIGKILL"),
            10_000,
        );
        await gone;
        clearTimeout(timer);
    }

    /** Change a user setting while it runs. */
    set(name, value) {
        this.settings[name] = value;
        this.#writeSettings();
    }

    /** The address of the page that opens this workspace file, with a document in it. */
    page(workspace, document) {
        const remote = `vscode-remote://127.0.0.1:${this.port}${document}`;
        const payload = JSON.stringify([["openFile", remote]]);
        const query = new URLSearchParams({ workspace, payload });
        return `http://127.0.0.1:${this.port}/?${query}`;
    }

    /** The text of every log that the editor and its extensions wrote. */
    logs() {
        const names = fs.readdirSync(this.folder, { recursive: true });
        return names
            .filter((name) => name.endsWith(".log"))
            .map(
                (name) =>
                    `== ${name}\n${fs.readFileSync(path.join(this.folder, name), "utf8")}`,
            )
            .join("\n");
    }

    #folders() {
        const named = {
            "server-data-dir": "sd",
            "user-data-dir": "ud",
            "extensions-dir": "ext",
        };
        return Object.entries(named).flatMap(([flag, name]) => [
            `--${flag}`,
            path.join(this.folder, name),
        ]);
    }

    #writeSettings() {
        const text = JSON.stringify(this.settings, undefined, 2);
        for (const name of ["User", "Machine"]) {
            // As one rename: the editor reads it whenever it changes.
            const file = path.join(this.folder, "ud", name, "settings.json");
            fs.writeFileSync(`${file}.new`, text);
            fs.renameSync(`${file}.new`, file);
        }
    }

    async #answers() {
        const until = Date.now() + PATIENCE;
        while (!(await isUp(this.port))) {
            if (Date.now() > until || this.process.exitCode !== null) {
                throw new Error(
                    `the editor's server does not answer:\n${fs.readFileSync(this.log)}`,
                );
            }
            // A connection that is refused is answered at once, so wait for the log's next line.
            await changeIn(this.folder, 250, { recursive: false });
        }
    }
}

/** The browser's one page with the editor in it. */
export class Editor {
    /** @param {import("playwright-core").Page} page */
    constructor(page, pictures) {
        this.page = page;
        this.pictures = pictures;
        page.setDefaultTimeout(PATIENCE);
        /** What the page complained about; the webviews' complaints come here too. */
        this.complaints = [];
        page.on("console", (message) => {
            if (message.type() === "error") {
                this.complaints.push(message.text());
            }
        });
        page.on("pageerror", (error) => this.complaints.push(String(error)));
    }

    static async open(driverModules, chromium, pictures) {
        const { chromium: engine } = createRequire(
            path.join(driverModules, "index.js"),
        )("playwright-core");
        const browser = await engine.launch({
            executablePath: chromium,
            headless: true,
            args: [
                ...[
                    "--no-sandbox",
                    "--disable-gpu",
                    "--disable-quic",
                    "--no-first-run",
                ],
                ...[
                    "--disable-background-networking",
                    "--disable-component-update",
                    "--disable-sync",
                ],
            ],
        });
        const context = await browser.newContext({
            viewport: { width: 1400, height: 900 },
        });
        const editor = new Editor(await context.newPage(), pictures);
        editor.browser = browser;
        return editor;
    }

    async goto(address) {
        await this.page.goto(address, { waitUntil: "domcontentloaded" });
        await this.page.locator(".monaco-workbench").waitFor();
    }

    /** Load the window again, as its own command does. */
    async reload() {
        await this.page.reload({ waitUntil: "domcontentloaded" });
        await this.page.locator(".monaco-workbench").waitFor();
    }

    /** Run a command from the palette, by its title. */
    async command(title) {
        await this.page.keyboard.press("F1");
        const input = this.page.locator(
            ".quick-input-widget:visible input.input",
        );
        await input.waitFor();
        await input.fill(`>${title}`);
        await this.row(title).waitFor();
        await this.page.keyboard.press("Enter");
    }

    /** A row of the quick pick that is open. */
    row(text) {
        return this.page
            .locator(
                ".quick-input-widget:visible .quick-input-list .monaco-list-row",
                {
                    hasText: text,
                },
            )
            .first();
    }

    lens(text) {
        return this.page
            .locator(".codelens-decoration a", { hasText: text })
            .first();
    }

    status(id) {
        return this.page.locator(`.statusbar-item[id="${id}"]`);
    }

    /** A part of the side bar, by its title. */
    pane(title) {
        const header = this.page.locator(
            `.pane-header[aria-label^="${title}"]`,
        );
        return this.page.locator(".sidebar .pane", { has: header });
    }

    /** The rows of a tree, as they read. */
    rows(title) {
        return this.pane(title).locator(".monaco-list-row");
    }

    /** The page inside a webview view; there is one of ours. */
    get webview() {
        return this.page
            .frameLocator("iframe.webview.ready")
            .frameLocator("iframe#active-frame");
    }

    get problems() {
        return this.page.locator(".markers-panel .monaco-list-row");
    }

    get toasts() {
        return this.page.locator(
            ".notifications-toasts .notification-list-item-message",
        );
    }

    /** Wait until the text of an element fits. */
    async reads(locator, pattern) {
        await locator.filter({ hasText: pattern }).first().waitFor();
    }

    /** Open the thread beside a line and read it; it folds by itself a moment after an answer. */
    async readsThread(...words) {
        const widget = words.reduce(
            (found, hasText) => found.filter({ hasText }),
            this.page.locator(".review-widget"),
        );
        const end = Date.now() + PATIENCE;
        for (;;) {
            await this.page.locator(".comment-range-glyph").first().click();
            try {
                await widget.waitFor({ timeout: 3000 });
                return;
            } catch (error) {
                if (Date.now() > end) {
                    throw error;
                }
            }
        }
    }

    /** Put the cursor at the end of the document that is open. */
    async toEnd() {
        await this.page.locator(".editor-instance .view-line").first().click();
        await this.page.keyboard.press("ControlOrMeta+End");
    }

    async save() {
        await this.page.keyboard.press("ControlOrMeta+s");
    }

    /** Make the side bar as wide as this. */
    async sideBar(width) {
        const box = await this.page.locator(".part.sidebar").boundingBox();
        const { mouse } = this.page;
        await mouse.move(box.x + box.width, box.y + 200);
        await mouse.down();
        await mouse.move(box.x + width, box.y + 200, { steps: 5 });
        await mouse.up();
    }

    /** What stands in the output channel that a command shows; the editor writes no file of it. */
    async output(title) {
        await this.page.keyboard.press("Escape");
        await this.command(title);
        const view = this.page
            .locator(".output-view-container, .output-view")
            .first();
        await view.locator(".view-line").first().waitFor({ timeout: 10_000 });
        return (await view.locator(".view-line").allInnerTexts()).join("\n");
    }

    async picture(name) {
        const file = path.join(this.pictures, `${name}.png`);
        // What lies under the pointer would be drawn in another way, or with words over it.
        await this.page.mouse.move(900, 780);
        await this.page
            .locator(".workbench-hover-container:visible")
            .waitFor({ state: "detached" });
        await this.page.screenshot({ path: file });
        return file;
    }

    async close() {
        await this.browser.close();
    }
}

/** The journal of the newest run below a state folder. */
export class Journal {
    constructor(stateFolder) {
        this.worktrees = path.join(stateFolder, "worktrees");
        fs.mkdirSync(this.worktrees, { recursive: true });
    }

    /** Every event of every run, in the order of the runs. */
    events() {
        const found = fs
            .readdirSync(this.worktrees, { recursive: true })
            .filter((name) => path.basename(name) === "journal.jsonl");
        // The name of a run begins with its time.
        const byRun = (a, b) =>
            path.dirname(a).split("/").at(-1) <
            path.dirname(b).split("/").at(-1)
                ? -1
                : 1;
        return found.sort(byRun).flatMap((name) =>
            fs
                .readFileSync(path.join(this.worktrees, name), "utf8")
                .split("\n")
                .slice(0, -1)
                .map((line) => JSON.parse(line)),
        );
    }

    /** The first event of this kind that fits; waits for it. */
    async event(kind, fits = () => true) {
        const found = () =>
            this.events().find((event) => event.kind === kind && fits(event));
        return await until(this.worktrees, found, `an event ${kind}`);
    }
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
            throw new Error(
                `${what} did not come in ${PATIENCE / 1000} s, in ${folder}`,
            );
        }
        await changed;
    }
}

/** Wait until a file is there. */
export async function file(name) {
    await until(path.dirname(name), () => fs.existsSync(name), name);
}

/** The next change in a folder and below it; or a look now and then, since a watch may miss one. */
function changeIn(folder, most, options = { recursive: true }) {
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

function isUp(port) {
    return new Promise((resolve) => {
        http.get(`http://127.0.0.1:${port}/version`, (answer) => {
            answer.resume();
            resolve(answer.statusCode === 200);
        }).on("error", () => resolve(false));
    });
}

function freePort() {
    return new Promise((resolve) => {
        const server = net.createServer().listen(0, "127.0.0.1", () => {
            const { port } = server.address();
            server.close(() => resolve(port));
        });
    });
}
