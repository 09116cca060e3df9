/**
 * Python as a command line: the one place of the extension that builds one.
 *
 * Python puts the current folder first on its import path for `-m` and `-c`, and a task runs in the
 * folder that is open: a repository could bring a `json.py`, or a whole `ralph_ls`. `-I` takes the
 * current folder, `PYTHON*` variables and the user's own packages out. It must never know VS Code.
 */

import { delimiter, isAbsolute } from "node:path";

import type { Program } from "./lookup";

/** A module of this Python. */
export function pythonModule(
  { command, args }: Program,
  module: string,
  ...rest: readonly string[]
): Program {
  return { command, args: [...args, "-I", "-m", module, ...rest] };
}

/** A line of code for this Python. */
export function pythonCode({ command, args }: Program, code: string): Program {
  return { command, args: [...args, "-I", "-c", code] };
}

/** The same as typed into a terminal, up to the module's own arguments. */
export function typedModule(python: string, module: string): string {
  return `${python} -I -m ${module}`;
}

/**
 * What a program that is written in Python, and is started in an open folder, may find as
 * `PYTHONPATH`: an entry that is empty or relative is that folder.
 */
export function absoluteSearchPath(value: string | undefined): string {
  return (value ?? "").split(delimiter).filter(isAbsolute).join(delimiter);
}
