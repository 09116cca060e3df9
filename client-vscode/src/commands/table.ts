/**
 * Every command of ours in one table: what it needs of a folder, and what it does.
 *
 * Each has a second form for while the server is down: it says so and what helps, since a command
 * that does nothing is worse than none.
 */

import * as vscode from "vscode";

import type { Answers } from "../answer/answers";
import type { ThreadComment } from "../answer/threads";
import { VERBS, type Verb } from "../generated/protocol";
import type { Connection } from "../server/connection";
import { choose, type Need } from "../state/choose";
import { folderOf, type FolderSnapshot } from "../state/snapshot";
import type { Store } from "../state/store";
import type { Node } from "../trees/nodes";
import type { Files } from "./files";
import { askServer } from "./serverDown";
import type { Given, Orders } from "./orders";
import { askHowToStart } from "./startWith";

/** What commands work with. */
export interface Tools {
  readonly store: Store;
  readonly connection: Connection;
  readonly orders: Orders;
  readonly files: Files;
  readonly answers: Answers;
  readonly log: vscode.LogOutputChannel;
  /** The row behind what a menu hands over. */
  node(element: unknown): Node | undefined;
  demo(): Promise<void>;
  selectPython(): Promise<void>;
  installServer(): Promise<void>;
}

/** A command that is about a folder; `target` is the row or what else it was called on. */
interface FolderCommand {
  readonly need: Need;
  readonly run: (tools: Tools, folder: FolderSnapshot, target: Node | undefined) => Promise<void>;
}

/** A command of the window. */
type WindowCommand = (tools: Tools, argument: unknown) => Promise<void>;

export const FOLDER_COMMANDS = {
  startLoop: { need: "start", run: ({ orders }, folder) => orders.start(folder, {}) },
  startWith: {
    need: "start",
    run: async ({ orders }, folder) => {
      const wishes = await askHowToStart(folder);
      if (wishes !== undefined) {
        await orders.start(folder, wishes);
      }
    },
  },
  attach: {
    need: "live",
    run: async ({ store }, { uri }) => {
      store.apply({ kind: "chosen", uri });
      await vscode.commands.executeCommand("ralphLoop.loop.focus");
    },
  },
  stopAfterIteration: { need: "stop", run: ({ orders }, folder) => orders.act("stop", folder, {}) },
  stopNow: {
    need: "live",
    run: ({ orders }, folder) => orders.act("stop", folder, { now: true }),
  },
  pause: { need: "pause", run: ({ orders }, folder) => orders.actNow("pause", folder) },
  resume: { need: "resume", run: ({ orders }, folder) => orders.actNow("resume", folder) },
  resetBreaker: { need: "reset", run: ({ orders }, folder) => orders.actNow("reset", folder) },
  answer: {
    need: "answer",
    run: ({ answers }, folder) => answers.answer(folder, "question", false),
  },
  resolveBlocked: {
    need: "resolve",
    run: ({ answers }, folder) => answers.answer(folder, "blocked", false),
  },
  note: { need: "live", run: ({ orders }, folder) => orders.note(folder) },
  runTask: {
    need: "runTask",
    run: async ({ orders }, folder, target) => {
      const task = target?.kind === "task" ? target.task.id : await pickTask(folder);
      if (task !== undefined) {
        await orders.start(folder, { task });
      }
    },
  },
  showLog: {
    need: "showLog",
    run: async ({ files }, folder, target) => {
      const iteration = iterationOf(target) ?? (await pickIteration(folder));
      if (iteration !== undefined) {
        await files.showLog(folder, folder.state?.run?.run, iteration);
      }
    },
  },
  openPlan: { need: "any", run: ({ files }, folder) => files.openPlan(folder) },
  openConfig: { need: "any", run: ({ files }, folder) => files.openConfig(folder) },
  openDecide: { need: "run", run: ({ files }, folder) => files.openDecide(folder) },
} as const satisfies Readonly<Record<string, FolderCommand>>;

export const WINDOW_COMMANDS = {
  chooseFolder: async ({ store }) => {
    const folder = await pickFolder(store.snapshot.folders, "Which folder's loop is shown?");
    if (folder !== undefined) {
      store.apply({ kind: "chosen", uri: folder.uri });
    }
  },
  demo: (tools) => tools.demo(),
  showOutput: ({ log }) => {
    log.show();
    return Promise.resolve();
  },
  restartServer: ({ connection }) => connection.restart(),
  installServer: (tools) => tools.installServer(),
  selectPython: (tools) => tools.selectPython(),
  sendAnswer: ({ answers }, comment) => answers.send(comment as ThreadComment),
  sendResolved: ({ answers }, comment) => answers.send(comment as ThreadComment),
  answerNotNow: ({ answers }, comment) => {
    answers.putAside(comment as ThreadComment);
    return Promise.resolve();
  },
} as const satisfies Readonly<Record<string, WindowCommand>>;

/** Commands that are of use without a server too. */
const WITHOUT_SERVER: ReadonlySet<string> = new Set([
  "openPlan",
  "openConfig",
  "openDecide",
  "showLog",
]);

/** Register all of them, and those that lenses carry. */
export function registerCommands(tools: Tools): readonly vscode.Disposable[] {
  const register = (
    id: string,
    run: (...given: readonly unknown[]) => Promise<void>,
  ): vscode.Disposable =>
    vscode.commands.registerCommand(`ralphLoop.${id}`, async (...given: unknown[]) => {
      try {
        await run(...given);
      } catch (error) {
        tools.log.error(error instanceof Error ? error : String(error));
        void tools.orders.tell(error instanceof Error ? error.message : String(error), "internal");
      }
    });
  return [
    ...Object.entries<FolderCommand>(FOLDER_COMMANDS).map(([id, command]) =>
      register(id, (argument) => runInFolder(tools, id, command, argument)),
    ),
    ...Object.entries<WindowCommand>(WINDOW_COMMANDS).map(([id, run]) =>
      register(id, (argument) => run(tools, argument)),
    ),
    ...VERBS.filter((verb) => verb !== "none").map((verb) =>
      register(`lens.${verb}`, (given) => actOnLens(tools, verb, given)),
    ),
  ];
}

/** A verb with its arguments, from a lens or a button, for the folder that it names. */
export async function act(tools: Tools, verb: Verb, uri: string, given: Given): Promise<void> {
  const { snapshot } = tools.store;
  const folder = folderOf(snapshot, uri);
  const onlyShows = verb === "showLog" || verb === "showFile";
  if (snapshot.server.kind !== "ok" && !onlyShows) {
    await askServer(snapshot.server);
  } else if (folder !== undefined) {
    await tools.orders.act(verb, folder, given);
  }
}

async function actOnLens(tools: Tools, verb: Verb, given: unknown): Promise<void> {
  const found = typeof given === "object" && given !== null ? (given as Given) : {};
  const { workspace } = found;
  // A lens stands in the plan, and so does whoever clicks it.
  const brought: Given = { ...found, fromPlan: true };
  if (typeof workspace === "string" && folderOf(tools.store.snapshot, workspace) !== undefined) {
    await act(tools, verb, workspace, brought);
  } else {
    await runInFolder(
      tools,
      verb,
      { need: verb, run: ({ orders }, folder) => orders.act(verb, folder, brought) },
      undefined,
    );
  }
}

async function runInFolder(
  tools: Tools,
  id: string,
  { need, run }: FolderCommand,
  argument: unknown,
): Promise<void> {
  const { snapshot } = tools.store;
  if (snapshot.server.kind !== "ok" && !WITHOUT_SERVER.has(id) && snapshot.folders.length > 0) {
    await askServer(snapshot.server);
    return;
  }
  const target = tools.node(argument);
  const uri = target?.kind === "task" || target?.kind === "iteration" ? target.folder : undefined;
  const choice = choose(snapshot, need, uri);
  switch (choice.kind) {
    case "one":
      await run(tools, choice.folder, target);
      break;
    case "ask": {
      const folder = await pickFolder(choice.folders, "In which folder?");
      if (folder !== undefined) {
        await run(tools, folder, target);
      }
      break;
    }
    case "none":
      void vscode.window.showInformationMessage(choice.why);
      break;
  }
}

async function pickFolder(
  folders: readonly FolderSnapshot[],
  title: string,
): Promise<FolderSnapshot | undefined> {
  const items = folders.map((folder) => ({
    label: folder.name,
    description: folder.state?.panel?.headline ?? "",
    folder,
  }));
  return (await vscode.window.showQuickPick(items, { title }))?.folder;
}

async function pickTask(folder: FolderSnapshot): Promise<string | undefined> {
  const tasks = folder.state?.plan.tasks ?? [];
  const items = tasks
    .filter(({ state }) => state === "todo" || state === "inProgress")
    .map(({ id, title, words, section }) => ({
      label: title,
      description: words,
      detail: section,
      id,
    }));
  if (items.length === 0) {
    void vscode.window.showInformationMessage("No task of the plan is open.");
    return undefined;
  }
  return (await vscode.window.showQuickPick(items, { title: "Run only this task" }))?.id;
}

async function pickIteration(folder: FolderSnapshot): Promise<number | undefined> {
  const rows = folder.state?.panel?.rows ?? [];
  const [only, ...others] = rows;
  if (others.length === 0) {
    return only?.iteration ?? folder.state?.run?.iteration;
  }
  const items = rows.map(({ iteration, task, why }) => ({
    label: `#${iteration}`,
    description: task ?? "",
    detail: why,
    iteration,
  }));
  return (await vscode.window.showQuickPick(items, { title: "Whose log?" }))?.iteration;
}

function iterationOf(target: Node | undefined): number | undefined {
  switch (target?.kind) {
    case "iteration":
      return target.row.iteration;
    case "task":
      return target.task.iteration;
    default:
      return undefined;
  }
}
