/** Asks programs questions, always by arguments and never through a shell. */

import { execFile } from "node:child_process";
import { existsSync, realpathSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, delimiter, dirname, isAbsolute, join, relative } from "node:path";

import { pythonCode } from "./isolated";
import { readIdentity, type Identity, type Program } from "./lookup";
import {
  callsOf,
  PYTHON_PROBE,
  pythonNames,
  readPython,
  usualFolders,
  type AskedPythons,
  type BrokenPython,
  type Python,
} from "./python";

/** Milliseconds after which a program that does not answer is no candidate. */
const PATIENCE = 30_000;

/** Bytes of output that are kept; of a failure only its end is shown. */
const MOST_OUTPUT = 16 * 1024 * 1024;

/** What a program that should be our server says of itself. */
export async function identify({ command, args }: Program): Promise<Identity> {
  try {
    return readIdentity(await output(command, [...args, "--version"], { timeout: PATIENCE }));
  } catch (error) {
    return { kind: "other", reply: failure(error) };
  }
}

/** Asks each candidate, all at once; what answers as a Python keeps its place among them. */
export async function askPythons(
  candidates: readonly Program[],
  report: (line: string) => void,
): Promise<AskedPythons> {
  const pythons: Python[] = [];
  const broken: BrokenPython[] = [];
  const known = new Set<string>();
  const answers = await Promise.all(candidates.map(askPython));
  answers.forEach((answer, at) => {
    if ("path" in answer) {
      // One that several links lead to is one.
      if (!known.has(realPath(answer.path))) {
        known.add(realPath(answer.path));
        pythons.push(answer);
      }
      return;
    }
    const { command, args } = candidates[at] ?? { command: "", args: [] };
    const called = [command, ...args].join(" ");
    report(`${called} will not do: ${answer.reply}`);
    broken.push({ command: called, reply: answer.reply });
  });
  return { pythons, broken };
}

/** Runs to the end; rejects with the end of what it printed, or where it is ended by the signal. */
export async function run({ command, args }: Program, signal?: AbortSignal): Promise<void> {
  await output(command, args, signal === undefined ? {} : { signal });
}

/** Every Python that the user might have, the preferred first; none of the open folders'. */
export function installedPythons(
  open: readonly string[],
  platform = process.platform,
): readonly Program[] {
  const folders = [...pathEntries(), ...usualFolders(platform, homedir())];
  const paths = pythonNames(platform).flatMap((name) => onPaths(name, folders, open));
  const isStub = (path: string): boolean => platform === "darwin" && isMacStub(path);
  return [...new Set(paths)].filter((path) => !isStub(path)).flatMap(callsOf);
}

/** The first program of this name on PATH, and none that an open folder brings. */
export function onPath(name: string, open: readonly string[]): string | undefined {
  return onPaths(name, pathEntries(), open)[0];
}

/**
 * Whether a program is in one of the open folders, by its path or where its links lead.
 *
 * To ask such a program for its version is to run it. A `.venv/bin/python` that is a link to the
 * system's Python counts too: that Python runs what the folder around it names at its start. Who
 * opens their whole home has their own programs in it.
 */
export function isBrought(path: string, open: readonly string[]): boolean {
  const programs = [path, realPath(path), join(realPath(dirname(path)), basename(path))];
  return open
    .filter((folder) => !isInside(homedir(), folder))
    .flatMap((folder) => [folder, realPath(folder)])
    .some((folder) => programs.some((program) => isInside(program, folder)));
}

function isInside(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way === "" || !(isAbsolute(way) || way.split(/[\\/]/, 1)[0] === "..");
}

/** Another program in the folder of this one. */
export function beside(path: string, name: string): string | undefined {
  const other = join(dirname(path), process.platform === "win32" ? `${name}.exe` : name);
  return existsSync(other) ? other : undefined;
}

/**
 * Whether a process of any user runs from this folder; undefined if that cannot be known.
 *
 * On Windows nothing has to be asked: a folder from which a program runs cannot be renamed there.
 */
export async function isInUse(folder: string): Promise<boolean | undefined> {
  switch (process.platform) {
    case "win32":
      return false;
    case "linux":
      return await isInUseOnLinux(folder);
    default:
      try {
        return (await output("/bin/ps", ["-axo", "args="], { timeout: PATIENCE })).includes(folder);
      } catch {
        return undefined;
      }
  }
}

/** Small systems have no `ps`, but all of them have this. */
async function isInUseOnLinux(folder: string): Promise<boolean | undefined> {
  try {
    const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
    const lines = await Promise.all(
      // One that ends meanwhile has no line any more.
      pids.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")),
    );
    return lines.some((line) => line.includes(folder));
  } catch {
    return undefined;
  }
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

async function askPython(python: Program): Promise<Python | { readonly reply: string }> {
  try {
    const options = { timeout: PATIENCE };
    const { command, args } = pythonCode(python, PYTHON_PROBE);
    const reply = await output(command, args, options);
    return readPython(reply) ?? { reply: reply.trim() };
  } catch (error) {
    return { reply: failure(error) };
  }
}

/** All programs of this name. A relative entry would lead into the open folder. */
function onPaths(
  name: string,
  folders: readonly string[],
  open: readonly string[],
): readonly string[] {
  const file = process.platform === "win32" ? `${name}.exe` : name;
  return folders.filter(isAbsolute).flatMap((folder) => {
    const path = join(folder, file);
    return existsSync(path) && !isBrought(path, open) ? [path] : [];
  });
}

function pathEntries(): readonly string[] {
  return (process.env["PATH"] ?? "").split(delimiter);
}

/**
 * Without Apple's developer tools this is a stub, and to call it opens a window that offers them.
 *
 * With them the Python itself is in one of these folders.
 */
function isMacStub(path: string): boolean {
  const tools = [
    "/Library/Developer/CommandLineTools/usr/bin/python3",
    "/Applications/Xcode.app/Contents/Developer/usr/bin/python3",
  ];
  return path === "/usr/bin/python3" && !tools.some((tool) => existsSync(tool));
}

interface OutputOptions {
  readonly timeout?: number;
  readonly signal?: AbortSignal;
}

async function output(
  command: string,
  args: readonly string[],
  options: OutputOptions,
): Promise<string> {
  // What the editor was started with must not reach into another Python.
  const environment = { ...process.env };
  delete environment["PYTHONHOME"];
  delete environment["PYTHONPATH"];
  return await new Promise((resolve, reject) => {
    execFile(
      command,
      [...args],
      {
        ...options,
        // Where the editor was started may be a repository, and version managers look there.
        cwd: homedir(),
        windowsHide: true,
        env: environment,
        maxBuffer: MOST_OUTPUT,
      },
      (error, stdout, stderr) => {
        if (error === null) {
          resolve(stdout);
        } else {
          const reply = `${stdout}\n${stderr}`.trim().slice(-2000);
          reject(new Error(reply === "" ? error.message : reply, { cause: error }));
        }
      },
    );
  });
}

function failure(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
