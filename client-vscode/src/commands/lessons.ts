/** Lessons of earlier runs: lists them, opens one, and sends what the user decides about it. */

import * as vscode from "vscode";

import type { DecideLessonParams, LessonAction, LessonView } from "../generated/protocol";
import { t } from "../l10n";
import type { FolderSnapshot } from "../state/snapshot";
import type { Given } from "./orders";
import type { Tools } from "./tools";

interface LessonItem extends vscode.QuickPickItem {
  /** Undefined: have new ones proposed. */
  readonly lesson: LessonView | undefined;
}

interface StepItem extends vscode.QuickPickItem {
  /** Undefined: open the file. */
  readonly action: LessonAction | undefined;
}

export async function chooseLesson(tools: Tools, folder: FolderSnapshot): Promise<void> {
  const { connection, orders } = tools;
  const workspace = folder.uri;
  try {
    const { lessons } = await connection.request("ralph/lessons", { workspace });
    const learn: LessonItem = {
      label: `$(lightbulb) ${t("Propose Lessons from Earlier Runs")}`,
      alwaysShow: true,
      lesson: undefined,
    };
    const picked = await vscode.window.showQuickPick([learn, ...lessons.map(itemOf)], {
      title: t("Lessons"),
      placeHolder: t("No prompt has a lesson that you did not accept."),
      matchOnDescription: true,
      matchOnDetail: true,
    });
    if (picked === undefined) {
      return;
    }
    if (picked.lesson !== undefined) {
      await decide(tools, folder, picked.lesson);
      return;
    }
    const { proposals } = await connection.request("ralph/learn", { workspace });
    if (proposals.length === 0) {
      void vscode.window.showInformationMessage(t("The runs here show nothing to learn from yet."));
    } else {
      await chooseLesson(tools, folder);
    }
  } catch (error) {
    await orders.refuse(folder, error);
  }
}

/** Shows the whole lesson, then asks what to do with it: what was shown is what is accepted. */
async function decide(tools: Tools, folder: FolderSnapshot, lesson: LessonView): Promise<void> {
  const uri = vscode.Uri.file(lesson.path);
  await vscode.window.showTextDocument(uri, { preview: true, preserveFocus: true });
  const picked = await vscode.window.showQuickPick(stepsFor(lesson), {
    title: lesson.title,
    placeHolder: lesson.problems[0] ?? lesson.stale ?? factsOf(lesson).join(" · "),
  });
  if (picked === undefined) {
    return;
  }
  if (picked.action === undefined) {
    await vscode.window.showTextDocument(uri);
    return;
  }
  const { path, sha256 } = lesson;
  await send(tools, { workspace: folder.uri, action: picked.action, path, sha256 });
}

/** The command of a code action on a lesson file. */
export async function decideLesson(tools: Tools, given: Given): Promise<void> {
  await send(tools, given as unknown as DecideLessonParams);
}

async function send({ connection }: Tools, order: DecideLessonParams): Promise<void> {
  const done = await connection.request("ralph/decideLesson", order);
  const id = done.lessons.join(", ");
  const words = {
    accept: t("Ralph: prompts that it fits have the lesson {0} from now on", id),
    reject: t("Ralph: the lesson {0} is not proposed again", id),
    remove: t("Ralph: the lesson {0} is removed", id),
  }[order.action];
  if (done.notes.length > 0) {
    void vscode.window.showWarningMessage([words, ...done.notes].join(". "));
  } else {
    vscode.window.setStatusBarMessage(words, 5000);
  }
}

function stepsFor({ status, place }: LessonView): readonly StepItem[] {
  const steps: StepItem[] = [];
  if (status === "proposed" || status === "unapproved") {
    steps.push({ label: `$(check) ${t("Accept into Prompts")}`, action: "accept" });
  }
  steps.push(
    place === "proposed"
      ? { label: `$(close) ${t("Reject")}`, action: "reject" }
      : { label: `$(trash) ${t("Remove")}`, action: "remove" },
  );
  return [...steps, { label: `$(edit) ${t("Open the File")}`, action: undefined }];
}

function itemOf(lesson: LessonView): LessonItem {
  const icon = { accepted: "check", proposed: "question", unapproved: "warning", invalid: "error" };
  return {
    label: `$(${icon[lesson.status]}) ${lesson.title || lesson.id}`,
    description: statusOf(lesson),
    detail: [...factsOf(lesson), ...(lesson.stale ? [lesson.stale] : [])].join(" · "),
    lesson,
  };
}

function statusOf({ status, fits }: LessonView): string {
  switch (status) {
    case "accepted":
      return fits ? t("accepted") : t("accepted, does not fit here");
    case "proposed":
      return t("proposed");
    case "unapproved":
      return t("not accepted in this form");
    case "invalid":
      return t("cannot be read");
  }
}

function factsOf({ scope, match, source, problems, effect }: LessonView): readonly string[] {
  const uses = effect ? [t("{0} iterations had it", effect.iterations)] : [];
  return [
    match.length > 0 ? `${scope}: ${match.join(", ")}` : scope,
    source,
    ...uses,
    ...problems,
  ].filter((part) => part !== "");
}
