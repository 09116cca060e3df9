/**
 * The window's one language server: found, started, kept alive, and asked.
 *
 * It knows how the server is reached and nothing of what is shown. A run that goes on has a process
 * of its own, so nothing here can end one: a server that stops takes only its pictures with it.
 */

import { homedir } from "node:os";

import * as vscode from "vscode";
import {
  CloseAction,
  ErrorAction,
  LanguageClient,
  ResponseError,
  RevealOutputChannelOn,
  State,
  type ErrorHandler,
  type LanguageClientOptions,
} from "vscode-languageclient/node";

import {
  SCHEMA_VERSION,
  type MessagesParams,
  type Requests,
  type ViewParams,
} from "../generated/protocol";
import { editorOptions } from "../settings";
import type { Remedy } from "../state/snapshot";
import type { Store } from "../state/store";
import type { FoundServer, Lookup } from "./lookup";

/** Starts of a server that dies at once: so many, in so many milliseconds, and no more. */
const MOST_RESTARTS = 3;
const WITHIN = 3 * 60 * 1000;

export interface Lookups {
  /** Finds the server; may take long where it has to be made. */
  find(mayUseIndex: boolean): Promise<Lookup>;
}

/** The one connection. */
export class Connection implements vscode.Disposable {
  private client: LanguageClient | undefined;
  private foundServer: FoundServer | undefined;
  private queue: Promise<void> = Promise.resolve();
  private waiting: Promise<void> | undefined;
  private readonly crashes: number[] = [];
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
    if (options.mayUseIndex || this.waiting === undefined) {
      const waiting = this.queue.then(async () => {
        this.waiting = undefined;
        await this.stop();
        await this.start(options.mayUseIndex);
      });
      this.waiting = waiting;
      this.queue = waiting.catch(() => undefined);
    }
    await this.waiting;
  }

  /** Ask the server; rejects with a sentence for a person. */
  async request<Name extends keyof Requests>(
    name: Name,
    params: Requests[Name]["params"],
  ): Promise<Requests[Name]["result"]> {
    if (this.client?.state !== State.Running) {
      throw new Refusal("Ralph's server does not run.", "no-server");
    }
    try {
      return await this.client.sendRequest<Requests[Name]["result"]>(name, params);
    } catch (error) {
      throw toRefusal(error);
    }
  }

  /** Tell the server that settings changed. */
  async settingsChanged(): Promise<void> {
    if (this.client?.state === State.Running) {
      const settings = { ralph: editorOptions(this.store.snapshot.trusted) };
      await this.client.sendNotification("workspace/didChangeConfiguration", { settings });
    }
  }

  /** Be told of every folder that is open. */
  async subscribeAll(): Promise<void> {
    for (const { uri } of this.store.snapshot.folders) {
      if (!this.subscribed.has(uri) && this.client?.state === State.Running) {
        this.subscribed.add(uri);
        await this.subscribe(uri);
      }
    }
  }

  /** End the server, and no run. */
  async stop(): Promise<void> {
    const { client } = this;
    this.client = undefined;
    this.subscribed.clear();
    try {
      await client?.dispose();
    } catch (error) {
      this.log.warn(`the server did not end well: ${String(error)}`);
    }
  }

  dispose(): void {
    this.messages.dispose();
    this.begun.dispose();
  }

  private async start(mayUseIndex: boolean): Promise<void> {
    this.store.apply({ kind: "server", health: { kind: "starting" } });
    let lookup: Lookup;
    try {
      lookup = await this.lookups.find(mayUseIndex);
    } catch (error) {
      this.log.error(error instanceof Error ? error : String(error));
      this.missing(`The server could not be installed: ${lastLine(error)}`, "install");
      return;
    }
    if (lookup.kind === "missing") {
      this.missing(lookup.why, lookup.remedy);
      return;
    }
    this.foundServer = lookup.found;
    await this.connect(lookup.found);
  }

  private async connect(found: FoundServer): Promise<void> {
    const { server, version, from } = found;
    this.log.info(`starting ralph-ls ${version} from ${from}`);
    const client = new LanguageClient(
      "ralphLoop",
      "Ralph Loop",
      {
        command: server.command,
        args: [...server.args, "--stdio"],
        options: { cwd: homedir() },
      },
      this.clientOptions(),
    );
    client.onNotification("ralph/view", ({ workspace, state }: ViewParams) => {
      this.store.apply({ kind: "view", uri: workspace, state, at: Date.now() });
    });
    client.onNotification("ralph/messages", (params: MessagesParams) => {
      this.messages.fire(params);
    });
    client.onDidChangeState(({ newState }) => {
      if (newState === State.Running && this.client === client) {
        // Also after one that died and was started again.
        this.running(client, found).catch((error: unknown) => {
          this.log.error(error instanceof Error ? error : String(error));
        });
      }
    });
    this.client = client;
    try {
      await client.start();
    } catch (error) {
      this.failed(`it did not start: ${firstLine(error)}`);
    }
  }

  private async running(client: LanguageClient, found: FoundServer): Promise<void> {
    const schema = schemaOf(client.initializeResult?.capabilities.experimental);
    if (schema !== undefined && schema !== SCHEMA_VERSION) {
      this.failed(
        `${found.from} speaks schema ${schema}, this extension ${SCHEMA_VERSION}; update the older one`,
      );
      await this.stop();
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
      const { state } = await this.request("ralph/subscribe", {
        workspace: uri,
        events: false,
        messages: true,
        view: true,
      });
      this.store.apply({ kind: "view", uri, state, at: Date.now() });
    } catch (error) {
      // A folder that is no repository has no loop; its views say so.
      this.subscribed.delete(uri);
      this.log.info(`nothing is told of ${uri}: ${firstLine(error)}`);
    }
  }

  private clientOptions(): LanguageClientOptions {
    return {
      documentSelector: [
        { scheme: "file", language: "markdown" },
        { scheme: "file", pattern: "**/{decide,blocked}.txt" },
        // Only that a person saved them is of interest.
        { scheme: "file", pattern: "**/.ralph/**" },
      ],
      initializationOptions: (): unknown => editorOptions(this.store.snapshot.trusted),
      outputChannel: this.log,
      traceOutputChannel: this.log,
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      initializationFailedHandler: () => false,
      errorHandler: this.errorHandler(),
      diagnosticCollectionName: "ralphLoop",
    };
  }

  private errorHandler(): ErrorHandler {
    return {
      error: () => ({ action: ErrorAction.Continue, handled: true }),
      closed: () => {
        const now = Date.now();
        this.crashes.push(now);
        const recent = this.crashes.filter((at) => now - at < WITHIN);
        this.crashes.splice(0, this.crashes.length, ...recent);
        if (recent.length <= MOST_RESTARTS) {
          this.log.warn("the server stopped; it is started again");
          this.store.apply({ kind: "server", health: { kind: "starting" } });
          return { action: CloseAction.Restart, handled: true };
        }
        this.failed(`it stopped ${recent.length} times in three minutes`);
        return { action: CloseAction.DoNotRestart, handled: true };
      },
    };
  }

  private missing(why: string, remedy: Remedy): void {
    this.log.warn(why);
    this.store.apply({ kind: "server", health: { kind: "missing", why, remedy } });
  }

  private failed(why: string): void {
    this.log.error(`the server does not run: ${why}`);
    this.store.apply({ kind: "server", health: { kind: "failed", why } });
  }
}

/** What the server would not do, in its own words. */
export class Refusal extends Error {
  constructor(
    message: string,
    /** The server's kebab-case name of it. */
    readonly code: string,
  ) {
    super(message);
  }
}

function toRefusal(error: unknown): Refusal {
  if (error instanceof ResponseError) {
    const { data } = error as ResponseError<{ code?: unknown } | undefined>;
    return new Refusal(error.message, typeof data?.code === "string" ? data.code : "failed");
  }
  return new Refusal(firstLine(error), "failed");
}

function schemaOf(experimental: unknown): number | undefined {
  const schema = (experimental as { ralph?: { schema?: unknown } } | null | undefined)?.ralph
    ?.schema;
  return typeof schema === "number" ? schema : undefined;
}

function firstLine(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.split("\n", 1)[0] ?? text;
}

/** Of what a tool printed: its last word says what went wrong. */
function lastLine(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.trim().split("\n").at(-1) ?? text;
}
