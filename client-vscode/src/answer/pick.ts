/**
 * A question answered, or a blocker resolved, on top of the window, wherever the focus is.
 *
 * It opens on a gesture only. Somebody else may be quicker; then it says who, takes nothing more,
 * and hands back what was typed. It stays open for that, since the keys of somebody who is typing
 * would otherwise land in whatever is below.
 */

import * as vscode from "vscode";

import { t } from "../l10n";
import type { Matter } from "./threadModel";
import { acceptedAnswer, choicesFor, oneLine, type Choice } from "./words";

/** What ends it early. */
export interface Interrupts {
  /** Calls back with the words that say who settled it. */
  onSettled(matter: Matter, show: (words: string) => void): vscode.Disposable;
}

/** What came out: an answer, the wish to write it in the file, words that came late, or nothing. */
export type Picked =
  | { readonly kind: "answer"; readonly text: string }
  | { readonly kind: "file" }
  | { readonly kind: "late"; readonly why: string; readonly text: string }
  | { readonly kind: "nothing" };

/** Answer the question by a choice or in words. */
export async function pickAnswer(matter: Matter, interrupts: Interrupts): Promise<Picked> {
  const pick = vscode.window.createQuickPick<vscode.QuickPickItem & Choice>();
  const openFile: vscode.QuickInputButton = {
    iconPath: new vscode.ThemeIcon("go-to-file"),
    tooltip: t("Open decide.txt"),
  };
  // As the title, since a placeholder goes away with the first letter.
  pick.title = oneLine(matter.text);
  pick.placeholder =
    matter.options.length > 0 ? t("Choose an option or type your own answer") : t("Type an answer");
  pick.ignoreFocusOut = true;
  // The file of a lane is in its work tree, not in the folder of the window.
  pick.buttons = matter.task === undefined ? [openFile] : [];
  pick.items = choicesFor("", matter.options);
  return await asked(pick, matter, interrupts, (resolve, late) => [
    pick.onDidChangeValue((value) => {
      if (late() === undefined) {
        pick.items = choicesFor(value, matter.options);
      }
    }),
    pick.onDidTriggerButton(() => {
      resolve({ kind: "file" });
    }),
    pick.onDidAccept(() => {
      const answer = acceptedAnswer(pick.selectedItems[0], pick.value);
      if (late() !== undefined) {
        pick.hide();
      } else if (answer !== undefined) {
        resolve({ kind: "answer", text: answer });
      }
    }),
  ]);
}

/** Ask what was done about a blocker; the answer may be empty. */
export async function tellResolution(matter: Matter, interrupts: Interrupts): Promise<Picked> {
  const box = vscode.window.createInputBox();
  box.title = oneLine(matter.text);
  box.prompt = t("How did you resolve it? (optional; the next agent reads it)");
  box.ignoreFocusOut = true;
  return await asked(box, matter, interrupts, (resolve, late) => [
    box.onDidAccept(() => {
      if (late() !== undefined) {
        box.hide();
      } else {
        resolve({ kind: "answer", text: box.value });
      }
    }),
  ]);
}

type Input = vscode.QuickPick<vscode.QuickPickItem & Choice> | vscode.InputBox;

/** Show it until something comes out. */
async function asked(
  input: Input,
  matter: Matter,
  interrupts: Interrupts,
  listen: (
    resolve: (picked: Picked) => void,
    late: () => string | undefined,
  ) => readonly vscode.Disposable[],
): Promise<Picked> {
  const disposables: { dispose: () => unknown }[] = [input];
  try {
    return await new Promise<Picked>((resolve) => {
      let why: string | undefined;
      disposables.push(
        ...listen(resolve, () => why),
        input.onDidHide(() => {
          resolve(
            why === undefined ? { kind: "nothing" } : { kind: "late", why, text: input.value },
          );
        }),
        interrupts.onSettled(matter, (words) => {
          why = words;
          input.title = words;
          if ("items" in input) {
            input.items = [{ label: t("Close"), answer: "", alwaysShow: true }];
            input.buttons = [];
          }
        }),
      );
      input.show();
    });
  } finally {
    for (const disposable of disposables) {
      disposable.dispose();
    }
  }
}
