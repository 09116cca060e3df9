/**
 * How the user answers: in the plan where it is the active editor, else on top of the window.
 *
 * Every way in is a gesture of theirs, and every way ends in the same request to the server.
 */

import * as vscode from "vscode";

import type { LaneRow, Requests } from "../generated/protocol";
import { t } from "../l10n";
import type { Connection } from "../server/connection";
import { answersInline } from "../settings";
import { folderOf, type FolderSnapshot } from "../state/snapshot";
import type { Store } from "../state/store";
import { pickAnswer, tellResolution } from "./pick";
import { matterOfLane, settledLabel, stillAsks, wantedOf, type Matter } from "./threadModel";
import { Threads, type ThreadComment } from "./threads";
import { oneLine } from "./words";

export class Answers implements vscode.Disposable {
  private readonly threads = new Threads();
  private readonly listening: { dispose: () => void };

  constructor(
    private readonly store: Store,
    private readonly connection: Connection,
    /** Opens the file in which an answer may be written too. */
    private readonly openDecide: (folder: FolderSnapshot) => Promise<void>,
    /** Reports what became of an order that was refused. */
    private readonly showError: (text: string) => void,
  ) {
    this.listening = store.onDidChange((after, before) => {
      if (after.folders !== before.folders) {
        this.threads.show(after.folders);
      }
    });
  }

  /** Answer the question of a folder, or say that its blocker is gone. */
  async answer(folder: FolderSnapshot, kind: Matter["kind"], fromPlan: boolean): Promise<void> {
    const { matter } = wantedOf(folder);
    if (matter?.kind !== kind) {
      this.showError(
        kind === "question" ? t("No question is waiting for an answer.") : t("Nothing is blocked."),
      );
      return;
    }
    const thread = this.threads.open(folder.uri);
    if (thread !== undefined && answersInline() && (fromPlan || isInPlan(matter))) {
      await this.threads.write(thread);
    } else {
      await this.answerOnTop(folder, matter);
    }
  }

  /** Answer one of the lanes that ask, whichever the views show first. */
  async answerLane(folder: FolderSnapshot, row: LaneRow): Promise<void> {
    const matter = matterOfLane(folder, row);
    if (matter === undefined) {
      this.showError(t("No question is waiting for an answer."));
    } else {
      await this.answerOnTop(folder, matter);
    }
  }

  /** An option that the question itself lists becomes the answer. */
  async choose(folder: FolderSnapshot, option: string): Promise<void> {
    const { matter } = wantedOf(folder);
    if (matter?.kind === "question" && matter.options.some(({ answer }) => answer === option)) {
      if (await this.settle(matter, option)) {
        this.threads.dropDraft(folder.uri);
      }
    } else {
      this.showError(t("No question is waiting for an answer."));
    }
  }

  /** The option at this place, from 1, of the open question becomes the answer. */
  async chooseAt(folder: FolderSnapshot, place: number): Promise<void> {
    await this.choose(folder, wantedOf(folder).matter?.options[place - 1]?.answer ?? "");
  }

  /** What is in the draft becomes the answer. */
  async send(comment: ThreadComment): Promise<void> {
    const { thread } = comment;
    const tooLate = thread.settled;
    const text = this.threads.takeDraft(comment);
    if (tooLate === undefined && text.trim() === "" && thread.matter.kind === "question") {
      // The key is never dead, so it has to say what it lacks.
      void vscode.window.showInformationMessage(t("Type an answer first."));
      await this.threads.write(thread);
      return;
    }
    if (tooLate !== undefined) {
      this.threads.show(this.store.snapshot.folders);
      await this.tellTooLate(thread.matter, settledLabel(tooLate), text);
    } else if (await this.settle(thread.matter, text)) {
      this.threads.taken(thread);
    } else if (this.threads.open(thread.matter.folder) === thread) {
      await this.threads.write(thread);
    } else {
      await this.tellTooLate(thread.matter, t("This is no longer waiting"), text);
    }
  }

  /** Not now: what is written stays for the next time. */
  putAside(comment: ThreadComment): void {
    this.threads.takeDraft(comment);
    this.threads.fold(comment.thread);
    this.threads.show(this.store.snapshot.folders);
  }

  dispose(): void {
    this.listening.dispose();
    this.threads.dispose();
  }

  /** Another client was quicker; what the user wrote is not lost. */
  private async tellTooLate({ folder }: Matter, label: string, text: string): Promise<void> {
    if (text.trim() === "") {
      return;
    }
    const [asNote, copy] = [t("Send as Note"), t("Copy My Text")];
    const words = t("{0}. Your text was not sent.", label);
    const picked = await vscode.window.showWarningMessage(words, asNote, copy);
    if (picked === copy) {
      await vscode.env.clipboard.writeText(text);
    } else if (picked === asNote) {
      await this.asked("ralph/note", { workspace: folder, text: text.trim() });
    }
  }

  private async answerOnTop(folder: FolderSnapshot, matter: Matter): Promise<void> {
    const interrupts = { onSettled: this.onSettled.bind(this) };
    const ask = matter.kind === "question" ? pickAnswer : tellResolution;
    const picked = await ask(matter, interrupts);
    switch (picked.kind) {
      case "answer":
        await this.settle(matter, picked.text);
        break;
      case "file":
        await this.openDecide(folder);
        break;
      case "late":
        await this.tellTooLate(matter, picked.why, picked.text);
        break;
      case "nothing":
        break;
    }
  }

  /** Whether it was accepted; the reason of a refusal is shown. */
  private async settle({ kind, folder, goOn, task }: Matter, text: string): Promise<boolean> {
    const [workspace, words] = [folder, text.trim()];
    if (kind === "question") {
      const ofLane = task === undefined ? {} : { task };
      return await this.asked("ralph/answer", {
        workspace,
        text: words,
        continue: goOn,
        ...ofLane,
      });
    }
    const isTold = words === "" || (await this.asked("ralph/note", { workspace, text: words }));
    return isTold && (await this.asked("ralph/resume", { workspace, continue: goOn }));
  }

  private async asked<Name extends "ralph/answer" | "ralph/note" | "ralph/resume">(
    name: Name,
    params: Requests[Name]["params"],
  ): Promise<boolean> {
    try {
      const { accepted, text } = await this.connection.request(name, params);
      if (!accepted) {
        this.showError(text);
      }
      return accepted;
    } catch (error) {
      this.showError(error instanceof Error ? error.message : String(error));
      return false;
    }
  }

  private onSettled(matter: Matter, show: (words: string) => void): vscode.Disposable {
    let isTold = false;
    const listening = this.store.onDidChange((after) => {
      const folder = folderOf(after, matter.folder);
      const wanted = folder === undefined ? undefined : wantedOf(folder);
      if (
        folder === undefined ||
        wanted === undefined ||
        wanted.matter?.key === matter.key ||
        stillAsks(folder, matter)
      ) {
        return;
      }
      const { settled } = wanted;
      if (settled?.key === matter.key) {
        show(t("{0}: {1}", settledLabel(settled), oneLine(settled.answer)));
      } else if (!isTold) {
        show(
          matter.kind === "question"
            ? t("This question is no longer waiting")
            : t("This is no longer blocked"),
        );
      }
      // Once it is known who settled it, that stays, also after the loop has continued.
      isTold = true;
    });
    return new vscode.Disposable(() => {
      listening.dispose();
    });
  }
}

/** Whether the user is in the plan that the matter is about. */
function isInPlan({ plan }: Matter): boolean {
  const active = vscode.window.activeTextEditor?.document.uri;
  return plan !== undefined && active?.toString() === vscode.Uri.parse(plan).toString();
}
