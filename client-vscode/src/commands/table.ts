/**
 * Every command of ours in one table: what it needs of a folder, and what it does.
 *
 * Each has a second form for while the server is down: it says so and what helps, since a command
 * that does nothing is worse than none.
 */

import * as vscode from "vscode";

import type { ThreadComment } from "../answer/threads";
import { VERBS, type Verb } from "../generated/protocol";
import { agreesToReplan, tidy } from "../history/upkeep";
import { t } from "../l10n";
import { pickIteration, pickTask } from "../rows/pick";
import { saveFile } from "../saveFile";
import { firstLine, Refusal } from "../server/refusal";
import { choose, type Need } from "../state/choose";
import { folderOf, type FolderSnapshot } from "../state/snapshot";
import type { Node } from "../trees/nodes";
import { folderOfDraft } from "../wizard/draftUri";
import { choosePlan } from "./choosePlan";
import {
  FOLDER_NEEDS,
  WINDOW_COMMAND_IDS,
  WITHOUT_SERVER,
  type FolderCommandId,
  type WindowCommandId,
} from "./ids";
import { askTrust, whenServed } from "./serverDown";
import type { Given } from "./orders";
import { chooseLesson, decideLesson } from "./lessons";
import { LANE_COMMANDS, startParallel } from "./laneCommands";
import { openHintsCommit, ROW_COMMANDS } from "./rowCommands";
import { askHowToStart } from "./startWith";
import type { FolderCommand, Tools } from "./tools";

/** Where they come from, for every system. */
const PYTHON_PAGE = "https://www.python.org/downloads/";
const GIT_PAGE = "https://git-scm.com/downloads";

/** A link of a thread carries no arguments, so each place of an option has a command. */
function takesOption(place: number): FolderCommand {
  return ({ answers }, folder) => answers.chooseAt(folder, place);
}

/** A command of the window. */
type WindowCommand = (tools: Tools, argument: unknown) => Promise<void>;

/** As the editor names it: the extension's id, and its own. */
const WALKTHROUGH = "ralph-loop.ralph-loop#start";

const FOLDER_COMMANDS: Readonly<Record<FolderCommandId, FolderCommand>> = {
  startLoop: ({ orders }, folder) => orders.start(folder, {}),
  startWith: async ({ orders }, folder) => {
    const wishes = await askHowToStart(folder);
    if (wishes !== undefined) {
      await orders.start(folder, wishes);
    }
  },
  attach: async ({ store }, { uri }) => {
    store.apply({ kind: "chosen", uri });
    await vscode.commands.executeCommand("ralphLoop.loop.focus");
  },
  stopAfterIteration: ({ orders }, folder) => orders.act("stop", folder, {}),
  stopNow: ({ orders }, folder) => orders.act("stop", folder, { now: true }),
  pause: ({ orders }, folder) => orders.actNow("pause", folder),
  resume: ({ orders }, folder) => orders.actNow("resume", folder),
  resetBreaker: ({ orders }, folder) => orders.actNow("reset", folder),
  overruleJudge: ({ orders }, folder) => orders.actNow("overrule", folder),
  answer: ({ answers }, folder) => answers.answer(folder, "question", false),
  takeOption1: takesOption(1),
  takeOption2: takesOption(2),
  takeOption3: takesOption(3),
  takeOption4: takesOption(4),
  takeOption5: takesOption(5),
  takeOption6: takesOption(6),
  resolveBlocked: ({ answers }, folder) => answers.answer(folder, "blocked", false),
  note: ({ orders }, folder) => orders.note(folder),
  runTask: async ({ orders }, folder, target) => {
    const title = t("Run only this task");
    const found = target?.kind === "task" ? target : await pickTask(folder, "run", title);
    const task = found?.task.id;
    if (task !== undefined) {
      await orders.start(folder, { task });
    }
  },
  showLog: async ({ files }, folder, target) => {
    const start = startOf(target) ?? (await startToShow(folder));
    if (start !== undefined) {
      // A user who walks through the rows of a tree continues to do so.
      const options = { preserveFocus: target !== undefined };
      const run = target?.kind === "iteration" ? target.run : folder.state?.run?.run;
      await files.showLog(folder, run, start, options);
    }
  },
  ...ROW_COMMANDS,
  ...LANE_COMMANDS,
  startParallel,
  openPlan: ({ files }, folder) => files.openPlan(folder),
  choosePlan,
  openConfig: ({ files }, folder) => files.openConfig(folder),
  openDecide: ({ files }, folder) => files.openDecide(folder),
  openPrompt: ({ files }, folder) => files.openPrompt(folder),
  setup: ({ wizard }, folder) => wizard.open(folder),
  initRepository: ({ firstSteps }, folder) => firstSteps.initRepository(folder),
  findRun: async ({ runs }, folder) => {
    const found = await runs.pick(folder, t("Find Run"));
    if (found !== undefined) {
      await runs.reveal(folder, found);
    }
  },
  doctor: ({ texts }, folder) => texts.show(folder, { what: "doctor" }, t("Check of the setup")),
  dryRun: ({ texts }, folder) => texts.show(folder, { what: "dryRun" }, t("What would run")),
  why: ({ texts }, folder) => texts.show(folder, { what: "why" }, t("Decisions and reasons")),
  stats: ({ texts }, folder) => texts.show(folder, { what: "stats" }, t("Figures of all runs")),
  exportRuns,
  replan: async ({ orders }, folder) => {
    if (await agreesToReplan(folder)) {
      await orders.start(folder, { replan: true });
    }
  },
  archive: ({ connection }, folder) => tidy(connection, folder, "archive"),
  prune: async ({ connection, runs }, folder) => {
    await tidy(connection, folder, "prune");
    runs.refresh();
  },
  lessons: chooseLesson,
};

/** Saves every iteration of a folder as a file. */
async function exportRuns({ texts }: Tools, folder: FolderSnapshot): Promise<void> {
  const items = [
    { label: "CSV", description: t("for a spreadsheet"), what: "csv" as const },
    { label: "JSON", description: t("for a program"), what: "json" as const },
  ];
  const picked = await vscode.window.showQuickPick(items, { title: t("Export Runs") });
  if (picked === undefined) {
    return;
  }
  const { what } = picked;
  const text = await texts.text(folder, { what }, t("Export Runs"));
  const file = { name: `ralph-iterations.${what}`, text, base64: false };
  const uri = await saveFile(file, vscode.Uri.parse(folder.uri));
  const open = t("Open");
  if (
    uri !== undefined &&
    (await vscode.window.showInformationMessage(t("Saved {0}.", uri.fsPath), open)) === open
  ) {
    await vscode.window.showTextDocument(uri);
  }
}

const WINDOW_COMMANDS: Readonly<Record<WindowCommandId, WindowCommand>> = {
  chooseFolder: async ({ store }) => {
    const folder = await pickFolder(store.snapshot.folders, t("Select the folder to show"));
    if (folder !== undefined) {
      store.apply({ kind: "chosen", uri: folder.uri });
    }
  },
  demo: async (tools) => {
    if (await isServed(tools)) {
      await tools.demo();
    }
  },
  allowAndStart: ({ firstSteps }) => firstSteps.allowAndStart(),
  dismiss: ({ store }) => {
    store.apply({ kind: "refused", refusal: undefined });
    return Promise.resolve();
  },
  refreshRuns: ({ runs }) => {
    runs.refresh();
    return Promise.resolve();
  },
  dashboard: async (tools) => {
    if (await isServed(tools)) {
      tools.openDashboard();
    }
  },
  readAsText: (tools) => tools.readAsText(),
  walkthrough: async () => {
    await vscode.commands.executeCommand("workbench.action.openWalkthrough", WALKTHROUGH, false);
  },
  showOutput: ({ log }) => {
    log.show();
    return Promise.resolve();
  },
  restartServer: ({ connection }) => connection.restart(),
  installServer: (tools) => tools.installServer(),
  selectPython: (tools) => tools.selectPython(),
  otherWays: (tools) => tools.otherWays(),
  getPython: async () => {
    await vscode.env.openExternal(vscode.Uri.parse(PYTHON_PAGE));
  },
  getGit: async () => {
    await vscode.env.openExternal(vscode.Uri.parse(GIT_PAGE));
  },
  copyCommand: (tools) => tools.copyCommand(),
  sendAnswer: ({ answers }, comment) => answers.send(comment as ThreadComment),
  sendResolved: ({ answers }, comment) => answers.send(comment as ThreadComment),
  answerNotNow: ({ answers }, comment) => {
    answers.putAside(comment as ThreadComment);
    return Promise.resolve();
  },
};

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
        const code = error instanceof Refusal ? error.code : "internal";
        void tools.orders.showError(firstLine(error), code);
      }
    });
  return [
    ...keysOf(FOLDER_NEEDS).map((id) =>
      register(id, async (argument) => {
        if (WITHOUT_SERVER.has(id) || (await obeys(tools))) {
          await runInFolder(tools, FOLDER_NEEDS[id], FOLDER_COMMANDS[id], argument);
        }
      }),
    ),
    ...WINDOW_COMMAND_IDS.map((id) =>
      register(id, (argument) => WINDOW_COMMANDS[id](tools, argument)),
    ),
    ...VERBS.filter((verb) => verb !== "none").map((verb) =>
      register(`lens.${verb}`, (given) => actOnLens(tools, verb, given)),
    ),
    register("lens.openCommit", (given) => openHint(tools, given)),
    register("lens.decideLesson", async (given) => {
      if (await obeys(tools)) {
        await decideLesson(tools, given as Given);
      }
    }),
  ];
}

/** A verb with its arguments, from a lens or a button, for the folder that it names. */
export async function act(tools: Tools, verb: Verb, uri: string, given: Given): Promise<void> {
  const onlyShows = verb === "showLog" || verb === "showFile";
  if (onlyShows || (await obeys(tools))) {
    await tools.orders.act(verb, await folderFor(tools, uri), given);
  }
}

async function actOnLens(tools: Tools, verb: Verb, given: unknown): Promise<void> {
  const found = typeof given === "object" && given !== null ? (given as Given) : {};
  const { workspace } = found;
  // A lens is in the plan, and so is the user who clicks it.
  const brought: Given = { ...found, fromPlan: true };
  if (typeof workspace === "string") {
    await act(tools, verb, workspace, brought);
  } else if (await obeys(tools)) {
    const run: FolderCommand = ({ orders }, folder) => orders.act(verb, folder, brought);
    await runInFolder(tools, verb, run, undefined);
  }
}

/** What a hint in a plan brings names its folder. */
async function openHint(tools: Tools, given: unknown): Promise<void> {
  const found = typeof given === "object" && given !== null ? (given as Given) : {};
  const { workspace } = found;
  if (typeof workspace === "string" && (await isServed(tools))) {
    await openHintsCommit(tools, await folderFor(tools, workspace), found);
  }
}

/** The folder of this name; a document may be in a work tree that no folder of the window is. */
async function folderFor({ store, connection }: Tools, uri: string): Promise<FolderSnapshot> {
  const known = folderOf(store.snapshot, uri);
  if (known !== undefined) {
    return known;
  }
  const state = await connection.request("ralph/state", { workspace: uri });
  return { uri, name: uri.split("/").at(-1) ?? uri, state, receivedAt: Date.now() };
}

/** Whether there is a server; if not, that is said, with what helps. */
async function isServed(tools: Tools): Promise<boolean> {
  const server = await whenServed(tools.store);
  if (server.kind !== "ok") {
    // The card says what is missing, and does it.
    await tools.reveal();
  }
  return server.kind === "ok";
}

/** Whether somebody would carry out an order; if not, that is said, with what helps. */
async function obeys(tools: Tools): Promise<boolean> {
  if (!tools.store.snapshot.trusted) {
    await askTrust();
    return false;
  }
  return await isServed(tools);
}

async function runInFolder(
  tools: Tools,
  need: Need,
  run: FolderCommand,
  argument: unknown,
): Promise<void> {
  const target = tools.node(argument);
  const ofRow = target !== undefined && "folder" in target ? target.folder : undefined;
  const uri = ofRow ?? folderOfDraft(argument);
  const choice = choose(tools.store.snapshot, need, uri);
  switch (choice.kind) {
    case "one":
      await run(tools, choice.folder, target);
      break;
    case "ask": {
      const folder = await pickFolder(choice.folders, t("Select a folder"));
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

/** The start whose log is shown: the only one, or the one that the user chooses. */
async function startToShow(folder: FolderSnapshot): Promise<number | undefined> {
  const [only, ...others] = folder.state?.panel?.rows ?? [];
  if (others.length === 0) {
    return only?.start ?? folder.state?.run?.start;
  }
  return (await pickIteration(folder, "log", t("Show the log of which iteration?")))?.row.start;
}

function startOf(target: Node | undefined): number | undefined {
  switch (target?.kind) {
    case "iteration":
      return target.row.start;
    case "task":
      return target.task.start;
    default:
      return undefined;
  }
}

function keysOf<Key extends string>(table: Readonly<Record<Key, unknown>>): readonly Key[] {
  return Object.keys(table) as Key[];
}
