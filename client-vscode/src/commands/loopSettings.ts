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

/** The values that are set in one place, as they would be typed. */
type Values = ReadonlyMap<Name, string>;

const NAMES = Object.keys(LOOP_SETTINGS) as Name[];

/** Milliseconds within which the settings of a window or of a new folder have come. */
const ARRIVE_WITHIN = 1000;

export class LoopSettings implements vscode.Disposable {
  /** The values as they were seen last, by place. */
  private known: ReadonlyMap<string, Values> = new Map();
  private readonly listening: { dispose: () => void }[];
  private arriving: NodeJS.Timeout | undefined;
  private queue: Promise<void> = Promise.resolve();

  constructor(
    private readonly store: Store,
    private readonly connection: Connection,
    private readonly log: vscode.LogOutputChannel,
  ) {
    this.listening = [
      vscode.workspace.onDidChangeConfiguration((event) => {
        if (event.affectsConfiguration("ralphLoop.run")) {
          this.changed();
        }
      }),
      store.onDidChange(({ folders }, before) => {
        if (folders.length !== before.folders.length) {
          this.arrive();
        }
      }),
    ];
    this.arrive();
  }

  dispose(): void {
    clearTimeout(this.arriving);
    for (const listener of this.listening) {
      listener.dispose();
    }
  }

  /** Look soon what is set where nothing was looked at yet: it is not there at first. */
  private arrive(): void {
    clearTimeout(this.arriving);
    this.arriving = setTimeout(() => {
      const { known } = this;
      this.known = new Map([...this.read()].map(([key, is]) => [key, known.get(key) ?? is]));
    }, ARRIVE_WITHIN);
  }

  private changed(): void {
    const before = this.known;
    this.known = this.read();
    for (const place of this.places()) {
      const was = before.get(keyOf(place));
      const is = this.known.get(keyOf(place));
      for (const name of NAMES) {
        const value = is?.get(name);
        // What a window or a new folder begins with nobody has changed here.
        if (was !== undefined && value !== was.get(name)) {
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

  private read(): ReadonlyMap<string, Values> {
    return new Map(this.places().map((place) => [keyOf(place), valuesAt(place)]));
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

/** To ask for the configuration of a folder makes all of it, so it is asked for once. */
function valuesAt({ user, folder }: Place): Values {
  const configuration = vscode.workspace.getConfiguration(undefined, vscode.Uri.parse(folder));
  const values = new Map<Name, string>();
  for (const name of NAMES) {
    const found = configuration.inspect<unknown>(name);
    const value = user
      ? found?.globalValue
      : (found?.workspaceFolderValue ?? found?.workspaceValue);
    if ((typeof value === "string" && value.trim() !== "") || typeof value === "number") {
      values.set(name, String(value).trim());
    }
  }
  return values;
}

function keyOf({ user, folder }: Place): string {
  return user ? "user" : folder;
}
