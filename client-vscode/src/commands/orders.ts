/**
 * What a lens, a button or a row asks for, as requests to the server: one function a verb.
 *
 * Whether an order makes sense the server knows; its refusal is shown as it is, with
 * the button that helps. It must never decide about a run.
 */

import * as vscode from "vscode";

import type { Answers } from "../answer/answers";
import type { ReplyResult, Requests, StartParams, Verb } from "../generated/protocol";
import { t } from "../l10n";
import { Refusal, toRefusal, type Connection } from "../server/connection";
import { argumentsOf, isBlocked, type FolderSnapshot, type StartRefusal } from "../state/snapshot";
import type { Files } from "./files";

/** Arguments as a lens or a button brings them: plain JSON that nobody has looked at. */
export type Given = Readonly<Record<string, unknown>>;

export class Orders {
  /** What was refused last, once more. */
  private again: (() => Promise<unknown>) | undefined;

  constructor(
    private readonly connection: Connection,
    private readonly files: Files,
    private readonly log: vscode.LogOutputChannel,
    /** Made later, since answering needs orders too. */
    private readonly answers: () => Answers,
    /** Shows what a start lacked; or none, as the next one begins. */
    private readonly lacks: (refusal: StartRefusal | undefined) => void,
    /** Notified where a run is being started, and with none where it was refused. */
    private readonly starting: (uri: string | undefined) => void,
  ) {}

  /** Do what the verb says in this folder. */
  async act(verb: Verb, folder: FolderSnapshot, given: Given): Promise<void> {
    const { uri: workspace } = folder;
    const goOn = given["continue"] === true;
    switch (verb) {
      case "start":
        await this.start(folder, {});
        break;
      case "runTask":
        await this.start(folder, typeof given["task"] === "string" ? { task: given["task"] } : {});
        break;
      case "pause":
        await this.ask("ralph/pause", { workspace }, folder);
        break;
      case "stop":
        await this.ask("ralph/stop", { workspace, now: given["now"] === true });
        break;
      case "resume":
        if (isBlocked(folder)) {
          // The user who says that a blocker is gone is asked what they did, as the loop wants to know.
          await this.answers().answer(folder, "blocked", given["fromPlan"] === true);
        } else {
          await this.ask("ralph/resume", { workspace, continue: goOn }, folder);
        }
        break;
      case "reset":
        await this.ask("ralph/reset", { workspace, continue: goOn }, folder);
        break;
      case "overrule":
        await this.ask("ralph/overrule", { workspace, continue: goOn }, folder);
        break;
      case "answer":
        if (typeof given["text"] === "string") {
          await this.answers().choose(folder, given["text"]);
        } else {
          await this.answers().answer(folder, "question", given["fromPlan"] === true);
        }
        break;
      case "showLog":
        await this.files.showLog(folder, given["run"], given["start"]);
        break;
      case "showFile":
        await this.files.showFile(folder, given["path"]);
        break;
      case "none":
        break;
    }
  }

  /** As `act`, with the arguments that the server gives to the verb now. */
  async actNow(verb: Verb, folder: FolderSnapshot): Promise<void> {
    await this.act(verb, folder, argumentsOf(folder, verb));
  }

  /** Start a run. */
  async start(folder: FolderSnapshot, wishes: StartParams): Promise<void> {
    this.lacks(undefined);
    this.starting(folder.uri);
    await vscode.window.withProgress(
      { location: vscode.ProgressLocation.Window, title: t("Ralph: starting") },
      async () => {
        try {
          const reply = await this.connection.request("ralph/start", {
            workspace: folder.uri,
            ...wishes,
          });
          this.log.info(`ralph/start: ${reply.text}`);
          await this.connection.subscribeAll();
        } catch (error) {
          this.starting(undefined);
          this.again = () => this.start(folder, wishes);
          await this.refuse(folder, error);
        }
      },
    );
  }

  /** Do again what was refused, or start the loop. */
  async retry(folder?: FolderSnapshot): Promise<void> {
    const { again } = this;
    this.again = undefined;
    this.lacks(undefined);
    if (again !== undefined) {
      await again();
    } else if (folder !== undefined) {
      await this.start(folder, {});
    }
  }

  /** The card of what was refused; commands that are not approved are shown in it. */
  async refuse(folder: FolderSnapshot, error: unknown): Promise<void> {
    const { code, message } = toRefusal(error);
    this.log.warn(`${code}: ${message}`);
    const refusal: StartRefusal = { uri: folder.uri, code, text: upperFirst(message) };
    if (code !== "not-allowed") {
      this.lacks(refusal);
      return;
    }
    try {
      const claims = await this.connection.request("ralph/claims", { workspace: folder.uri });
      this.lacks({ ...refusal, claims });
    } catch (failure) {
      this.lacks({ ...refusal, text: upperFirst(toRefusal(failure).message) });
    }
  }

  /** Send the loop a note. */
  async note(folder: FolderSnapshot): Promise<void> {
    const text = await vscode.window.showInputBox({
      title: t("Send a note to the loop"),
      prompt: t("The agent reads it in the next iteration"),
      ignoreFocusOut: true,
    });
    if (text !== undefined && text.trim() !== "") {
      const reply = await this.ask("ralph/note", { workspace: folder.uri, text: text.trim() });
      if (reply?.accepted === true) {
        vscode.window.setStatusBarMessage(t("Ralph: {0}", reply.text), 5000);
      }
    }
  }

  /** What cannot be done, and why: an error in answer to the user's gesture. */
  async showError(text: string, code = "", folder?: FolderSnapshot): Promise<void> {
    const help = helpOf(code);
    const picked = await vscode.window.showErrorMessage(
      upperFirst(text),
      ...(help === undefined ? [] : [help]),
    );
    if (picked === undefined) {
      return;
    }
    if (code === "read-only") {
      await vscode.commands.executeCommand("workbench.trust.manage");
    } else if (code === "git-missing") {
      await vscode.commands.executeCommand("ralphLoop.getGit");
    } else if (code === "agent-unavailable") {
      await vscode.commands.executeCommand("ralphLoop.startWith");
    } else if (code === "workspace-busy") {
      await vscode.commands.executeCommand("ralphLoop.loop.focus");
    } else if (code === "config-unusable" && folder !== undefined) {
      await this.files.openConfig(folder);
    } else {
      await vscode.commands.executeCommand("ralphLoop.showOutput");
    }
  }

  /** One order; a refusal is shown. */
  async ask<Name extends Asked>(
    name: Name,
    params: Requests[Name]["params"],
    folder?: FolderSnapshot,
  ): Promise<ReplyResult | undefined> {
    try {
      const reply: ReplyResult = await this.connection.request(name, params);
      this.log.info(`${name}: ${reply.text}`);
      if (!reply.accepted) {
        void this.showError(reply.text, reply.code, folder);
      }
      return reply;
    } catch (error) {
      const refusal = error instanceof Refusal ? error : new Refusal(String(error), "failed");
      this.log.warn(`${name}: ${refusal.message}`);
      const { code } = refusal;
      if (folder !== undefined && IN_A_CARD.has(code)) {
        this.again = () => this.ask(name, params, folder);
        await this.refuse(folder, refusal);
        return undefined;
      }
      // Not awaited: it stays until the user dismisses it.
      void this.showError(refusal.message, refusal.code, folder);
      return undefined;
    }
  }
}

/** Refusals of an order that takes up a run: what a start would lack as well. */
const IN_A_CARD: ReadonlySet<string> = new Set(["not-allowed", "git-missing", "agent-unavailable"]);

/** The requests that are orders. */
type Asked = {
  [Name in keyof Requests]: Requests[Name]["result"] extends ReplyResult ? Name : never;
}[keyof Requests];

/** The button that helps, by the server's name of what is wrong. */
function helpOf(code: string): string | undefined {
  switch (code) {
    case "read-only":
      return t("Manage Trust");
    case "workspace-busy":
      return t("Show Running Loop");
    case "config-unusable":
      return t("Open Configuration");
    case "git-missing":
      return t("Get git");
    case "agent-unavailable":
      return t("Start With…");
    case "internal":
    case "no-server":
      return t("Show Output");
    default:
      return undefined;
  }
}

function upperFirst(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
