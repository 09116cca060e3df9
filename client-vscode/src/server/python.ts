/**
 * Which Python the private environment is made from.
 *
 * Candidates are asked for their version and whether they can make environments. Choosing is pure;
 * it must never know VS Code.
 */

/** The oldest that the server runs on. */
export const OLDEST = [3, 11] as const;

/** What a candidate said. */
export interface Python {
  /** The program itself, links resolved by Python. */
  readonly path: string;
  readonly major: number;
  readonly minor: number;
  /** Whether it has `venv` and `ensurepip`; Debian ships them apart. */
  readonly canMakeEnvironments: boolean;
}

/** Prints what `readPython` reads. */
export const PYTHON_PROBE = [
  "import importlib.util as u, json, sys",
  "able = all(u.find_spec(name) for name in ('venv', 'ensurepip'))",
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

/** Why this one will not do; None where it will. */
export function whyNot(python: Python): string | undefined {
  const { major, minor } = python;
  if (major !== OLDEST[0] || minor < OLDEST[1]) {
    return `it is Python ${major}.${minor}, and ${OLDEST.join(".")} or newer is needed`;
  }
  if (!python.canMakeEnvironments) {
    return "it cannot make environments: it lacks venv or ensurepip (Debian: python3-venv)";
  }
  return undefined;
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
