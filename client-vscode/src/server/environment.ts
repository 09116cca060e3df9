/**
 * The private environment: a Python environment with our server, in the extension's own storage.
 *
 * It is made aside and renamed when its server has said who it is, so that one that was interrupted
 * is never taken for whole. Two windows do not make it twice. What has an environment in use, such
 * as a run that goes on, keeps it: an old one is removed only when nobody has used it for long.
 * It must never know VS Code.
 */

import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { withLock } from "./lock";
import type { FoundServer, Identity, Lookup, Program } from "./lookup";
import { OLDEST, wheelsAreFor, whyNot, type Python } from "./python";

/** Written last; holds which interpreter the environment was made from. */
const READY = "ready.json";

/** An environment that nobody has used for so long goes away. */
const KEPT_FOR = 14 * 24 * 3600 * 1000;

/** Starts the server without its script, whose first line names the folder before the rename. */
const START = "from ralph_ls.cli.main import run_language_server as run; run()";

export interface EnvironmentPlan {
  /** Where environments lie: the extension's global storage. */
  readonly storage: string;
  /** The folder with the wheels that came along. */
  readonly wheels: string;
  readonly version: string;
  /** `ralphLoop.server.python`, or empty: then any that fits. */
  readonly python: string;
  /** Whether pip may ask its index: only after a person said so. */
  readonly mayUseIndex: boolean;
}

export interface EnvironmentTools {
  /** Every candidate that could be asked, in the order of preference. */
  pythons(): Promise<readonly Python[]>;
  /** Runs to the end without a shell; rejects with what it printed where it fails. */
  run(program: Program): Promise<void>;
  identify(program: Program): Promise<Identity>;
  /** Told of each step, in words for a person. */
  step(text: string): void;
  tell(line: string): void;
}

/** The server of the private environment, which is made where it is not there yet. */
export async function bundledServer(
  plan: EnvironmentPlan,
  tools: EnvironmentTools,
): Promise<Lookup> {
  const wheels = await wheelsIn(plan.wheels);
  const own = wheels.find((name) => name.startsWith("ralph_ls-"));
  if (own === undefined) {
    return {
      kind: "missing",
      why: "This build of the extension brings no server. Set ralphLoop.server.path.",
      remedy: "setting",
    };
  }
  const content = await readFile(join(plan.wheels, own));
  const prefix = `server-${plan.version}-${shortHash(content)}-`;
  const ready = await findReady(plan, prefix);
  if (ready !== undefined) {
    await removeOld(plan.storage, prefix, tools);
    return found(ready, plan.version);
  }
  return await make(plan, tools, prefix, { own, others: wheels.filter((name) => name !== own) });
}

interface Wheels {
  readonly own: string;
  readonly others: readonly string[];
}

async function make(
  plan: EnvironmentPlan,
  tools: EnvironmentTools,
  prefix: string,
  wheels: Wheels,
): Promise<Lookup> {
  tools.step("looking for Python");
  const able: Python[] = [];
  for (const python of await tools.pythons()) {
    const why = whyNot(python);
    if (why === undefined) {
      able.push(python);
    } else {
      tools.tell(`${python.path} will not do: ${why}`);
    }
  }
  const [first] = able;
  if (first === undefined) {
    const named = plan.python === "" ? "" : ` ${plan.python} will not do.`;
    const why = `Python ${OLDEST.join(".")} or newer was not found.${named} Install one, or select it.`;
    return { kind: "missing", why, remedy: "python" };
  }
  const minors = wheelsAreFor(wheels.others);
  const fitting =
    wheels.others.length === 0
      ? undefined
      : able.find(({ minor }) => minors === undefined || minors.includes(minor));
  if (fitting === undefined && !plan.mayUseIndex) {
    const why =
      "The server is not installed yet. It needs pip and its package index once; " +
      "or set ralphLoop.server.path.";
    return { kind: "missing", why, remedy: "install" };
  }
  const python = fitting ?? first;
  const asked = plan.python === "" ? "" : `-${shortHash(plan.python)}`;
  const folder = join(plan.storage, `${prefix}py${python.major}.${python.minor}${asked}`);
  await mkdir(plan.storage, { recursive: true });
  return await withLock(join(plan.storage, "install.lock"), async () => {
    if ((await findReady(plan, prefix)) === undefined) {
      await install(plan, tools, python, folder, { ...wheels, offline: fitting !== undefined });
    }
    return found(folder, plan.version);
  });
}

/** Make it aside, see that it works, and put it in its place. Rejects where a step fails. */
async function install(
  plan: EnvironmentPlan,
  tools: EnvironmentTools,
  python: Python,
  folder: string,
  { own, offline }: Wheels & { readonly offline: boolean },
): Promise<void> {
  const aside = `${folder}.${process.pid}.new`;
  await rm(aside, { recursive: true, force: true });
  try {
    tools.step(`making an environment with Python ${python.major}.${python.minor}`);
    await tools.run({ command: python.path, args: ["-I", "-m", "venv", aside] });
    tools.step(offline ? "installing the server" : "installing the server with pip");
    // By its file: another package of our name in an index is never a candidate.
    const options = ["--disable-pip-version-check", "--no-input", "--find-links", plan.wheels];
    const source = offline ? ["--isolated", "--no-index"] : [];
    await tools.run({
      command: pythonIn(aside),
      args: ["-I", "-m", "pip", "install", ...source, ...options, join(plan.wheels, own)],
    });
    tools.step("trying the server");
    const identity = await tools.identify(serverIn(aside));
    if (identity.kind === "other") {
      throw new Error(`the installed server does not start: ${identity.said}`);
    }
    const ready = { python: python.path, asked: plan.python, version: identity.version };
    await writeFile(join(aside, READY), JSON.stringify(ready));
    // What is there now has lost the Python that it was made from.
    await rm(folder, { recursive: true, force: true });
    await rename(aside, folder);
  } catch (error) {
    await rm(aside, { recursive: true, force: true });
    throw error;
  }
}

/** An environment of this version that is whole, and made from what the setting asks for. */
async function findReady(plan: EnvironmentPlan, prefix: string): Promise<string | undefined> {
  for (const name of await namesIn(plan.storage)) {
    const folder = join(plan.storage, name);
    if (name.startsWith(prefix) && !name.endsWith(".new") && existsSync(pythonIn(folder))) {
      const asked = await readAsked(join(folder, READY));
      if (asked !== undefined && (plan.python === "" || asked === plan.python)) {
        const now = new Date();
        await utimes(join(folder, READY), now, now);
        return folder;
      }
    }
  }
  return undefined;
}

async function readAsked(path: string): Promise<string | undefined> {
  try {
    const ready = JSON.parse(await readFile(path, "utf8")) as { asked?: unknown };
    return typeof ready.asked === "string" ? ready.asked : undefined;
  } catch {
    return undefined;
  }
}

async function removeOld(storage: string, prefix: string, tools: EnvironmentTools): Promise<void> {
  const oldest = Date.now() - KEPT_FOR;
  for (const name of await namesIn(storage)) {
    if (name.startsWith("server-") && !name.startsWith(prefix)) {
      const folder = join(storage, name);
      const used = await stat(join(folder, READY)).catch(() => stat(folder).catch(() => undefined));
      if (used !== undefined && used.mtimeMs < oldest) {
        tools.tell(`removing ${folder}, which nobody has used for two weeks`);
        await rm(folder, { recursive: true, force: true });
      }
    }
  }
}

function shortHash(content: string | Buffer): string {
  return createHash("sha256").update(content).digest("hex").slice(0, 8);
}

function found(folder: string, version: string): Lookup {
  const server: FoundServer = {
    server: serverIn(folder),
    cli: { command: pythonIn(folder), args: ["-m", "ralph_ls"] },
    version,
    from: folder,
  };
  return { kind: "found", found: server };
}

function serverIn(folder: string): Program {
  return { command: pythonIn(folder), args: ["-I", "-c", START] };
}

function pythonIn(folder: string): string {
  return process.platform === "win32"
    ? join(folder, "Scripts", "python.exe")
    : join(folder, "bin", "python");
}

async function wheelsIn(folder: string): Promise<readonly string[]> {
  return (await namesIn(folder)).filter((name) => name.endsWith(".whl"));
}

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return (await readdir(folder)).sort();
  } catch {
    return [];
  }
}
