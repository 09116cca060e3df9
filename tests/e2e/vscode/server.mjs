/**
 * The server of the real VS Code: installed into, started and ended, in a folder of its own.
 *
 * It must never know what a page shows of it.
 */

import { spawn, spawnSync } from "node:child_process";
import fs from "node:fs";
import http from "node:http";
import net from "node:net";
import path from "node:path";

import { changeIn, PATIENCE } from "./waiting.mjs";

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
     *   settings?: Record<string, unknown>, trust?: boolean }} options `trust`: it asks whether
     *   a folder is trusted
     */
    constructor({ program, folder, environment, settings = {}, trust = false }) {
        this.trust = trust;
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
                ...archives.flatMap((archive) => ["--install-extension", archive]),
            ],
            { env: this.environment, encoding: "utf8" },
        );
        if (ran.status !== 0) {
            throw new Error(`the editor did not install ${archives}: ${ran.stdout}${ran.stderr}`);
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
                    ...(this.trust ? [] : ["--disable-workspace-trust"]),
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
        const timer = setTimeout(() => process.kill(-server.pid, "SIGKILL"), 10_000);
        await gone;
        clearTimeout(timer);
    }

    /** Change a user setting while it runs. */
    set(name, value) {
        this.settings[name] = value;
        this.#writeSettings();
    }

    /** Take a user setting back while it runs. */
    unset(name) {
        delete this.settings[name];
        this.#writeSettings();
    }

    /**
     * The address of the page that opens this folder or workspace file, with a document in it; an
     * empty window where none is named.
     */
    page(opened, document) {
        if (opened === undefined) {
            return this.#address({ ew: "true" });
        }
        const isFile = opened.endsWith(".code-workspace");
        return this.#address({
            [isFile ? "workspace" : "folder"]: opened,
            ...(document === undefined ? {} : { payload: [["openFile", this.remote(document)]] }),
        });
    }

    /** The address of the page that opens a folder and runs tests in its extension host. */
    testPage(folder, extension, tests) {
        return this.#address({
            folder,
            payload: [
                ["extensionDevelopmentPath", this.remote(extension)],
                ["extensionTestsPath", this.remote(tests)],
            ],
        });
    }

    /** The folder of an installed extension, by its id. */
    extension(id) {
        const extensions = path.join(this.folder, "ext");
        const name = fs.readdirSync(extensions).find((each) => each.startsWith(`${id}-`));
        return path.join(extensions, name);
    }

    /** A file as a page names it. */
    remote(name) {
        return `vscode-remote://127.0.0.1:${this.port}${name}`;
    }

    /** The text of every log that the editor and its extensions wrote. */
    logs() {
        const names = fs.readdirSync(this.folder, { recursive: true });
        return names
            .filter((name) => name.endsWith(".log"))
            .map((name) => `== ${name}\n${fs.readFileSync(path.join(this.folder, name), "utf8")}`)
            .join("\n");
    }

    #address({ payload, ...opened }) {
        const query = new URLSearchParams(opened);
        if (payload !== undefined) {
            query.set("payload", JSON.stringify(payload));
        }
        return `http://127.0.0.1:${this.port}/?${query}`;
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

/**
 * In a page, before anything of its own runs: let it run tests. As a flag of the server it would
 * hold for every page, and VS Code shows no notification in such a one.
 */
export function allowTests() {
    const changed = new MutationObserver(() => {
        const found = document.getElementById("vscode-workbench-web-configuration");
        if (found !== null) {
            changed.disconnect();
            const { developmentOptions, ...others } = JSON.parse(found.dataset.settings);
            const allowed = { ...developmentOptions, enableSmokeTestDriver: true };
            found.dataset.settings = JSON.stringify({ ...others, developmentOptions: allowed });
        }
    });
    changed.observe(document, { childList: true, subtree: true });
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
