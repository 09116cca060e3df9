/**
 * Which server is used: the one that is named, the environment's, or the one that came along.
 *
 * Only the order is known here; how a program is asked who it is, and how an environment is made,
 * is handed in. It must never know VS Code.
 */

import { t } from "../l10n";
import type { Remedy } from "../state/snapshot";

/** A program with arguments, started without a shell. */
export interface Program {
  readonly command: string;
  readonly args: readonly string[];
}

/** A server that was asked who it is. */
export interface FoundServer {
  /** Speaks LSP once `--stdio` follows. */
  readonly server: Program;
  /** The command line of the same version; None where only the server was named. */
  readonly cli: Program | undefined;
  readonly version: string;
  /** In words: where it comes from. */
  readonly from: string;
}

export type Lookup =
  | { readonly kind: "found"; readonly found: FoundServer }
  | {
      readonly kind: "missing";
      readonly why: string;
      readonly remedy: Remedy;
      /** The command that fixes it, typed into a terminal. */
      readonly command?: string;
      /** An attempt to install it failed. */
      readonly attempted?: boolean;
    };

export interface LookupSettings {
  /** `ralphLoop.server.path`, or empty. */
  readonly path: string;
  readonly importStrategy: "bundled" | "environment";
}

/** What a program says of itself. */
export type Identity =
  | { readonly kind: "ours"; readonly version: string }
  | { readonly kind: "other"; readonly reply: string };

export interface Probes {
  /** Asks `--version`; never throws. */
  identify(program: Program): Promise<Identity>;
  /** Programs named `ralph-ls` of the selected Python and on PATH, in this order. */
  environment(): Promise<readonly { readonly path: string; readonly from: string }[]>;
  /** Another program in the same folder, if it is there. */
  beside(path: string, name: string): string | undefined;
  /** The private environment, made where it is not there yet. */
  bundled(): Promise<Lookup>;
  /** Notified of what was skipped, and why. */
  report(line: string): void;
}

/** The first that is ours and fits; a path that the user has set is never skipped. */
export async function findServer(
  settings: LookupSettings,
  ourVersion: string,
  probes: Probes,
): Promise<Lookup> {
  if (settings.path !== "") {
    return await named(settings.path, probes);
  }
  if (settings.importStrategy === "environment") {
    for (const { path, from } of await probes.environment()) {
      const identity = await probes.identify({ command: path, args: [] });
      if (identity.kind === "other") {
        probes.report(`${path} (${from}) is not our server: ${identity.reply}`); // words: not for people
      } else if (!fits(identity.version, ourVersion)) {
        probes.report(
          `${path} (${from}) is ralph-ls ${identity.version}; this extension needs ${ourVersion}`,
        );
      } else {
        return found(path, identity.version, from, probes);
      }
    }
    probes.report("no ralph-ls that fits in the environment: taking the bundled one"); // words: not for people
  }
  return await probes.bundled();
}

/** What `--version` has to print; anything else is another program of the same name. */
export function readIdentity(output: string): Identity {
  const version = /^ralph-ls (\d+\.\d+\.\d+\S*)\s*$/.exec(output)?.[1];
  if (version !== undefined) {
    return { kind: "ours", version };
  }
  const [first = ""] = output.trim().split("\n");
  return {
    kind: "other",
    reply: first === "" ? t("it printed nothing") : t('it printed "{0}"', first),
  };
}

/** Whether a server of this version speaks as the extension does; before 1.0 each minor differs. */
export function fits(version: string, ourVersion: string): boolean {
  const parts = (text: string): readonly string[] => text.split(".");
  const [theirs, ours] = [parts(version), parts(ourVersion)];
  return theirs[0] === ours[0] && (ours[0] !== "0" || theirs[1] === ours[1]);
}

async function named(path: string, probes: Probes): Promise<Lookup> {
  const identity = await probes.identify({ command: path, args: [] });
  if (identity.kind === "ours") {
    return found(path, identity.version, t("the setting {0}", "ralphLoop.server.path"), probes);
  }
  return {
    kind: "missing",
    why: t(
      "The setting {0} points to {1}, which is not ralph-ls: {2}.",
      "ralphLoop.server.path",
      path,
      identity.reply,
    ),
    remedy: "setting",
  };
}

function found(path: string, version: string, from: string, probes: Probes): Lookup {
  const cli = probes.beside(path, "ralph");
  return {
    kind: "found",
    found: {
      server: { command: path, args: [] },
      cli: cli === undefined ? undefined : { command: cli, args: [] },
      version,
      from,
    },
  };
}
