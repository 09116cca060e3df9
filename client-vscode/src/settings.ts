/**
 * The extension's settings, each with its default: in a remote window they may not be
 * there yet when the extension starts.
 */

import * as vscode from "vscode";

import { TASK_LENSESES, type EditorOptions } from "./generated/protocol";
import type { LookupSettings } from "./server/lookup";
import type { NotificationSettings } from "./notifications/notices";
import type { ShowStatus } from "./status/statusItem";

const SECTION = "ralphLoop";

/** What the lookup of the server asks for. */
export function lookupSettings(): LookupSettings & { readonly python: string } {
  return {
    path: text("server.path").trim(),
    python: text("server.python").trim(),
    importStrategy: oneOf("server.importStrategy", ["bundled", "environment"], "bundled"),
  };
}

/** What the server is sent about this editor (`initializationOptions`). */
export function editorOptions(trusted: boolean): EditorOptions {
  return {
    commandPrefix: "ralphLoop.lens",
    readOnly: !trusted,
    // The Loop view and the status bar show a run; a third place would only flicker.
    progress: false,
    lens: {
      enabled: flag("lens.enabled", true),
      tasks: oneOf("lens.tasks", TASK_LENSESES, "touched"),
    },
    inlayHints: { enabled: flag("inlayHints.enabled", true) },
    planFiles: words("plan.files"),
  };
}

/** Where more plans are, as an editor asks for documents. */
export function planPatterns(): readonly string[] {
  return words("plan.files").map((pattern) => `**/${pattern}`);
}

export function notificationSettings(): NotificationSettings {
  return {
    which: oneOf("notifications.show", ["all", "important", "none"], "important"),
    except: words("notifications.except"),
  };
}

/** Never show this kind again. */
export async function silence(kind: string): Promise<void> {
  const except = [...new Set([...words("notifications.except"), kind])];
  const section = vscode.workspace.getConfiguration(SECTION);
  await section.update("notifications.except", except, vscode.ConfigurationTarget.Global);
}

export function showStatus(): ShowStatus {
  return oneOf("statusBar.show", ["always", "whenActive", "never"], "whenActive");
}

/** Whether the user prefers reduced motion; undefined where that is as the system says. */
export function wantsReducedMotion(): boolean | undefined {
  const value = vscode.workspace.getConfiguration("workbench").get<unknown>("reduceMotion");
  return value === "on" ? true : value === "off" ? false : undefined;
}

/** Whether a question asked from inside the plan is answered there. */
export function answersInline(): boolean {
  const visible = vscode.workspace.getConfiguration("comments").get<unknown>("visible");
  return (
    oneOf("answer.surface", ["inline", "quickPick"], "inline") === "inline" && visible !== false
  );
}

/** What the wizard and "Start With…" begin with in a folder. */
export function runDefaults(folder: string): { readonly profile: string; readonly agent: string } {
  const section = vscode.workspace.getConfiguration(SECTION, vscode.Uri.parse(folder));
  const wish = (name: string): string => {
    const value = section.get<unknown>(name);
    return typeof value === "string" ? value.trim() : "";
  };
  return { profile: wish("defaults.profile"), agent: wish("defaults.agent") };
}

export function showsGutter(): boolean {
  return flag("gutter.enabled", true);
}

/** Which parts a change of the settings has to do with. */
export function affects(event: vscode.ConfigurationChangeEvent, ...names: string[]): boolean {
  return names.some((name) => event.affectsConfiguration(`${SECTION}.${name}`));
}

/** Name the Python for the server's environment, or the program itself. */
export async function setServer(
  name: "server.python" | "server.path",
  path: string,
): Promise<void> {
  const section = vscode.workspace.getConfiguration(SECTION);
  await section.update(name, path, vscode.ConfigurationTarget.Global);
}

function get(name: string): unknown {
  return vscode.workspace.getConfiguration(SECTION).get<unknown>(name);
}

function text(name: string): string {
  const value = get(name);
  return typeof value === "string" ? value : "";
}

function flag(name: string, otherwise: boolean): boolean {
  const value = get(name);
  return typeof value === "boolean" ? value : otherwise;
}

function words(name: string): readonly string[] {
  const value = get(name);
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}

function oneOf<Word extends string>(name: string, all: readonly Word[], otherwise: Word): Word {
  const value = get(name);
  return all.find((each) => each === value) ?? otherwise;
}
