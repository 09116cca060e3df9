/** Asks programs questions, always by arguments and never through a shell. */

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, dirname, isAbsolute, join } from "node:path";

import { readIdentity, type Identity, type Program } from "./lookup";
import { PYTHON_PROBE, readPython, type Python } from "./python";

/** Milliseconds after which a program that does not answer is no candidate. */
const PATIENCE = 30_000;

/** What a program that should be our server says of itself. */
export async function identify({ command, args }: Program): Promise<Identity> {
  try {
    return readIdentity(await output(command, [...args, "--version"], PATIENCE));
  } catch (error) {
    return { kind: "other", said: failure(error) };
  }
}

/** Asks each candidate in turn; those that do not answer as a Python are left out. */
export async function askPythons(
  candidates: readonly Program[],
  tell: (line: string) => void,
): Promise<readonly Python[]> {
  const found: Python[] = [];
  for (const { command, args } of candidates) {
    try {
      const python = readPython(
        await output(command, [...args, "-I", "-c", PYTHON_PROBE], PATIENCE),
      );
      if (python !== undefined && !found.some(({ path }) => path === python.path)) {
        found.push(python);
      }
    } catch (error) {
      tell(`${command} will not do: ${failure(error)}`);
    }
  }
  return found;
}

/** Runs to the end; rejects with the end of what it printed. */
export async function run({ command, args }: Program): Promise<void> {
  await output(command, args, 0);
}

/** The program of this name on PATH. Relative entries would lead into the open folder. */
export function onPath(name: string): string | undefined {
  const endings = process.platform === "win32" ? [".exe"] : [""];
  for (const folder of (process.env["PATH"] ?? "").split(delimiter)) {
    for (const ending of endings) {
      const path = join(folder, `${name}${ending}`);
      if (isAbsolute(folder) && existsSync(path)) {
        return path;
      }
    }
  }
  return undefined;
}

/** Another program in the folder of this one. */
export function beside(path: string, name: string): string | undefined {
  const other = join(dirname(path), process.platform === "win32" ? `${name}.exe` : name);
  return existsSync(other) ? other : undefined;
}

async function output(command: string, args: readonly string[], timeout: number): Promise<string> {
  // What the editor was started with must not reach into another Python.
  const environment = { ...process.env };
  delete environment["PYTHONHOME"];
  delete environment["PYTHONPATH"];
  return await new Promise((resolve, reject) => {
    execFile(
      command,
      [...args],
      { timeout, windowsHide: true, env: environment, maxBuffer: 16 * 1024 * 1024 },
      (error, stdout, stderr) => {
        if (error === null) {
          resolve(stdout);
        } else {
          const said = `${stdout}\n${stderr}`.trim().slice(-2000);
          reject(new Error(said === "" ? error.message : said, { cause: error }));
        }
      },
    );
  });
}

function failure(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
