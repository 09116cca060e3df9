/**
 * Ralph Loop for VS Code: shows what the language server knows and passes on what a person wants.
 *
 * Start reading here. `state/` holds what is known, `server/` reaches the server, `trees/`,
 * `status/`, `answer/`, `logs/` and `webview/` show it, and `commands/` is what a person can do.
 */

import * as vscode from "vscode";

import { Answers } from "./answer/answers";
import { Files } from "./commands/files";
import { Orders } from "./commands/orders";
import { act, registerCommands, type Tools } from "./commands/table";
import { Gutter } from "./gutter";
import { LOG_SCHEME, LogDocuments } from "./logs/documents";
import { useTranslator } from "./l10n";
import { LoopView } from "./loopView";
import { Notifications } from "./notifications/show";
import { Connection } from "./server/connection";
import { SetUp } from "./server/setUp";
import { Store } from "./state/store";
import { StatusBar } from "./status/bar";
import { RalphTerminals } from "./terminals";
import { Rows } from "./trees/tree";
import { Views } from "./views";
import { watchWindow } from "./window";

let connection: Connection | undefined;

export function activate(context: vscode.ExtensionContext): void {
  useTranslator((message, ...args) => vscode.l10n.t(message, ...args));
  const { subscriptions, extensionUri } = context;
  const log = vscode.window.createOutputChannel("Ralph Loop", { log: true });
  subscriptions.push(log);
  const store = new Store(vscode.workspace.isTrusted, (error) => {
    log.error(error instanceof Error ? error : String(error));
  });
  const setUp = new SetUp(context, store, log);
  connection = new Connection(store, log, setUp);
  subscriptions.push(connection);

  const files = new Files();
  const terminals = new RalphTerminals(connection);
  const orders = new Orders(connection, files, terminals, log, () => answers);
  const answers = new Answers(
    store,
    connection,
    (folder) => files.openDecide(folder),
    (text) => void orders.tell(text),
  );
  subscriptions.push(answers);

  const media = vscode.Uri.joinPath(extensionUri, "media");
  const rows = { plan: new Rows(), iterations: new Rows() };
  const tools: Tools = {
    ...{ store, connection, orders, files, answers, log },
    node: (element) => rows.plan.node(element) ?? rows.iterations.node(element),
    demo: () => terminals.run("demo", ["demo"]),
    selectPython: async () => {
      if (await setUp.selectPython()) {
        await tools.connection.restart();
      }
    },
    installServer: async () => {
      if (await setUp.mayUseIndex()) {
        await tools.connection.restart({ mayUseIndex: true });
      }
    },
  };
  const loop = new LoopView(media, store, {
    act: (verb, workspace, given) => act(tools, verb, workspace, given),
    command: async (command) => {
      const builtIn = { manageTrust: "workbench.trust.manage", openFolder: "vscode.openFolder" };
      const id = command in builtIn ? builtIn[command as keyof typeof builtIn] : undefined;
      await vscode.commands.executeCommand(id ?? `ralphLoop.${command}`);
    },
  });
  const logs = new LogDocuments(store);
  const status = new StatusBar();
  const notifications = new Notifications(context.workspaceState, async (action, folder) => {
    await obeyNotice(tools, action, folder);
  });
  subscriptions.push(
    ...[loop, logs, status, notifications, rows.plan, rows.iterations],
    new Gutter(media, store),
    new Views(store, rows, status, notifications),
    vscode.window.registerWebviewViewProvider("ralphLoop.loop", loop),
    vscode.workspace.registerTextDocumentContentProvider(LOG_SCHEME, logs),
    connection.onMessages((params) => {
      loop.hear(params);
      logs.hear(params.workspace);
    }),
    connection.onSubscribed((folder) => {
      loop.forget(folder);
    }),
    ...registerCommands(tools),
    ...watchWindow(store, connection, () => {
      status.refresh();
    }),
  );
  void connection.restart();
}

/** Ends the server. A run that goes on has a process of its own, and never notices. */
export async function deactivate(): Promise<void> {
  await connection?.stop();
  connection = undefined;
}

/** What a notification's button does. */
async function obeyNotice(
  tools: Tools,
  action: Parameters<ConstructorParameters<typeof Notifications>[1]>[0],
  folder: string | undefined,
): Promise<void> {
  if (folder !== undefined) {
    // The buttons are about the folder of the notice, whichever is looked at.
    tools.store.apply({ kind: "chosen", uri: folder });
  }
  const commands = {
    answer: "ralphLoop.answer",
    openPlan: "ralphLoop.openPlan",
    resetBreaker: "ralphLoop.resetBreaker",
    showLog: "ralphLoop.showLog",
    showSummary: "ralphLoop.loop.focus",
    stop: "ralphLoop.stopAfterIteration",
    showOutput: "ralphLoop.showOutput",
    selectPython: "ralphLoop.selectPython",
  } as const;
  await vscode.commands.executeCommand(commands[action]);
}
