/**
 * The question of a loop as a comment thread at its task, and its answer written in place.
 *
 * It appears folded and never takes the keyboard; only `write`, which the user's gesture calls,
 * opens it. What VS Code does with threads was tried out: assigning `comments` takes the keyboard
 * from a draft, so while one is open only the label changes.
 */

import * as vscode from "vscode";

import { t } from "../l10n";
import type { FolderSnapshot } from "../state/snapshot";
import {
  labelOf,
  settledLabel,
  stepsFor,
  wantedOf,
  type Matter,
  type Settled,
  type Shown,
  type Step,
} from "./threadModel";
import { oneLine, plainMarkdown } from "./words";

/** A comment in a thread of ours. */
export interface ThreadComment extends vscode.Comment {
  readonly thread: Thread;
}

/** One thread and what it is about. */
export interface Thread {
  readonly view: vscode.CommentThread;
  readonly matter: Matter;
  /** What is asked, with a link to the answer while there is neither one nor a draft. */
  readonly question: vscode.Comment;
  line: number;
  /** How it was settled; it may still have a draft under which that could not be shown. */
  settled: Settled | undefined;
  /** The comment that shows it. */
  answer: vscode.Comment | undefined;
  draft: ThreadComment | undefined;
  /** What was written, while no draft is open. */
  kept: string;
  /** Whether it was opened from here, on somebody's gesture. */
  opened: boolean;
}

/** The threads of all folders, at most one each. */
export class Threads implements vscode.Disposable {
  private readonly controller = vscode.comments.createCommentController(
    "ralphLoop.answers",
    "Ralph Loop",
  );
  private readonly threads = new Map<string, Thread>();

  constructor() {
    this.controller.options = { prompt: t("Type an answer for the loop"), placeHolder: "" };
  }

  /** Bring them up to date. */
  show(folders: readonly FolderSnapshot[]): void {
    for (const folder of folders) {
      for (const step of stepsFor(shownOf(this.threads.get(folder.uri)), wantedOf(folder))) {
        this.take(folder.uri, step);
      }
    }
    for (const [uri, thread] of this.threads) {
      if (!folders.some((folder) => folder.uri === uri) && thread.draft === undefined) {
        this.take(uri, { kind: "remove" });
      }
    }
  }

  /** The thread of a folder, where what it is about still waits. */
  open(uri: string): Thread | undefined {
    const thread = this.threads.get(uri);
    return thread?.settled === undefined ? thread : undefined;
  }

  /** Open the thread with the cursor in a draft: what was asked for by a gesture. */
  async write(thread: Thread): Promise<void> {
    const { view } = thread;
    const at = new vscode.Range(thread.line, 0, thread.line, 0);
    const editor = await vscode.window.showTextDocument(view.uri, { preview: false });
    editor.revealRange(at, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
    view.collapsibleState = vscode.CommentThreadCollapsibleState.Expanded;
    thread.opened = true;
    if (thread.draft !== undefined) {
      // Assigning again would throw away what is written in it.
      return;
    }
    const isQuestion = thread.matter.kind === "question";
    thread.draft = {
      thread,
      author: { name: isQuestion ? t("Your answer") : t("How did you resolve it?") },
      body: thread.kept,
      mode: vscode.CommentMode.Editing,
      contextValue: isQuestion ? "draft" : "draftResolved",
    };
    thread.question.body = bodyOf(thread.matter, "options");
    view.comments = [...view.comments, thread.draft];
  }

  /**
   * Take the draft out of its thread, and what was written in it.
   *
   * VS Code has closed its editor by then, and shows what was in it before.
   */
  takeDraft(comment: ThreadComment): string {
    const { thread } = comment;
    const text = textOf(comment);
    thread.kept = text;
    thread.draft = undefined;
    thread.question.body = bodyOf(thread.matter, thread.settled === undefined ? "all" : "none");
    thread.view.comments = thread.view.comments.filter((each) => each !== comment);
    if (thread.settled !== undefined) {
      this.settle(thread, thread.settled);
    }
    return text;
  }

  /** An option was taken instead of what is written in the draft, if there is one. */
  dropDraft(uri: string): void {
    const draft = this.threads.get(uri)?.draft;
    if (draft !== undefined) {
      this.takeDraft(draft);
      this.taken(draft.thread);
    }
  }

  /** What was written was taken: the next draft is empty. */
  taken(thread: Thread): void {
    thread.kept = "";
  }

  fold(thread: Thread): void {
    thread.opened = false;
    thread.view.collapsibleState = vscode.CommentThreadCollapsibleState.Collapsed;
  }

  dispose(): void {
    for (const { view } of this.threads.values()) {
      view.dispose();
    }
    this.controller.dispose();
  }

  private take(uri: string, step: Step): void {
    const thread = this.threads.get(uri);
    switch (step.kind) {
      case "create":
        this.threads.set(uri, this.create(step.matter));
        break;
      case "move":
        if (thread !== undefined) {
          thread.line = step.line;
          thread.view.range = lineRange(step.line);
        }
        break;
      case "settle":
        if (thread !== undefined) {
          this.settle(thread, step.settled);
        }
        break;
      case "label":
        if (thread !== undefined) {
          thread.settled = step.settled;
          thread.view.label = settledLabel(step.settled);
          thread.view.contextValue = `${thread.matter.kind} settled`;
        }
        break;
      case "remove":
        thread?.view.dispose();
        this.threads.delete(uri);
        break;
    }
  }

  private create(matter: Matter): Thread {
    const { kind, asker, line } = matter;
    const question: vscode.Comment = {
      author: { name: asker },
      label: kind === "question" ? t("asks") : t("is blocked"),
      body: bodyOf(matter, "all"),
      mode: vscode.CommentMode.Preview,
    };
    const uri = vscode.Uri.parse(matter.plan ?? "");
    const view = this.controller.createCommentThread(uri, lineRange(line), [question]);
    view.canReply = false;
    view.label = labelOf(kind);
    view.contextValue = `${kind} open`;
    view.state = vscode.CommentThreadState.Unresolved;
    view.collapsibleState = vscode.CommentThreadCollapsibleState.Collapsed;
    return {
      view,
      matter,
      question,
      line,
      settled: undefined,
      answer: undefined,
      draft: undefined,
      kept: "",
      opened: false,
    };
  }

  private settle(thread: Thread, settled: Settled): void {
    const { view, matter } = thread;
    thread.settled = settled;
    view.label = settledLabel(settled);
    view.contextValue = `${matter.kind} settled`;
    view.state = vscode.CommentThreadState.Resolved;
    if (settled.answer !== "") {
      const earlier = thread.answer;
      thread.answer = {
        author: { name: settled.by === "" ? t("Answer") : settled.by },
        label: matter.kind === "question" ? t("answered") : t("resolved"),
        body: plain(settled.answer),
        mode: vscode.CommentMode.Preview,
      };
      thread.question.body = bodyOf(matter, "none");
      view.comments = [...view.comments.filter((each) => each !== earlier), thread.answer];
    }
    // Folding takes the keyboard into the plan, so only what our user has just answered is folded,
    // and at once: a moment later they may be typing elsewhere.
    if (thread.opened) {
      this.fold(thread);
    }
  }
}

/** The words in a comment that is or was written. */
export function textOf({ body }: Pick<vscode.Comment, "body">): string {
  return typeof body === "string" ? body : body.value;
}

function shownOf(thread: Thread | undefined): Shown | undefined {
  if (thread?.matter.plan === undefined) {
    return undefined;
  }
  const { matter, line, settled, draft } = thread;
  return {
    key: matter.key,
    line,
    plan: matter.plan ?? "",
    settled,
    hasDraft: draft !== undefined,
  };
}

function lineRange(line: number): vscode.Range {
  return new vscode.Range(line, 0, line, 0);
}

/** How many options have a command, so that each can be a link. */
const LINKED_OPTIONS = 6;

/**
 * The question, and each of its options as a link that answers with it. An agent wrote it, so
 * nothing in it is read as markup; a link has no arguments, as a screen reader reads it out.
 */
function bodyOf(
  { kind, text, options }: Matter,
  links: "all" | "options" | "none",
): vscode.MarkdownString {
  const body = plain(text);
  options.forEach(({ label }, at) => {
    const words = plainMarkdown(oneLine(label));
    const isLinked = links !== "none" && at < LINKED_OPTIONS;
    const option = isLinked ? `[${words}](command:ralphLoop.takeOption${at + 1})` : words;
    body.appendMarkdown(`${at === 0 ? "\n\n" : "\n"}- ${option}`);
  });
  if (links === "all") {
    const link =
      kind === "question"
        ? `[${t("Answer…")}](command:ralphLoop.answer)`
        : `[${t("Resolve…")}](command:ralphLoop.resolveBlocked)`;
    body.appendMarkdown(`\n\n${link}`);
  }
  if (links !== "none") {
    const taken = Array.from({ length: LINKED_OPTIONS }, (_, at) => `takeOption${at + 1}`);
    const enabled = ["answer", "resolveBlocked", ...taken].map((command) => `ralphLoop.${command}`);
    body.isTrusted = { enabledCommands: enabled };
  }
  return body;
}

function plain(text: string): vscode.MarkdownString {
  return new vscode.MarkdownString(plainMarkdown(text));
}
