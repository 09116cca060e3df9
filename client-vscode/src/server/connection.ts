/**
 * The window's one language server: found, started, kept alive, and asked.
 *
 * It knows how the server is reached and nothing of what is shown. A run has a separate process,
 * so nothing here can end one: a server that stops takes only its pictures with it.
 */

import { createRequire } from "node:module";

import * as vscode from "vscode";

import {
  SCHEMA_VERSION,
  type MessagesParams,
  type Requests,
  type ViewParams,
} from "../generated/protocol";
import { t } from "../l10n";
import { editorOptions, planPatterns } from "../settings";
import type { Store } from "../state/store";
import type * as LanguageClientBundle from "./languageClient";
import { launch, type ServerProcess } from "./launch";
import type { FoundServer, Lookup } from "./lookup";
import { firstLine, isAnswer, Refusal, toRefusal } from "./refusal";
import { Restarts } from "./restarts";

export { Refusal, toRefusal };

/** Milliseconds for the first answer: what it reads before comes from a disk that may sleep. */
const ANSWERS_WITHIN = 60_000;

/** Milliseconds between a server's last word and its end. */
const GONE_WITHIN = 3000;

/** What the user or the last server's end adds to the lookup. */
export interface Wishes {
  /** Whether the user has just said that pip may ask its index. */
  readonly mayUseIndex: boolean;
  /** Whether the server that is there died before it answered. */
  readonly doubted: boolean;
}

export interface Lookups {
  /** Finds the server; may take long where it has to be made. */
  find(wishes: Wishes): Promise<Lookup>;
}

/** The client of one server process. */
interface Served {
  readonly client: LanguageClientBundle.Client;
  readonly process: ServerProcess;
  /** Whether it has ever answered. */
  answered: boolean;
}

/** The one connection. */
export class Connection implements vscode.Disposable {
  private served: Served | undefined;
  private foundServer: FoundServer | undefined;
  private queue: Promise<void> = Promise.resolve();
  private waiting: Promise<void> | undefined;
  private readonly restarts = new Restarts();
  private again: NodeJS.Timeout | undefined;
  /** Of the next lookup. */
  private doubted = false;
  private closed = false;
  private readonly subscribed = new Set<string>();
  private readonly messages = new vscode.EventEmitter<MessagesParams>();
  private readonly begun = new vscode.EventEmitter<string>();

  /** What agents say. */
  readonly onMessages = this.messages.event;
  /** The URI of a folder whose subscription begins: what was said before comes again. */
  readonly onSubscribed = this.begun.event;

  constructor(
    private readonly store: Store,
    private readonly log: vscode.LogOutputChannel,
    private readonly lookups: Lookups,
  ) {}

  /** Where the server came from. */
  get found(): FoundServer | undefined {
    return this.foundServer;
  }

  /** Start it, or end it and start it again; two calls at once are one start and one more. */
  async restart(
    options: { readonly mayUseIndex: boolean } = { mayUseIndex: false },
  ): Promise<void> {
    this.restarts.forget();
    await this.startAgain(options.mayUseIndex);
  }

  /** Send the server a request; rejects with a sentence for the user. */
  async request<Name extends keyof Requests>(
    name: Name,
    params: Requests[Name]["params"],
    token?: vscode.CancellationToken,
  ): Promise<Requests[Name]["result"]> {
    const { served } = this;
    if (served?.client.isRunning() !== true) {
      throw new Refusal(t("Ralph's server is not running."), "no-server");
    }
    try {
      // A third argument that is undefined would be sent as a second parameter.
      const stops = token === undefined ? [] : [token];
      return await served.client.sendRequest<Requests[Name]["result"]>(name, params, ...stops);
    } catch (error) {
      if (this.served !== served || !isAnswer(error)) {
        throw new Refusal(t("Ralph's server stopped before it answered. Try again."), "no-server");
      }
      throw toRefusal(error);
    }
  }

  /** Notify the server that settings changed. */
  async settingsChanged(): Promise<void> {
    if (this.served?.client.isRunning() === true) {
      const settings = { ralph: editorOptions(this.store.snapshot.trusted) };
      await this.served.client.sendNotification("workspace/didChangeConfiguration", { settings });
    }
  }

  /** Register for every folder that is open. */
  async subscribeAll(): Promise<void> {
    const { folders, others } = this.store.snapshot;
    const open = [...folders.map(({ uri }) => uri), ...others.keys()];
    for (const uri of this.subscribed) {
      if (!open.includes(uri)) {
        this.subscribed.delete(uri);
      }
    }
    for (const { uri } of folders) {
      if (!this.subscribed.has(uri) && this.served?.client.isRunning() === true) {
        this.subscribed.add(uri);
        await this.subscribe(uri);
      }
    }
  }

  /** The window closes: end the server, and no run. */
  async close(): Promise<void> {
    this.closed = true;
    await this.stop();
  }

  dispose(): void {
    clearTimeout(this.again);
    this.messages.dispose();
    this.begun.dispose();
  }

  private async startAgain(mayUseIndex: boolean): Promise<void> {
    clearTimeout(this.again);
    if (mayUseIndex || this.waiting === undefined) {
      const waiting = this.queue.then(async () => {
        this.waiting = undefined;
        await this.stop();
        await this.start(mayUseIndex);
      });
      this.waiting = waiting;
      this.queue = waiting.catch(() => undefined);
    }
    await this.waiting;
  }

  private async stop(): Promise<void> {
    clearTimeout(this.again);
    const { served } = this;
    this.served = undefined;
    this.subscribed.clear();
    if (served === undefined) {
      return;
    }
    try {
      await served.client.dispose();
    } catch (error) {
      this.log.info(`the server did not say goodbye: ${firstLine(error)}`);
    }
    await served.process.end();
  }

  private async start(mayUseIndex: boolean): Promise<void> {
    this.store.apply({ kind: "server", health: { kind: "starting" } });
    let lookup: Lookup;
    try {
      lookup = await this.lookups.find({ mayUseIndex, doubted: this.doubted });
    } catch (error) {
      this.log.error(error instanceof Error ? error : String(error));
      this.failed(t("it could not be found: {0}", firstLine(error)));
      return;
    }
    this.doubted = false;
    if (this.closed) {
      return;
    }
    if (lookup.kind === "missing") {
      this.log.warn(lookup.why);
      this.store.apply({ kind: "server", health: lookup });
      return;
    }
    this.foundServer = lookup.found;
    await this.connect(lookup.found);
  }

  private async connect(found: FoundServer): Promise<void> {
    const { server, version, from } = found;
    const { trusted } = this.store.snapshot;
    // The flag cannot be taken back by what a client says later.
    const args = [...server.args, "--stdio", ...(trusted ? [] : ["--read-only"])];
    let process: ServerProcess;
    try {
      process = await launch({ command: server.command, args }, this.log);
    } catch (error) {
      this.failed(t("it did not start: {0}", firstLine(error)));
      return;
    }
    this.log.info(`ralph-ls ${version} from ${from} runs as pid ${process.child.pid ?? "?"}`);
    if (!trusted) {
      this.log.info("it only reads, since the folder is not trusted");
    }
    const { stdout: reader, stdin: writer } = process.child;
    const { makeClient } = languageClient();
    const client = makeClient({ reader, writer }, this.clientParts());
    const served: Served = { client, process, answered: false };
    client.onNotification("ralph/view", ({ workspace, state }: ViewParams) => {
      this.store.apply({ kind: "view", uri: workspace, state, at: Date.now() });
    });
    client.onNotification("ralph/messages", (params: MessagesParams) => {
      this.messages.fire(params);
    });
    this.served = served;
    void process.ended.then((how) => this.died(served, how));
    const late = setTimeout(() => {
      this.log.error(`the server has not answered for ${ANSWERS_WITHIN / 1000} s`);
      process.child.kill("SIGKILL");
    }, ANSWERS_WITHIN);
    try {
      await client.start();
      served.answered = true;
      // One that is about to be replaced, such as by one that may start runs, serves nobody.
      if (this.served === served && this.waiting === undefined) {
        await this.running(served, found);
      }
    } catch (error) {
      this.log.error(error instanceof Error ? error : String(error));
      // Of one that died its end says more. One that lives and will not serve does not get better.
      if (process.child.exitCode === null && process.child.signalCode === null) {
        this.failed(t("it did not start: {0}", firstLine(error)));
      }
    } finally {
      clearTimeout(late);
    }
  }

  /** It will not speak any more: usually it is about to end, else it is ended. */
  private hungUp(): void {
    const { served } = this;
    setTimeout(() => {
      if (served !== undefined && this.served === served) {
        served.process.child.kill("SIGKILL");
      }
    }, GONE_WITHIN);
  }

  /** One that we did not end: start it again, later each time, but not for ever. */
  private async died(served: Served, how: string): Promise<void> {
    if (this.served !== served || this.closed) {
      return;
    }
    this.served = undefined;
    this.subscribed.clear();
    this.doubted = !served.answered;
    const pause = this.restarts.after(Date.now());
    if (pause === undefined) {
      this.failed(t("it stopped {0} times in three minutes; {1}", this.restarts.count, how));
    } else {
      this.log.warn(`the server is started again in ${pause / 1000} s`);
      this.store.apply({ kind: "server", health: { kind: "starting" } });
      this.again = setTimeout(() => {
        this.startAgain(false).catch((error: unknown) => {
          this.log.error(error instanceof Error ? error : String(error));
        });
      }, pause);
    }
    await served.client.dispose().catch(() => undefined);
  }

  private async running({ client }: Served, found: FoundServer): Promise<void> {
    const schema = schemaOf(client.initializeResult?.capabilities.experimental);
    if (schema !== undefined && schema !== SCHEMA_VERSION) {
      await this.stop();
      this.failed(
        t(
          "{0} uses protocol {1} and this extension {2}; update the older one",
          found.from,
          schema,
          SCHEMA_VERSION,
        ),
      );
      return;
    }
    this.subscribed.clear();
    const { version, from } = found;
    this.store.apply({ kind: "server", health: { kind: "ok", version, from } });
    await this.subscribeAll();
  }

  private async subscribe(uri: string): Promise<void> {
    this.begun.fire(uri);
    try {
      const { state, workspace } = await this.request("ralph/subscribe", {
        workspace: uri,
        events: false,
        messages: true,
        view: true,
      });
      // Two folders of one work tree have one loop, which is reported by one name.
      const named = workspace === "" ? uri : workspace;
      this.store.apply({ kind: "sameAs", uri, other: named });
      this.store.apply({ kind: "view", uri: named, state, at: Date.now() });
    } catch (error) {
      // A folder that is no repository has no loop; its views say so.
      this.subscribed.delete(uri);
      this.log.info(`nothing is told of ${uri}: ${firstLine(error)}`);
      const { code, message: text } = toRefusal(error);
      if (code !== "no-server") {
        this.store.apply({ kind: "unreported", uri, problem: { code, text } });
      }
    }
  }

  private clientParts(): LanguageClientBundle.ClientParts {
    return {
      documentSelector: [
        { scheme: "file", language: "markdown" },
        // Stories. Not those in a hidden folder: VS Code has a tasks.json there.
        { scheme: "file", pattern: "**/[!.]*/{tasks,prd}.json" },
        // Plans of other tools that are neither Markdown nor JSON.
        { scheme: "file", pattern: "**/[tT][oO][dD][oO].txt" },
        { scheme: "file", pattern: "**/*.org" },
        { scheme: "file", pattern: "**/sprint-status.yaml" },
        ...planPatterns().map((pattern) => ({ scheme: "file", pattern })),
        { scheme: "file", pattern: "**/{decide,blocked}.txt" },
        // Only that the user saved them is of interest.
        { scheme: "file", pattern: "**/.ralph/**" },
      ],
      initializationOptions: (): unknown => editorOptions(this.store.snapshot.trusted),
      outputChannel: this.log,
      traceOutputChannel: this.log,
      closed: () => {
        this.hungUp();
      },
      diagnosticCollectionName: "ralphLoop",
    };
  }

  private failed(why: string): void {
    this.log.error(`the server does not run: ${why}`);
    this.store.apply({ kind: "server", health: { kind: "failed", why } });
  }
}

/** The bundle beside the extension's; found while it runs, so that it is not bundled into it. */
function languageClient(): typeof LanguageClientBundle {
  return createRequire(__filename)("./languageClient.js") as typeof LanguageClientBundle;
}

function schemaOf(experimental: unknown): number | undefined {
  const schema = (experimental as { ralph?: { schema?: unknown } } | null | undefined)?.ralph
    ?.schema;
  return typeof schema === "number" ? schema : undefined;
}
