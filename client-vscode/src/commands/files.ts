/** Opens what a loop is made of: its plan, its settings, the question's file, an agent's output. */

import { existsSync } from "node:fs";

import * as vscode from "vscode";

import { t } from "../l10n";
import { logUri } from "../logs/documents";
import type { FolderSnapshot } from "../state/snapshot";

/** The plan that is offered where there is none yet; the server finds it by its name. */
const FIRST_PLAN = "@fix_plan.md";

export class Files {
  /** The plan, or an empty one that is written when it is saved. */
  async openPlan(folder: FolderSnapshot): Promise<void> {
    const { uri, path } = folder.state?.plan ?? {};
    if (uri === undefined && path) {
      void vscode.window.showInformationMessage(
        t("The plan is not a file: it is stored in {0}.", path),
      );
      return;
    }
    await open(uri === undefined ? inTree(folder, FIRST_PLAN) : vscode.Uri.parse(uri));
  }

  async openConfig(folder: FolderSnapshot): Promise<void> {
    await open(inTree(folder, ".ralph/config.toml"));
  }

  /** Where a question is answered by hand: below its line, and saved. */
  async openDecide(folder: FolderSnapshot): Promise<void> {
    const path = folder.state?.run?.config.paths.decide ?? ".ralph/decide.txt";
    const uri = inTree(folder, path);
    if (existsSync(uri.fsPath)) {
      await open(uri);
    } else {
      void vscode.window.showInformationMessage(t("No open question: there is no {0}.", path));
    }
  }

  /** The prompt of the mode that the loop is in; or how to write a separate one. */
  async openPrompt(folder: FolderSnapshot): Promise<void> {
    const run = folder.state?.run;
    const path = promptPath(
      run?.config.paths.prompts,
      run?.current?.started.mode,
      run?.config.profile,
    );
    const uri = inTree(folder, path);
    if (existsSync(uri.fsPath)) {
      await open(uri);
      return;
    }
    const write = t("Create File");
    const picked = await vscode.window.showInformationMessage(
      t(
        "There is no {0}, so Ralph uses its built-in prompt (`ralph prompt` shows it). Create the file to use your own.",
        path,
      ),
      write,
    );
    if (picked === write) {
      await open(uri);
    }
  }

  /** A file that the server named, relative to the work tree and inside of it. */
  async showFile(folder: FolderSnapshot, path: unknown): Promise<void> {
    if (typeof path === "string" && path !== "" && !path.split(/[\\/]/).includes("..")) {
      await open(inTree(folder, path));
    }
  }

  /** What an iteration's agent wrote; the newest one's where none is named. */
  async showLog(
    folder: FolderSnapshot,
    run: unknown,
    start: unknown,
    options: { readonly preserveFocus: boolean } = { preserveFocus: false },
  ): Promise<void> {
    const state = folder.state?.run;
    const ofRun = typeof run === "string" ? run : state?.run;
    const number = typeof start === "number" ? start : state?.start;
    if (ofRun === undefined || number === undefined || number === 0) {
      void vscode.window.showInformationMessage(t("No iteration has started yet."));
      return;
    }
    const document = await vscode.workspace.openTextDocument(logUri(folder.uri, ofRun, number));
    const editor = await vscode.window.showTextDocument(document, { ...options, preview: true });
    if (state?.run === ofRun && state.current?.started.start === number) {
      // It is being written: its end is what is new.
      const last = document.lineCount - 1;
      editor.revealRange(new vscode.Range(last, 0, last, 0));
    }
  }
}

/** The path of a mode's prompt, relative to the work tree; stories name `build` `implement`. */
export function promptPath(folder = ".ralph/prompts", mode = "build", profile = ""): string {
  return `${folder}/PROMPT_${mode === "build" && profile === "stories" ? "implement" : mode}.md`;
}

/** A path of the work tree that the folder is in. */
function inTree(folder: FolderSnapshot, path: string): vscode.Uri {
  const root = folder.state?.run?.workspace;
  const base = root === undefined ? vscode.Uri.parse(folder.uri) : vscode.Uri.file(root);
  return vscode.Uri.joinPath(base, path);
}

/** Open a file, or an unsaved one that will be it. */
async function open(uri: vscode.Uri): Promise<void> {
  const there = uri.scheme !== "file" || existsSync(uri.fsPath);
  const document = await vscode.workspace.openTextDocument(
    there ? uri : uri.with({ scheme: "untitled" }),
  );
  await vscode.window.showTextDocument(document, { preview: false });
}
