/** The one status bar item, and the server's language status; their words come from elsewhere. */

import * as vscode from "vscode";

import { showStatus, wantsStill } from "../settings";
import { panelOf, type ServerHealth, type Snapshot } from "../state/snapshot";
import { statusItem, type StatusModel } from "./statusItem";

/** Milliseconds for which an end is told to somebody who looks. */
const SEEN_AFTER = 60_000;

const COMMANDS = {
  answer: "ralphLoop.answer",
  show: "ralphLoop.loop.focus",
  showOutput: "ralphLoop.showOutput",
} as const satisfies Record<StatusModel["command"], string>;

/** What the tooltip's links may do. */
const LINKS = {
  "ralphLoop.loop.focus": "Show",
  "ralphLoop.stopAfterIteration": "Stop After This Iteration",
} as const;

export class StatusBar implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem(
    "ralphLoop.status",
    vscode.StatusBarAlignment.Left,
    50,
  );
  private readonly server = vscode.languages.createLanguageStatusItem("ralphLoop.server", [
    { scheme: "file", language: "markdown" },
    { scheme: "file", pattern: "**/{decide,blocked}.txt" },
  ]);
  /** Folders with an end that nobody needs to be told any more, and what will make it so. */
  private readonly seenEnds = new Set<string>();
  private readonly timers = new Map<string, NodeJS.Timeout>();
  private snapshot: Snapshot | undefined;
  private readonly disposables: { dispose: () => unknown }[] = [this.item, this.server];

  constructor() {
    this.item.name = "Ralph Loop";
    this.server.name = "Ralph Loop";
    this.server.command = { command: "ralphLoop.showOutput", title: "Show Output" };
    this.disposables.push(
      vscode.window.onDidChangeWindowState(() => {
        this.refresh();
      }),
    );
  }

  show(snapshot: Snapshot): void {
    this.snapshot = snapshot;
    this.refresh();
  }

  /** Draw again what is known, after a setting changed. */
  refresh(): void {
    const { snapshot } = this;
    if (snapshot === undefined) {
      return;
    }
    this.watchEnds(snapshot);
    this.draw(
      statusItem(snapshot, {
        show: showStatus(),
        still: wantsStill(),
        seenEnds: this.seenEnds,
        clock: clockTime,
      }),
    );
    this.drawServer(snapshot.server);
  }

  dispose(): void {
    for (const timer of this.timers.values()) {
      clearTimeout(timer);
    }
    for (const disposable of this.disposables) {
      disposable.dispose();
    }
  }

  /** An end stands until the window is looked at, and a minute longer. */
  private watchEnds({ folders }: Snapshot): void {
    for (const folder of folders) {
      const { uri } = folder;
      const state = panelOf(folder)?.state;
      if (state !== "complete" && state !== "ended" && state !== "fatal") {
        this.seenEnds.delete(uri);
        clearTimeout(this.timers.get(uri));
        this.timers.delete(uri);
      } else if (vscode.window.state.focused && !this.timers.has(uri) && !this.seenEnds.has(uri)) {
        const timer = setTimeout(() => {
          this.timers.delete(uri);
          this.seenEnds.add(uri);
          this.refresh();
        }, SEEN_AFTER);
        this.timers.set(uri, timer);
      }
    }
  }

  private draw(model: StatusModel | undefined): void {
    const { item } = this;
    if (model === undefined) {
      item.hide();
      return;
    }
    item.text = model.text;
    item.backgroundColor =
      model.background === undefined
        ? undefined
        : new vscode.ThemeColor(`statusBarItem.${model.background}Background`);
    item.command = COMMANDS[model.command];
    item.accessibilityInformation = { label: model.label, role: "button" };
    item.tooltip = tooltip(model);
    item.show();
  }

  private drawServer(health: ServerHealth): void {
    const { server } = this;
    server.busy = health.kind === "starting" || health.kind === "installing";
    server.severity = vscode.LanguageStatusSeverity.Information;
    server.detail = "";
    switch (health.kind) {
      case "starting":
        server.text = "Ralph server starts";
        break;
      case "installing":
        server.text = "Ralph server is set up";
        server.detail = health.step;
        break;
      case "ok":
        server.text = `Ralph server ${health.version}`;
        server.detail = health.from;
        break;
      case "missing":
      case "failed":
        server.text = "Ralph has no server";
        server.detail = health.why;
        server.severity = vscode.LanguageStatusSeverity.Error;
        break;
    }
  }
}

/** The hour and minute as this person writes them; with the day where it is another one. */
export function clockTime(timestamp: string): string {
  const at = new Date(timestamp);
  const time: Intl.DateTimeFormatOptions = { hour: "2-digit", minute: "2-digit" };
  const isToday = at.toDateString() === new Date().toDateString();
  const day: Intl.DateTimeFormatOptions = isToday ? {} : { day: "numeric", month: "short" };
  return new Intl.DateTimeFormat(vscode.env.language, { ...day, ...time }).format(at);
}

function tooltip({ lines }: StatusModel): vscode.MarkdownString {
  const text = new vscode.MarkdownString();
  lines.forEach(({ heading, text: words }, at) => {
    text.appendMarkdown(at === 0 ? "" : "  \n");
    text.appendMarkdown("**").appendText(heading).appendMarkdown(":** ");
    // An agent wrote much of it.
    text.appendText(words.replaceAll("\n", " "));
  });
  const links = Object.entries(LINKS).map(([command, title]) => `[${title}](command:${command})`);
  text.appendMarkdown(`\n\n${links.join(" · ")}`);
  text.isTrusted = { enabledCommands: Object.keys(LINKS) };
  return text;
}
