/**
 * Finds the server for this window, and makes its environment where there is none yet.
 *
 * Here the rules of `lookup.ts` and `environment.ts` meet VS Code: its storage, its settings, the
 * progress in the Loop view, and the Python that another extension has selected.
 */

import { homedir } from "node:os";

import * as vscode from "vscode";

import { t } from "../l10n";
import { lookupSettings, setServer } from "../settings";
import type { Store } from "../state/store";
import { bundledServer } from "./environment";
import { whyNotInstalled } from "./explain";
import { findServer, type Lookup, type Program } from "./lookup";
import type { Lookups, Wishes } from "./connection";
import {
  askPythons,
  beside,
  identify,
  installedPythons,
  isBrought,
  isInUse,
  onPath,
  run,
} from "./processes";
import { whyNot } from "./python";

/** The key under which it is kept that pip may ask its index: the user is asked once. */
const MAY_USE_INDEX = "server.mayUseIndex";

/** Another way to a server than the card's button. */
export type OtherWay =
  "restartServer" | "selectPython" | "copyCommand" | "serverSettings" | "showOutput";

export class SetUp implements Lookups, vscode.Disposable {
  /** Ends what is being installed when the window closes. */
  private readonly closing = new AbortController();

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly store: Store,
    private readonly log: vscode.LogOutputChannel,
  ) {}

  /** The server to start. Rejects where something happened that nobody foresaw. */
  async find(wishes: Wishes): Promise<Lookup> {
    const settings = lookupSettings();
    const report = (line: string): void => {
      this.log.info(line);
    };
    return await findServer(settings, this.version, {
      identify,
      environment: () => this.ofEnvironment(),
      beside,
      bundled: () => this.bundled(settings.python, wishes),
      report,
    });
  }

  dispose(): void {
    this.closing.abort();
  }

  /** Ask for the Python that the environment is made from; whether one was chosen. */
  async selectPython(): Promise<boolean> {
    const { pythons } = await askPythons(await this.candidates(""), () => undefined);
    const browse = { label: `$(folder-opened) ${t("Browse…")}`, path: "" };
    const items = pythons.map((python) => {
      const { path, major, minor } = python;
      const detail = whyNot(python);
      const label = `Python ${major}.${minor}`; // words: not for people
      return { label, description: path, path, ...(detail === undefined ? {} : { detail }) };
    });
    const picked = await vscode.window.showQuickPick([...items, browse], {
      title: t("Python for Ralph's server (3.11 or newer)"),
    });
    const path = picked === browse ? await browsePython() : picked?.path;
    if (path === undefined) {
      return false;
    }
    await setServer("server.python", path);
    return true;
  }

  /** The user pressed the button of the card that says what pip would fetch: this holds for updates. */
  async allowIndex(): Promise<void> {
    await this.context.globalState.update(MAY_USE_INDEX, true);
  }

  /** The other ways to a server; the command of the one that was chosen. */
  async otherWays(): Promise<OtherWay | undefined> {
    const { server } = this.store.snapshot;
    const canCopy = server.kind === "missing" && server.command !== undefined;
    const ways: readonly (vscode.QuickPickItem & { readonly way: OtherWay })[] = [
      { way: "restartServer", label: `$(refresh) ${t("Try Again")}` },
      { way: "selectPython", label: `$(search) ${t("Select Python…")}` },
      ...(canCopy
        ? [
            {
              way: "copyCommand" as const,
              label: `$(copy) ${t("Copy the command")}`,
              detail: server.command,
            },
          ]
        : []),
      {
        way: "serverSettings",
        label: `$(gear) ${t("Use another server")}`,
        detail: t("Install ralph-ls yourself, then set ralphLoop.server.path."),
      },
      { way: "showOutput", label: `$(output) ${t("Show Output")}` },
    ];
    return (await vscode.window.showQuickPick(ways, { title: t("One-time setup") }))?.way;
  }

  /** The command that fixes it, copied to the clipboard. */
  async copyCommand(): Promise<void> {
    const { server } = this.store.snapshot;
    if (server.kind === "missing" && server.command !== undefined) {
      await vscode.env.clipboard.writeText(server.command);
      vscode.window.setStatusBarMessage(t("Copied: {0}", server.command), 10_000);
    }
  }

  private get version(): string {
    const manifest = this.context.extension.packageJSON as { version: string };
    return manifest.version;
  }

  private async bundled(python: string, { mayUseIndex, doubted }: Wishes): Promise<Lookup> {
    const { extensionUri, globalStorageUri, globalState } = this.context;
    const { platform } = process;
    const steps = new Steps(this.store, this.log);
    const report = (line: string): void => {
      this.log.info(line);
    };
    const plan = {
      storage: globalStorageUri.fsPath,
      wheels: vscode.Uri.joinPath(extensionUri, "wheels").fsPath,
      version: this.version,
      python,
      mayUseIndex: mayUseIndex || globalState.get<unknown>(MAY_USE_INDEX) === true,
      doubted,
      platform,
    };
    try {
      return await bundledServer(plan, {
        pythons: async () => await askPythons(await this.candidates(python), report),
        run: async (program) => {
          this.log.info([program.command, ...program.args].join(" "));
          await run(program, this.closing.signal);
        },
        identify,
        isInUse,
        step: (text) => {
          steps.next(text);
        },
        report,
      });
    } catch (error) {
      this.log.error(error instanceof Error ? error : String(error));
      return whyNotInstalled(error, plan);
    } finally {
      steps.end();
    }
  }

  /** The Python that is set, or else all that might do, the selected one first. */
  private async candidates(named: string): Promise<readonly Program[]> {
    if (named !== "") {
      return [{ command: named, args: [] }];
    }
    const selected = await this.selectedPython();
    return [
      ...(selected === undefined ? [] : [{ command: selected, args: [] }]),
      ...installedPythons(openFolders()),
    ];
  }

  private async ofEnvironment(): Promise<readonly { path: string; from: string }[]> {
    const python = await this.selectedPython();
    const selected = python === undefined ? undefined : beside(python, "ralph-ls");
    const found = onPath("ralph-ls", openFolders());
    return [
      ...(selected === undefined ? [] : [{ path: selected, from: t("the selected Python") }]),
      ...(found === undefined ? [] : [{ path: found, from: "PATH" }]),
    ];
  }

  /** What the Python extension has selected, unless an open folder brings it. */
  private async selectedPython(): Promise<string | undefined> {
    const extension = vscode.extensions.getExtension<unknown>("ms-python.python");
    if (extension === undefined || !vscode.workspace.isTrusted) {
      return undefined;
    }
    try {
      const api = (await extension.activate()) as PythonApi | undefined;
      const path = api?.environments?.getActiveEnvironmentPath?.()?.path;
      // That extension takes the `.venv` that it finds in a repository; asking it is running it.
      if (path !== undefined && isBrought(path, openFolders())) {
        this.log.info(`${path} is in the open folder and is not run`); // words: not for people
        return undefined;
      }
      return path;
    } catch (error) {
      this.log.info(`the Python extension does not say which Python is selected: ${String(error)}`);
      return undefined;
    }
  }
}

/** What is used of the Python extension's own interface. */
interface PythonApi {
  readonly environments?: {
    readonly getActiveEnvironmentPath?: () => { readonly path?: string } | undefined;
  };
}

/** The steps of an installation: in the snapshot, in the log, and as a bar over the Loop view. */
class Steps {
  private finish: (() => void) | undefined;

  constructor(
    private readonly store: Store,
    private readonly log: vscode.LogOutputChannel,
  ) {}

  next(step: string): void {
    this.log.info(`setting up: ${step}`);
    this.store.apply({ kind: "server", health: { kind: "installing", step } });
    if (this.finish === undefined) {
      const done = new Promise<void>((resolve) => {
        this.finish = resolve;
      });
      void vscode.window.withProgress({ location: { viewId: "ralphLoop.loop" } }, () => done);
    }
  }

  end(): void {
    this.finish?.();
  }
}

/** What a repository brings is in one of these. */
function openFolders(): readonly string[] {
  return (vscode.workspace.workspaceFolders ?? []).map(({ uri }) => uri.fsPath);
}

async function browsePython(): Promise<string | undefined> {
  const [uri] =
    (await vscode.window.showOpenDialog({
      title: t("Python for Ralph's server (3.11 or newer)"),
      canSelectMany: false,
      defaultUri: vscode.Uri.file(homedir()),
    })) ?? [];
  return uri?.fsPath;
}
