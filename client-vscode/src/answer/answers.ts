/**
 * How a person answers: in the plan where they are in the plan, else on top of the window.
 *
 * Every way in is a gesture of theirs, and every way ends in the same request to the server.
 */

import * as vscode from "vscode";

import type { Connection } from "../server/connection";
import { answersInline } from "../settings";
import { folderOf, type FolderSnapshot } from "../state/snapshot";
import type { Store } from "../state/store";
import { pickAnswer } from "./pick";
import { settledLabel, wantedOf, type Matter } from "./threadModel";
import { textOf, Threads, type ThreadComment } from "./threads";

export class Answers implements vscode.Disposable {
  private readonly threads = new Threads();
  private readonly listening: { dispose: () => void };

  constructor(
    private readonly store: Store,
    private readonly connection: Connection,
    /** Opens the file in which an answer may be written too. */
    private readonly openDecide: (folder: FolderSnapshot) => Promise<void>,
    /** Tells what became of an order that was refused. */
    private readonly tell: (text: string) => void,
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
      this.tell(kind === "question" ? "No question waits for an answer." : "Nothing is blocked.");
      return;
    }
    const thread = this.threads.open(folder.uri);
    if (thread !== undefined && answersInline() && (fromPlan || isInPlan(matter))) {
      await this.threads.write(thread);
    } else if (kind === "question") {
      await this.answerOnTop(folder, matter);
    } else {
      await this.resolveOnTop(matter);
    }
  }

  /** What is in the draft becomes the answer. */
  async send(comment: ThreadComment): Promise<void> {
    const { thread } = comment;
    if (thread.settled !== undefined) {
      this.tell(`${settledLabel(thread.settled)}. Your text stays until you put it aside.`);
    } else if (!thread.sending) {
      thread.sending = true;
      try {
        if (await this.settle(thread.matter, textOf(comment))) {
          this.threads.taken(comment);
          this.threads.show(this.store.snapshot.folders);
        }
      } finally {
        thread.sending = false;
      }
    }
  }

  /** Not now: what is written stays for the next time. */
  putAside(comment: ThreadComment): void {
    this.threads.putAside(comment);
    this.threads.show(this.store.snapshot.folders);
  }

  dispose(): void {
    this.listening.dispose();
    this.threads.dispose();
  }

  private async answerOnTop(folder: FolderSnapshot, matter: Matter): Promise<void> {
    const picked = await pickAnswer(matter, { onSettled: this.onSettled.bind(this) });
    switch (picked.kind) {
      case "answer":
        await this.settle(matter, picked.text);
        break;
      case "file":
        await this.openDecide(folder);
        break;
      case "nothing":
        break;
    }
  }

  private async resolveOnTop(matter: Matter): Promise<void> {
    const text = await vscode.window.showInputBox({
      title: matter.text.replaceAll(/\s+/g, " "),
      prompt: "What did you do about it? The loop is told; it may stay empty.",
      ignoreFocusOut: true,
    });
    if (text !== undefined) {
      await this.settle(matter, text);
    }
  }

  /** Whether it was taken; why not is told. */
  private async settle(matter: Matter, text: string): Promise<boolean> {
    const { folder: workspace, goOn } = matter;
    const words = text.trim();
    try {
      if (matter.kind === "question") {
        return this.taken(
          await this.connection.request("ralph/answer", { workspace, text: words, continue: goOn }),
        );
      }
      if (words !== "") {
        const noted = await this.connection.request("ralph/note", { workspace, text: words });
        if (!this.taken(noted)) {
          return false;
        }
      }
      return this.taken(
        await this.connection.request("ralph/resume", { workspace, continue: goOn }),
      );
    } catch (error) {
      this.tell(error instanceof Error ? error.message : String(error));
      return false;
    }
  }

  private taken({
    accepted,
    text,
  }: {
    readonly accepted: boolean;
    readonly text: string;
  }): boolean {
    if (!accepted) {
      this.tell(text);
    }
    return accepted;
  }

  private onSettled(matter: Matter, tell: (words: string) => void): vscode.Disposable {
    const listening = this.store.onDidChange((after) => {
      const folder = folderOf(after, matter.folder);
      const wanted = folder === undefined ? undefined : wantedOf(folder);
      if (wanted !== undefined && wanted.matter?.key !== matter.key) {
        const { settled } = wanted;
        tell(
          settled?.key === matter.key
            ? `${settledLabel(settled)}: ${settled.answer.replaceAll(/\s+/g, " ")}`
            : "This question does not wait any more",
        );
      }
    });
    return new vscode.Disposable(() => {
      listening.dispose();
    });
  }
}

/** Whether the person is in the plan that the matter is about. */
function isInPlan({ plan }: Matter): boolean {
  const active = vscode.window.activeTextEditor?.document.uri;
  return plan !== undefined && active?.toString() === vscode.Uri.parse(plan).toString();
}
