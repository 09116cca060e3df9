/** Puts notices on the screen, each once, and several at once as one. */

import * as vscode from "vscode";

import { notificationSettings, silence } from "../settings";
import { clockTime } from "../status/bar";
import type { Snapshot } from "../state/snapshot";
import { merged, notificationsFor, type Notice, type NoticeAction } from "./notices";

/** Milliseconds in which what happens is told together. */
const TOGETHER = 2000;

/** What was told is remembered for so many things. */
const REMEMBERED = 200;

const MEMORY = "ralphLoop.notified";

const TITLES: Readonly<Record<NoticeAction, string>> = {
  answer: "Answer…",
  openPlan: "Open Plan",
  resetBreaker: "Reset Breaker",
  showLog: "Show Log",
  showSummary: "Show Summary",
  stop: "Stop",
  showOutput: "Show Output",
  selectPython: "Select Python…",
  silence: "Don't Show Again",
};

/** What a button does, but for silencing. */
export type Obey = (
  action: Exclude<NoticeAction, "silence">,
  folder: string | undefined,
) => Promise<void>;

export class Notifications implements vscode.Disposable {
  private waiting: Notice[] = [];
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly memory: vscode.Memento,
    private readonly obey: Obey,
  ) {}

  changed(after: Snapshot, before: Snapshot): void {
    const notices = notificationsFor(before, after, {
      settings: notificationSettings(),
      focused: vscode.window.state.focused,
      planVisible: (folder) => isVisible(folder.state?.plan.uri),
      clock: clockTime,
      now: Date.now(),
    });
    this.waiting.push(...notices.filter((notice) => this.isNew(notice)));
    if (this.timer !== undefined || this.waiting.length === 0) {
      return;
    }
    this.showWaiting();
    this.timer = setTimeout(() => {
      this.timer = undefined;
      this.showWaiting();
    }, TOGETHER);
  }

  dispose(): void {
    clearTimeout(this.timer);
  }

  private showWaiting(): void {
    const notice = merged(this.waiting);
    this.waiting = [];
    if (notice !== undefined) {
      void this.show(notice);
    }
  }

  private async show({ kind, severity, text, actions, folder }: Notice): Promise<void> {
    const titles = actions.map((action) => TITLES[action]);
    const picked = await SHOW[severity](text, ...titles);
    const action = actions.find((each) => TITLES[each] === picked);
    if (action === "silence") {
      await silence(kind);
    } else if (action !== undefined) {
      await this.obey(action, folder);
    }
  }

  /** Whether nobody was told yet, in this window or before it was loaded again. */
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
