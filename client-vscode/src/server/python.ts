/**
 * Which Python the private environment is made from, and what is said where none will do.
 *
 * Candidates are asked for their version and whether they can make environments. Choosing is pure;
 * it must never know VS Code.
 */

import { t } from "../l10n";
import type { Program } from "./lookup";

/** The oldest that the server runs on. */
export const OLDEST = [3, 11] as const;

/** Gets one where there is none; a version for which wheels are made everywhere. */
const UV = "uv python install 3.13"; // words: not for people

/** What a candidate said. */
export interface Python {
  /** The program itself, links resolved by Python. */
  readonly path: string;
  readonly major: number;
  readonly minor: number;
  /** Whether it has `venv` and `ensurepip`; Debian ships them apart. */
  readonly canMakeEnvironments: boolean;
}

/** A candidate that is no Python, or none that runs. */
export interface BrokenPython {
  readonly command: string;
  readonly reply: string;
}

/** What came of asking all candidates, the preferred first. */
export interface AskedPythons {
  readonly pythons: readonly Python[];
  readonly broken: readonly BrokenPython[];
}

/** Why none will do, in words, with the command that fixes it. */
export interface NoPython {
  readonly why: string;
  readonly command?: string;
}

/** Prints what `readPython` reads. */
export const PYTHON_PROBE = [
  "import importlib.util as u, json, sys", // words: not for people
  "able = all(u.find_spec(name) for name in ('venv', 'ensurepip'))", // words: not for people
  "print(json.dumps([sys.executable, *sys.version_info[:2], able]))",
].join("\n");

/** What the probe printed, or None where that was something else. */
export function readPython(output: string): Python | undefined {
  let value: unknown;
  try {
    value = JSON.parse(output);
  } catch {
    return undefined;
  }
  if (!Array.isArray(value)) {
    return undefined;
  }
  const [path, major, minor, able] = value as readonly unknown[];
  if (typeof path !== "string" || typeof major !== "number" || typeof minor !== "number") {
    return undefined;
  }
  return { path, major, minor, canMakeEnvironments: able === true };
}

/** Names to look for on PATH, the newest first. */
export function pythonNames(platform: NodeJS.Platform): readonly string[] {
  const versioned = [14, 13, 12, 11].map((minor) => `python3.${minor}`);
  return platform === "win32" ? ["py", "python", "python3"] : [...versioned, "python3", "python"];
}

/**
 * How a program that was found under one of these names is asked to be Python.
 *
 * Windows' launcher is asked for the newest and for each that wheels may be made for: what is there
 * besides is not on PATH by name.
 */
export function callsOf(path: string): readonly Program[] {
  if (!/(?:^|[\\/])py\.exe$/i.test(path)) {
    return [{ command: path, args: [] }];
  }
  const versions = ["-3", "-3.14", "-3.13", "-3.12", "-3.11"];
  return versions.map((version) => ({ command: path, args: [version] }));
}

/** Folders in which tools for Python put it, and which an editor's PATH often lacks. */
export function usualFolders(platform: NodeJS.Platform, home: string): readonly string[] {
  switch (platform) {
    case "win32":
      // The launcher is in a folder that is on every PATH.
      return [];
    case "darwin":
      return ["/opt/homebrew/bin", "/usr/local/bin", `${home}/.local/bin`];
    default:
      return ["/usr/local/bin", "/usr/bin", `${home}/.local/bin`];
  }
}

/** Why this one will not do; None where it will. */
export function whyNot(python: Python): string | undefined {
  const { major, minor } = python;
  if (major !== OLDEST[0] || minor < OLDEST[1]) {
    return t("it is Python {0}, and {1} or newer is needed", `${major}.${minor}`, oldest());
  }
  if (!python.canMakeEnvironments) {
    return t(
      "it cannot create virtual environments: venv or ensurepip is missing (Debian: python3-venv)",
    );
  }
  return undefined;
}

/** What is said where none of these will do; `named` is the setting, or empty. */
export function whyNoPython(
  { pythons, broken }: AskedPythons,
  named: string,
  platform: NodeJS.Platform,
): NoPython {
  if (named !== "") {
    const [python, other] = [pythons[0], broken[0]];
    const because =
      (python === undefined ? undefined : whyNot(python)) ??
      other?.reply ??
      t("it printed nothing");
    const why = t(
      "The setting {0} points to {1}, which cannot be used: {2}. Select another Python, or clear the setting.",
      "ralphLoop.server.python",
      named,
      because,
    );
    return { why, ...venvCommand(python, platform) };
  }
  const unable = pythons.find((python) => isNewEnough(python));
  if (unable !== undefined) {
    return {
      why: t(
        "Python {0} ({1}) cannot create virtual environments. On Debian or Ubuntu, install {2} and try again.",
        version(unable),
        unable.path,
        venvPackage(unable),
      ),
      ...venvCommand(unable, platform),
    };
  }
  const [newest] = [...pythons].sort((a, b) => b.major - a.major || b.minor - a.minor);
  const [first] = broken;
  const found =
    newest !== undefined
      ? t("The newest Python here is {0} ({1}).", version(newest), newest.path)
      : first !== undefined
        ? t("No working Python was found: {0} printed “{1}”.", first.command, oneLine(first.reply))
        : t("No Python was found.");
  const needs = t(
    "Ralph's server needs Python {0} or newer. Install it from python.org or with uv, then try again.",
    oldest(),
  );
  return { why: `${found} ${needs}`, command: UV };
}

/**
 * The minor versions of Python 3 that wheels are for, by their file names; None where they fit any.
 *
 * `pydantic_core-2.41.5-cp311-cp311-manylinux….whl` is for 3.11 alone; `abi3` fits all later ones.
 */
export function wheelsAreFor(names: readonly string[]): readonly number[] | undefined {
  const bound = names.flatMap((name) => {
    const minor = /-cp3(\d+)-cp3\d+-/.exec(name)?.[1];
    return minor === undefined ? [] : [Number(minor)];
  });
  return bound.length === 0 ? undefined : [...new Set(bound)];
}

function isNewEnough({ major, minor }: Python): boolean {
  return major === OLDEST[0] && minor >= OLDEST[1];
}

function venvCommand(
  python: Python | undefined,
  platform: NodeJS.Platform,
): { readonly command?: string } {
  const helps = platform === "linux" && python !== undefined && isNewEnough(python);
  return helps && !python.canMakeEnvironments
    ? { command: `sudo apt install ${venvPackage(python)}` } // words: not for people
    : {};
}

function venvPackage(python: Python): string {
  return `python${version(python)}-venv`; // words: not for people
}

function version({ major, minor }: Python): string {
  return `${major}.${minor}`;
}

function oldest(): string {
  return OLDEST.join(".");
}

function oneLine(reply: string): string {
  return reply.trim().split("\n").at(-1)?.trim().slice(0, 200) ?? "";
}
