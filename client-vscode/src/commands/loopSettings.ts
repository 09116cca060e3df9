/**
 * Settings of the loop that are changed in VS Code's Settings: written where the loop reads them.
 *
 * A change of a folder's or workspace's settings goes to `.ralph/config.toml` of its folders, one of
 * the user's own settings to the user's own configuration. Only changes are written, never what is
 * there when the window opens: the file is what holds.
 */

import * as vscode from "vscode";

import { LOOP_SETTINGS } from "../generated/protocol";
import { t } from "../l10n";
import { toRefusal, type Connection } from "../server/connection";
import type { Store } from "../state/store";

type Name = keyof typeof LOOP_SETTINGS;

/** Where a value was set: for the user, or for a folder by its URI. */
interface Place {
  readonly user: boolean;
  readonly folder: string;
}

const NAMES = Object.keys(LOOP_SETTINGS) as Name[];

export class LoopSettings implements vscode.Disposable {
  /** The values as they were seen last, by place and name. */
  private known = new Map<string, string>();
  private readonly listening: vscode.Disposable;
  private queue: Promise<void> = Promise.resolve();

  constructor(
    private readonly store: Store,
    private readonly connection: Connection,
    private readonly log: vscode.LogOutputChannel,
  ) {
    this.known = this.read();
    this.listening = vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration("ralphLoop.run")) {
        this.changed();
      }
    });
  }

  dispose(): void {
    this.listening.dispose();
  }

  private changed(): void {
    const before = this.known;
    this.known = this.read();
    for (const place of this.places()) {
      for (const name of NAMES) {
        const key = keyOf(place, name);
        const value = this.known.get(key);
        if (value !== before.get(key)) {
          this.queue = this.queue.then(() => this.write(place, name, value));
        }
      }
    }
  }

  private async write(
    { user, folder }: Place,
    name: Name,
    value: string | undefined,
  ): Promise<void> {
    const key = LOOP_SETTINGS[name];
    try {
      const { text } = await this.connection.request("ralph/configure", {
        workspace: folder,
        key,
        user,
        ...(value === undefined ? {} : { value }),
      });
      this.log.info(text);
      vscode.window.setStatusBarMessage(t("Ralph: {0}", text.split("\n", 1)[0] ?? ""), 5000);
    } catch (error) {
      const { message } = toRefusal(error);
      this.log.warn(`ralph/configure ${key}: ${message}`);
      void vscode.window.showWarningMessage(
        t("The setting {0} was not written: {1}", key, message),
      );
    }
  }

  private read(): Map<string, string> {
    const found = new Map<string, string>();
    for (const place of this.places()) {
      for (const name of NAMES) {
        const value = valueAt(place, name);
        if (value !== undefined) {
          found.set(keyOf(place, name), value);
        }
      }
    }
    return found;
  }

  private places(): readonly Place[] {
    const folders = this.store.snapshot.folders.map(({ uri }) => uri);
    const [first] = folders;
    return [
      ...(first === undefined ? [] : [{ user: true, folder: first }]),
      ...folders.map((folder) => ({ user: false, folder })),
    ];
  }
}

/** The value as it would be typed; undefined where none is set there. */
function valueAt({ user, folder }: Place, name: Name): string | undefined {
  const found = vscode.workspace
    .getConfiguration(undefined, vscode.Uri.parse(folder))
    .inspect<unknown>(name);
  const value = user ? found?.globalValue : (found?.workspaceFolderValue ?? found?.workspaceValue);
  return (typeof value === "string" && value.trim() !== "") || typeof value === "number"
    ? String(value).trim()
    : undefined;
}

function keyOf({ user, folder }: Place, name: Name): string {
  return JSON.stringify([user, folder, name]);
}
