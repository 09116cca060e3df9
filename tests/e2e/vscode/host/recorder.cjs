/**
 * Listens at the API that the extension is given: what it registers and shows, VS Code does not
 * tell anybody else. These files lie in the extension's own folder, so both have the same API.
 */

const vscode = require("vscode");

const PATIENCE = 60_000;

class Recorder {
    /** Commands as they were registered, with what they do. */
    commands = new Map();
    /** Context keys as they were set last. */
    context = new Map();
    /** Trees by the ids of their views. */
    trees = new Map();
    /** Comment threads that were not disposed of. */
    threads = new Set();
    /** Status items by their ids, with whether each is shown. */
    statusItems = new Map();
    quickPicks = [];
    /** Lines of the output channel. */
    log = [];
    #listeners = new Set();

    constructor() {
        this.#wrap(vscode.commands, "registerCommand", (make) => (id, run, ...rest) => {
            this.commands.set(id, run);
            return make(id, run, ...rest);
        });
        this.#wrap(vscode.commands, "executeCommand", (execute) => (id, ...given) => {
            if (id === "setContext") {
                this.context.set(given[0], given[1]);
                this.changed();
            }
            return execute(id, ...given);
        });
        this.#wrap(vscode.window, "createTreeView", (make) => (id, options) => {
            const { treeDataProvider: provider } = options;
            const tree = { view: make(id, options), provider, refreshes: [] };
            provider.onDidChangeTreeData((changed) => {
                tree.refreshes.push({ at: Date.now(), changed });
                this.changed();
            });
            this.trees.set(id, tree);
            return tree.view;
        });
        this.#wrap(vscode.window, "createStatusBarItem", (make) => (...given) => {
            const item = make(...given);
            const shown = { item, visible: false };
            this.statusItems.set(item.id, shown);
            return this.#watched(item, {
                show: () => (shown.visible = true),
                hide: () => (shown.visible = false),
            });
        });
        this.#wrap(vscode.window, "createQuickPick", (make) => () => {
            const pick = make();
            this.quickPicks.push(pick);
            this.changed();
            return pick;
        });
        this.#wrap(vscode.window, "createOutputChannel", (make) => (...given) => {
            const channel = make(...given);
            const info = (...words) => {
                this.log.push(words.join(" "));
                channel.info(...words);
            };
            return Object.create(channel, { info: { value: info } });
        });
        this.#wrap(vscode.comments, "createCommentController", (make) => (...given) => {
            const controller = make(...given);
            const create = controller.createCommentThread.bind(controller);
            const createCommentThread = (...about) => {
                const thread = create(...about);
                this.threads.add(thread);
                const dispose = thread.dispose.bind(thread);
                thread.dispose = () => {
                    this.threads.delete(thread);
                    dispose();
                    this.changed();
                };
                this.changed();
                return thread;
            };
            return Object.create(controller, {
                createCommentThread: { value: createCommentThread },
                options: {
                    get: () => controller.options,
                    set: (options) => (controller.options = options),
                },
            });
        });
    }

    /** Something happened: whoever waits looks again. */
    changed() {
        for (const look of this.#listeners) {
            look();
        }
    }

    /** Wait until `look` finds something; it is asked at every change and now and then. */
    async until(look, what) {
        return await new Promise((resolve, reject) => {
            const done = () => {
                clearInterval(interval);
                clearTimeout(timeout);
                this.#listeners.delete(check);
            };
            const check = () => {
                const found = look();
                if (found !== undefined && found !== false) {
                    done();
                    resolve(found);
                }
            };
            const interval = setInterval(check, 250);
            const timeout = setTimeout(() => {
                done();
                reject(new Error(`${what} did not come in ${PATIENCE / 1000} s`));
            }, PATIENCE);
            this.#listeners.add(check);
            check();
        });
    }

    #wrap(namespace, name, wrapped) {
        const original = namespace[name].bind(namespace);
        Object.defineProperty(namespace, name, { value: wrapped(original), configurable: true });
    }

    /** The same object, with something done before some of its methods. */
    #watched(object, before) {
        for (const [name, act] of Object.entries(before)) {
            const method = object[name].bind(object);
            object[name] = () => {
                act();
                method();
                this.changed();
            };
        }
        return object;
    }
}

exports.Recorder = Recorder;
