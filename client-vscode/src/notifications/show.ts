/** Puts notices on the screen, each once, and several at once as one. */

import * as vscode from "vscode";

import { clockTime } from "../intl";
import { t } from "../l10n";
import { notificationSettings, silence } from "../settings";
import type { Snapshot } from "../state/snapshot";
import { Gathering } from "./gather";
import { notificationsFor, stillHolds, type Notice, type NoticeAction } from "./notices";

/** How many notices are remembered as shown. */
const REMEMBERED = 200;

const MEMORY = "ralphLoop.notified";

function titleOf(action: NoticeAction): string {
  switch (action) {
    case "answer":
      return t("Answer…");
    case "openPlan":
      return t("Open Plan");
    case "resetBreaker":
      return t("Reset Breaker");
    case "showLog":
      return t("Show Log");
    case "showSummary":
      return t("Show Summary");
    case "stop":
      return t("Stop");
    case "showOutput":
      return t("Show Output");
    case "selectPython":
      return t("Select Python…");
    case "silence":
      return t("Don't Show Again");
  }
}

/** What a button does, but for silencing. */
export type Obey = (
  action: Exclude<NoticeAction, "silence">,
  folder: string | undefined,
) => Promise<void>;

export class Notifications implements vscode.Disposable {
  private readonly gathering = new Gathering(
    (milliseconds, callback) => {
      const timer = setTimeout(callback, milliseconds);
      return () => {
        clearTimeout(timer);
      };
    },
    (notice) => void this.show(notice),
  );

  constructor(
    private readonly memory: vscode.Memento,
    private readonly obey: Obey,
  ) {}

  changed(after: Snapshot, before: Snapshot): void {
    const notices = notificationsFor(before, after, {
      settings: notificationSettings(),
      focused: vscode.window.state.focused,
      planVisible: (folder) => isVisible(folder.state?.plan.uri),
      clock: (timestamp) => clockTime(timestamp, Date.now()),
      now: Date.now(),
    });
    this.gathering.keepOnly((notice) => stillHolds(notice, after));
    this.gathering.add(notices.filter((notice) => this.isNew(notice)));
  }

  dispose(): void {
    this.gathering.dispose();
  }

  private async show({ kind, severity, text, actions, folder }: Notice): Promise<void> {
    const titles = actions.map(titleOf);
    const picked = await SHOW[severity](text, ...titles);
    const action = actions.find((_, at) => titles[at] === picked);
    if (action === "silence") {
      await silence(kind);
    } else if (action !== undefined) {
      await this.obey(action, folder);
    }
  }

  /** Whether it was not shown yet, in this window or before it was loaded again. */
  private isNew({ key }: Notice): boolean {
    const known = this.memory.get<readonly string[]>(MEMORY, []);
    if (known.includes(key)) {
      return false;
    }
    void this.memory.update(MEMORY, [...known, key].slice(-REMEMBERED));
    return true;
  }
}

const SHOW = {
  info: async (text: string, ...titles: string[]) =>
    await vscode.window.showInformationMessage(text, ...titles),
  warning: async (text: string, ...titles: string[]) =>
    await vscode.window.showWarningMessage(text, ...titles),
  error: async (text: string, ...titles: string[]) =>
    await vscode.window.showErrorMessage(text, ...titles),
} as const;

function isVisible(plan: string | undefined): boolean {
  return (
    plan !== undefined &&
    vscode.window.visibleTextEditors.some(
      ({ document }) => document.uri.toString() === vscode.Uri.parse(plan).toString(),
    )
  );
}
