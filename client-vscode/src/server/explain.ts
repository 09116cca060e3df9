/**
 * The message when the private environment could not be made, and what the user can do instead.
 *
 * The tools' own words stay in the output channel; here is what they mean. Pure: it must never know
 * VS Code.
 */

import { join } from "node:path";

import { t } from "../l10n";
import { typedModule } from "./isolated";
import type { Lookup } from "./lookup";

/** What an explanation needs to know of the attempt. */
export interface Attempt {
  readonly storage: string;
  /** The folder with our own wheel, whose name holds this version. */
  readonly wheels: string;
  readonly version: string;
  readonly platform: NodeJS.Platform;
}

/** The lookup's answer after a step failed. */
export function whyNotInstalled(error: unknown, attempt: Attempt): Lookup {
  const output = error instanceof Error ? error.message : String(error);
  const code = (error as { readonly code?: unknown } | null | undefined)?.code;
  if (isOfDisk(error)) {
    return setting(
      t(
        "The server could not be installed: the disk is full. Free 60 MB in {0} and try again.",
        attempt.storage,
      ),
    );
  }
  if (typeof code === "string" && CANNOT_WRITE.has(code)) {
    return setting(
      t(
        "The server could not be installed: cannot write to {0} ({1}). Fix its permissions, or set ralphLoop.server.path.",
        attempt.storage,
        code,
      ),
    );
  }
  // pip reports the network first and says "no matching distribution" in the end.
  if (NO_NETWORK.test(output)) {
    return install(
      t(
        "The server could not be installed: pip could not reach its package index. Connect to the network and try again, or set ralphLoop.server.path.",
      ),
      attempt,
    );
  }
  const lacking = /No matching distribution found for (\S+)/.exec(output)?.[1];
  if (lacking !== undefined) {
    return install(
      t(
        "The server could not be installed: no wheel of {0} fits this machine. Install it with pip from your package index, or set ralphLoop.server.path.",
        lacking,
      ),
      attempt,
    );
  }
  const why = t("The server could not be installed: {0}", lastLine(output));
  return install(why, attempt);
}

/** Whether the disk is full, which no other Python would change. */
export function isOfDisk(error: unknown): boolean {
  const output = error instanceof Error ? error.message : String(error);
  const code = (error as { readonly code?: unknown } | null | undefined)?.code;
  return code === "ENOSPC" || /No space left on device|not enough space/i.test(output);
}

/** What makes an environment with the server by hand, typed into a terminal. */
export function installCommand({ platform, wheels, version }: Omit<Attempt, "storage">): string {
  const wheel = join(wheels, `ralph_ls-${version}-py3-none-any.whl`);
  // In quotes: paths of people have blanks in them. By the file: an index may have another of our
  // name. A home directory is written as its shell does, so that the command can be read.
  if (platform === "win32") {
    const folder = '"%USERPROFILE%\\.ralph-ls"';
    const pip = '"%USERPROFILE%\\.ralph-ls\\Scripts\\pip"';
    return `${typedModule("py -3", "venv")} ${folder} && ${pip} install "${wheel}"`; // words: not for people
  }
  const quoted = `'${wheel.replaceAll("'", "'\\''")}'`;
  return `${typedModule("python3", "venv")} ~/.ralph-ls && ~/.ralph-ls/bin/pip install ${quoted}`; // words: not for people
}

/** Also what Node says of a folder that it could not make on a read-only disk. */
const CANNOT_WRITE = new Set(["EACCES", "EPERM", "EROFS", "ENOTDIR", "EEXIST", "ENOENT"]);

const NO_NETWORK = new RegExp(
  [
    "Failed to establish a new connection",
    "NewConnectionError",
    "ProxyError",
    "Cannot connect to proxy",
    "name resolution",
    "getaddrinfo failed",
    "Network is unreachable",
    "Connection (?:refused|reset|aborted|timed out)",
    "ConnectTimeoutError",
    "Max retries exceeded",
  ].join("|"),
);

function setting(why: string): Lookup {
  return { kind: "missing", why, remedy: "setting" };
}

function install(why: string, attempt: Attempt): Lookup {
  const command = installCommand(attempt);
  return { kind: "missing", why, remedy: "install", command, attempted: true };
}

/** Of what a tool printed: its last word says what went wrong. */
function lastLine(output: string): string {
  return output.trim().split("\n").at(-1)?.trim() ?? output;
}
