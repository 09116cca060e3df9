/**
 * A question answered on top of the window, wherever a person is: by a choice or in their words.
 *
 * It opens on a gesture only. Somebody else may answer meanwhile; then it says who, and takes
 * nothing more.
 */

import * as vscode from "vscode";

import type { Matter } from "./threadModel";

/** What ends it early. */
export interface Interrupts {
  /** Calls back with the words that say who settled it. */
  onSettled(matter: Matter, tell: (words: string) => void): vscode.Disposable;
}

/** What came out: an answer, the wish to write it in the file, or nothing. */
export type Picked =
  | { readonly kind: "answer"; readonly text: string }
  | { readonly kind: "file" }
  | { readonly kind: "nothing" };

interface Item extends vscode.QuickPickItem {
  readonly answer: string;
}

export async function pickAnswer(matter: Matter, interrupts: Interrupts): Promise<Picked> {
  const pick = vscode.window.createQuickPick<Item>();
  const openFile: vscode.QuickInputButton = {
    iconPath: new vscode.ThemeIcon("go-to-file"),
    tooltip: "Open decide.txt",
  };
  // As the title, since a placeholder goes away with the first letter.
  pick.title = oneLine(matter.text);
  pick.placeholder =
    matter.options.length > 0 ? "Choose, or type an answer in your words" : "Type an answer";
  pick.ignoreFocusOut = true;
  pick.buttons = [openFile];
  pick.items = itemsFor("", matter.options);
  const disposables: { dispose: () => unknown }[] = [pick];
  try {
    return await new Promise<Picked>((resolve) => {
      let isSettled = false;
      disposables.push(
        pick.onDidChangeValue((value) => {
          if (!isSettled) {
            pick.items = itemsFor(value, matter.options);
          }
        }),
        pick.onDidTriggerButton(() => {
          resolve({ kind: "file" });
        }),
        pick.onDidAccept(() => {
          const [item] = pick.selectedItems;
          if (!isSettled && item !== undefined) {
            resolve({ kind: "answer", text: item.answer });
          }
        }),
        pick.onDidHide(() => {
          resolve({ kind: "nothing" });
        }),
        interrupts.onSettled(matter, (words) => {
          isSettled = true;
          pick.title = words;
          pick.items = [];
        }),
      );
      pick.show();
    });
  } finally {
    for (const disposable of disposables) {
      disposable.dispose();
    }
  }
}

/** What is typed comes first, and stays whatever it is compared with. */
function itemsFor(typed: string, options: readonly string[]): Item[] {
  const text = typed.trim();
  const own = text === "" ? [] : [{ label: `Answer: ${text}`, answer: text, alwaysShow: true }];
  return [...own, ...options.map((option) => ({ label: oneLine(option), answer: option }))];
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim();
}
