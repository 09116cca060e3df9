/** The one status bar item, and the server's language status; their words come from elsewhere. */

import * as vscode from "vscode";

import { clockTime } from "../intl";
import { t } from "../l10n";
import { showStatus, wantsReducedMotion } from "../settings";
import type { ServerHealth, Snapshot } from "../state/snapshot";
import { SeenEnds } from "./ends";
import { LINK_COMMANDS, statusItem, type StatusModel } from "./statusItem";

const COMMANDS = {
  answer: "ralphLoop.answer",
  show: "ralphLoop.loop.focus",
  showOutput: "ralphLoop.showOutput",
} as const satisfies Record<StatusModel["command"], string>;

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
  private readonly ends = new SeenEnds(
    (milliseconds, callback) => {
      const timer = setTimeout(callback, milliseconds);
      return () => {
        clearTimeout(timer);
      };
    },
    () => {
      this.refresh();
    },
  );
  /** Whether the system asks for reduced motion, as a page has reported. */
  private reducedMotion = false;
  private snapshot: Snapshot | undefined;
  private readonly disposables: { dispose: () => unknown }[] = [this.item, this.server, this.ends];

  constructor() {
    this.item.name = "Ralph Loop";
    this.server.name = "Ralph Loop";
    this.server.command = { command: "ralphLoop.showOutput", title: t("Show Output") };
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

  /** A page has reported whether reduced motion is preferred. */
  setReducedMotion(reducedMotion: boolean): void {
    this.reducedMotion = reducedMotion;
    this.refresh();
  }

  /** Draw again what is known, after a setting changed. */
  refresh(): void {
    const { snapshot } = this;
    if (snapshot === undefined) {
      return;
    }
    this.ends.watch(snapshot.folders, vscode.window.state.focused);
    this.draw(
      statusItem(snapshot, {
        show: showStatus(),
        reducedMotion: wantsReducedMotion() ?? this.reducedMotion,
        seenEnds: this.ends.folders,
        clock: (timestamp) => clockTime(timestamp, Date.now()),
      }),
    );
    this.drawServer(snapshot.server);
  }

  dispose(): void {
    for (const disposable of this.disposables) {
      disposable.dispose();
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
        server.text = t("Starting Ralph server");
        break;
      case "installing":
        server.text = t("Setting up Ralph server");
        server.detail = health.step;
        break;
      case "ok":
        server.text = t("Ralph server {0}", health.version);
        server.detail = health.from;
        break;
      case "missing":
      case "failed":
        server.text = t("Ralph server unavailable");
        server.detail = health.why;
        server.severity = vscode.LanguageStatusSeverity.Error;
        break;
    }
  }
}

function tooltip({ lines, links }: StatusModel): vscode.MarkdownString {
  const text = new vscode.MarkdownString();
  lines.forEach(({ heading, text: words }, at) => {
    text.appendMarkdown(at === 0 ? "" : "  \n");
    text.appendMarkdown("**").appendText(heading).appendMarkdown(":** ");
    // An agent wrote much of it.
    text.appendText(words.replaceAll("\n", " "));
  });
  links.forEach(({ title, command }, at) => {
    text.appendMarkdown(`${at === 0 ? "\n\n" : " · "}[`).appendText(title);
    text.appendMarkdown(`](command:ralphLoop.${command})`);
  });
  text.isTrusted = { enabledCommands: LINK_COMMANDS.map((command) => `ralphLoop.${command}`) };
  return text;
}
