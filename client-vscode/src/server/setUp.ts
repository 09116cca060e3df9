/**
 * Finds the server for this window, and makes its environment where there is none yet.
 *
 * Here the rules of `lookup.ts` and `environment.ts` meet VS Code: its storage, its settings, the
 * progress in the Loop view, and the Python that another extension has selected.
 */

import { dirname } from "node:path";

import * as vscode from "vscode";

import { lookupSettings, setServer } from "../settings";
import type { Store } from "../state/store";
import { bundledServer } from "./environment";
import { findServer, type Lookup, type Program } from "./lookup";
import { askPythons, beside, identify, onPath, run } from "./processes";
import { pythonNames } from "./python";

export class SetUp {
  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly store: Store,
    private readonly log: vscode.LogOutputChannel,
  ) {}

  /** The server to start. Rejects where its environment could not be made. */
  async find(mayUseIndex: boolean): Promise<Lookup> {
    const settings = lookupSettings();
    const tell = (line: string): void => {
      this.log.info(line);
    };
    return await findServer(settings, this.version, {
      identify,
      environment: () => this.ofEnvironment(),
      beside,
      bundled: () => this.bundled(settings.python, mayUseIndex),
      tell,
    });
  }

  /** Ask for the Python that the environment is made from; whether one was chosen. */
  async selectPython(): Promise<boolean> {
    const pythons = await askPythons(await this.candidates(""), () => undefined);
    const browse = { label: "$(folder-opened) Browse…", path: "" };
    const items = pythons.map(({ path, major, minor }) => ({
      label: `Python ${major}.${minor}`,
      description: path,
      path,
    }));
    const picked = await vscode.window.showQuickPick([...items, browse], {
      title: "Python for Ralph's server (3.11 or newer)",
    });
    const path = picked === browse ? await browsePython() : picked?.path;
    if (path === undefined) {
      return false;
    }
    await setServer("server.python", path);
    return true;
  }

  /** Ask before pip goes to its index; whether it may. */
  async mayUseIndex(): Promise<boolean> {
    const install = {
      label: "$(cloud-download) Install with pip",
      detail: "Fetches what the server needs from the package index that pip is set up for, once.",
    };
    const copy = {
      label: "$(copy) Copy the command instead",
      detail: "Install ralph-ls yourself, then set ralphLoop.server.path.",
    };
    const picked = await vscode.window.showQuickPick([install, copy], {
      title: "Install Ralph's server in an environment of its own",
      ignoreFocusOut: true,
    });
    if (picked === copy) {
      const wheels = vscode.Uri.joinPath(this.context.extensionUri, "wheels").fsPath;
      const command = `python3 -m pip install --find-links "${wheels}" "ralph-ls==${this.version}"`;
      await vscode.env.clipboard.writeText(command);
    }
    return picked === install;
  }

  private get version(): string {
    const manifest = this.context.extension.packageJSON as { version: string };
    return manifest.version;
  }

  private async bundled(python: string, mayUseIndex: boolean): Promise<Lookup> {
    const { extensionUri, globalStorageUri } = this.context;
    const steps = new Steps(this.store, this.log);
    const tell = (line: string): void => {
      this.log.info(line);
    };
    try {
      return await bundledServer(
        {
          storage: globalStorageUri.fsPath,
          wheels: vscode.Uri.joinPath(extensionUri, "wheels").fsPath,
          version: this.version,
          python,
          mayUseIndex,
        },
        {
          pythons: async () => await askPythons(await this.candidates(python), tell),
          run: async (program) => {
            this.log.info([program.command, ...program.args].join(" "));
            await run(program);
          },
          identify,
          step: (text) => {
            steps.next(text);
          },
          tell,
        },
      );
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
    const paths = pythonNames(process.platform).flatMap((name) => onPath(name) ?? []);
    return [
      ...(selected === undefined ? [] : [{ command: selected, args: [] }]),
      ...paths.map((command) => ({
        command,
        args: /[\\/]py\.exe$/i.test(command) ? ["-3"] : [],
      })),
    ];
  }

  private async ofEnvironment(): Promise<readonly { path: string; from: string }[]> {
    const python = await this.selectedPython();
    const selected = python === undefined ? undefined : beside(python, "ralph-ls");
    const found = onPath("ralph-ls");
    return [
      ...(selected === undefined ? [] : [{ path: selected, from: "the selected Python" }]),
      ...(found === undefined ? [] : [{ path: found, from: "PATH" }]),
    ];
  }

  /** What the Python extension has selected, where it is there and the folder is trusted. */
  private async selectedPython(): Promise<string | undefined> {
    const extension = vscode.extensions.getExtension<unknown>("ms-python.python");
    // A repository may bring a Python of its own, and asking it is running it.
    if (extension === undefined || !vscode.workspace.isTrusted) {
      return undefined;
    }
    try {
      const api = (await extension.activate()) as PythonApi | undefined;
      return api?.environments?.getActiveEnvironmentPath?.()?.path;
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

async function browsePython(): Promise<string | undefined> {
  const [uri] =
    (await vscode.window.showOpenDialog({
      title: "Python for Ralph's server",
      canSelectMany: false,
      defaultUri: vscode.Uri.file(dirname(process.execPath)),
    })) ?? [];
  return uri?.fsPath;
}
