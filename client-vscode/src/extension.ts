/**
 * Ralph Loop for VS Code: shows what the language server knows and passes on what the user wants.
 *
 * Start reading here. `state/` holds what is known, `server/` reaches the server, `trees/`,
 * `status/`, `answer/`, `logs/` and `webview/` show it, and `commands/` is what the user can do.
 */

import * as vscode from "vscode";

import { Answers } from "./answer/answers";
import { Demo } from "./commands/demo";
import { Files } from "./commands/files";
import { FirstSteps } from "./commands/firstSteps";
import { LoopSettings } from "./commands/loopSettings";
import { Orders } from "./commands/orders";
import { moveTask } from "./commands/rowCommands";
import { act, registerCommands } from "./commands/table";
import type { Tools } from "./commands/tools";
import { DASHBOARD, DashboardPanel } from "./dashboard";
import { Gutter } from "./gutter";
import { RunsView } from "./history/runs";
import { VERB_SCHEME, VerbTexts } from "./history/texts";
import { useLanguage } from "./intl";
import { LOG_SCHEME, LogDocuments } from "./logs/documents";
import { useTranslator } from "./l10n";
import { LoopView, type LoopOrders } from "./loopView";
import { Notifications } from "./notifications/show";
import { Changes } from "./rows/changes";
import { GIT_SCHEME, GitDocuments } from "./rows/gitDocuments";
import { Rollback } from "./rows/rollback";
import { Connection } from "./server/connection";
import { SetUp } from "./server/setUp";
import { Store } from "./state/store";
import { StatusBar } from "./status/bar";
import { TEXT_SCHEME, TextDocument } from "./textDocument";
import { Rows, TaskDrag } from "./trees/tree";
import { Views } from "./views";
import { Setup } from "./wizard/load";
import { watchWindow } from "./window";

let connection: Connection | undefined;

export function activate(context: vscode.ExtensionContext): void {
  const began = { at: performance.now(), cpu: process.cpuUsage() };
  useTranslator((message, ...args) => vscode.l10n.t(message, ...args));
  useLanguage(vscode.env.language);
  const { subscriptions, extensionUri } = context;
  const log = vscode.window.createOutputChannel("Ralph Loop", { log: true });
  subscriptions.push(log);
  const store = new Store(vscode.workspace.isTrusted, (error) => {
    log.error(error instanceof Error ? error : String(error));
  });
  const setUp = new SetUp(context, store, log);
  connection = new Connection(store, log, setUp);
  subscriptions.push(connection, setUp);

  const files = new Files();
  const orders = new Orders(
    ...([connection, files, log] as const),
    () => answers,
    (refusal) => {
      store.apply({ kind: "refused", refusal });
      if (refusal !== undefined) {
        store.apply({ kind: "chosen", uri: refusal.uri });
        void loop.reveal();
      }
    },
    (uri) => {
      store.apply({ kind: "starting", uri });
    },
  );
  const answers = new Answers(
    store,
    connection,
    (folder) => files.openDecide(folder),
    (text) => void orders.showError(text),
  );
  const wizard = new Setup({
    ...{ connection, log, memory: context.workspaceState },
    leads: {
      start: (folder) => orders.start(folder, {}),
      showError: (text, code, folder) => orders.showError(text, code, folder),
    },
  });
  const firstSteps = new FirstSteps(store, connection, orders, files, log);
  const demo = new Demo(context.globalState, store, connection, orders, files);
  subscriptions.push(answers, wizard, firstSteps, demo);

  const media = vscode.Uri.joinPath(extensionUri, "media");
  const rows = { plan: new Rows(), lanes: new Rows(), iterations: new Rows(), runs: new Rows() };
  const runs = new RunsView(store, rows.runs, connection, log);
  const texts = new VerbTexts(store, connection);
  const logs = new LogDocuments(store);
  const tools: Tools = {
    ...{ store, connection, orders, files, answers, wizard, firstSteps, log },
    changes: new Changes(connection, log),
    rollback: new Rollback(connection, (text, code, folder) =>
      orders.showError(text, code, folder),
    ),
    ...{ runs, texts, logs },
    node: (element) =>
      [rows.plan, rows.lanes, rows.iterations, rows.runs]
        .map((each) => each.node(element))
        .find((node) => node !== undefined),
    demo: () => demo.open(),
    reveal: () => loop.reveal(),
    openDashboard: () => {
      dashboard.open();
    },
    readAsText: () => text.open(),
    copyCommand: () => setUp.copyCommand(),
    selectPython: async () => {
      if (await setUp.selectPython()) {
        await tools.connection.restart();
      }
    },
    installServer: async () => {
      await setUp.allowIndex();
      await tools.connection.restart({ mayUseIndex: true });
    },
    otherWays: async () => {
      const way = await setUp.otherWays();
      if (way !== undefined) {
        await loopOrders.command(way);
      }
    },
  };
  const status = new StatusBar();
  const loopOrders: LoopOrders = {
    act: (verb, workspace, given) => act(tools, verb, workspace, given),
    openClaim: (key) => firstSteps.openClaim(key),
    begin: (workspace, described) => firstSteps.begin(workspace, described),
    command: async (command) => {
      const builtIn = {
        manageTrust: "workbench.trust.manage",
        openFolder: "vscode.openFolder",
        sourceControl: "workbench.view.scm",
        serverSettings: "workbench.action.openSettings",
      };
      const id = command in builtIn ? builtIn[command as keyof typeof builtIn] : undefined;
      const given = command === "serverSettings" ? ["ralphLoop.server"] : [];
      await vscode.commands.executeCommand(id ?? `ralphLoop.${command}`, ...given);
    },
  };
  const loop = new LoopView(media, store, loopOrders, (reducedMotion) => {
    status.setReducedMotion(reducedMotion);
  });
  const dashboard = new DashboardPanel(media, store, connection, log);
  const drag = new TaskDrag(rows.plan, (move) => moveTask(tools, move));
  const text = new TextDocument(store);
  const gutter = new Gutter(media, store);
  const notifications = new Notifications(context.workspaceState, async (action, folder) => {
    await obeyNotice(tools, action, folder);
  });
  subscriptions.push(
    ...[loop, dashboard, logs, text, status, notifications, rows.plan, rows.lanes],
    ...[gutter, runs, rows.iterations, rows.runs, texts],
    new Views(store, rows, drag, status, notifications, context.workspaceState),
    vscode.window.registerWebviewViewProvider("ralphLoop.loop", loop),
    vscode.window.registerWebviewPanelSerializer(DASHBOARD, dashboard),
    vscode.workspace.registerTextDocumentContentProvider(LOG_SCHEME, logs),
    vscode.workspace.registerTextDocumentContentProvider(TEXT_SCHEME, text),
    vscode.workspace.registerTextDocumentContentProvider(VERB_SCHEME, texts),
    vscode.workspace.registerTextDocumentContentProvider(
      GIT_SCHEME,
      new GitDocuments(store, connection),
    ),
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
      gutter.draw();
    }),
  );
  subscriptions.push(new LoopSettings(store, connection, log));
  // What comes after is the server's time, and waits for nobody here.
  const { user, system } = process.cpuUsage(began.cpu);
  const [ms, cpu] = [performance.now() - began.at, (user + system) / 1000];
  log.info(`activated in ${ms.toFixed(1)} ms, ${cpu.toFixed(1)} ms of CPU`);
  void connection.restart();
  demo.resume();
}

/** Ends the server. A run has a separate process and continues. */
export async function deactivate(): Promise<void> {
  await connection?.close();
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
