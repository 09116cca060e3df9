/**
 * The private environment: a Python environment with our server, in the extension's own storage.
 *
 * It is made aside and renamed when its server has said who it is, so that one that was interrupted
 * is never taken for whole. Two windows do not make it twice. What has an environment in use, such
 * as a detached run, keeps it. Does not import VS Code.
 */

import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { t } from "../l10n";
import { installCommand, isOfDisk } from "./explain";
import { pythonCode, pythonModule } from "./isolated";
import { isAlive, withLock } from "./lock";
import type { FoundServer, Identity, Lookup, Program } from "./lookup";
import { wheelsAreFor, whyNoPython, whyNot, type AskedPythons, type Python } from "./python";

/** Written last; holds which interpreter the environment was made from. */
const READY = "ready.json";

/** Where it cannot be known whether it is in use, an environment is removed after this time unused. */
const KEPT_FOR = 14 * 24 * 3600 * 1000;

/** A half-made environment is removed after this time, whichever process has its pid by then. */
const HALF_MADE_FOR = 24 * 3600 * 1000;

/** Starts the server without its script, whose first line names the folder before the rename. */
const START = "from ralph_ls.cli.main import run_language_server as run; run()";

export interface EnvironmentPlan {
  /** The folder of the environments: the extension's global storage. */
  readonly storage: string;
  /** The folder with the wheels that came along. */
  readonly wheels: string;
  readonly version: string;
  /** `ralphLoop.server.python`, or empty: then any that fits. */
  readonly python: string;
  /** Whether pip may ask its index: only after the user said so. */
  readonly mayUseIndex: boolean;
  /** The server that is there died before it answered: see whether it can start at all. */
  readonly doubted: boolean;
  readonly platform: NodeJS.Platform;
}

export interface EnvironmentTools {
  /** What came of asking every candidate. */
  pythons(): Promise<AskedPythons>;
  /** Runs to the end without a shell; rejects with what it printed where it fails. */
  run(program: Program): Promise<void>;
  identify(program: Program): Promise<Identity>;
  /** Whether anything runs from this folder; undefined if that cannot be known. */
  isInUse(folder: string): Promise<boolean | undefined>;
  /** Notified of each step, in words for the user. */
  step(text: string): void;
  report(line: string): void;
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
      why: t("This build of the extension contains no server. Set ralphLoop.server.path."),
      remedy: "setting",
    };
  }
  const content = await readFile(join(plan.wheels, own));
  const prefix = `server-${plan.version}-${shortHash(content)}-`;
  const ready = await findReady(plan, prefix);
  if (ready !== undefined && !(plan.doubted && (await isBroken(ready, tools)))) {
    await cleanUp(plan.storage, prefix, tools);
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
  tools.step(t("looking for Python"));
  const asked = await tools.pythons();
  const able = asked.pythons.filter((python) => {
    const why = whyNot(python);
    if (why !== undefined) {
      tools.report(`${python.path} will not do: ${why}`);
    }
    return why === undefined;
  });
  if (able.length === 0) {
    const { why, command } = whyNoPython(asked, plan.python, plan.platform);
    return {
      kind: "missing",
      why,
      remedy: "python",
      ...(command === undefined ? {} : { command }),
    };
  }
  const minors = wheelsAreFor(wheels.others);
  const fitting =
    wheels.others.length === 0
      ? []
      : able.filter(({ minor }) => minors === undefined || minors.includes(minor));
  if (fitting.length === 0 && !plan.mayUseIndex) {
    return {
      kind: "missing",
      why: t(
        "Ralph's server is installed once, in a separate environment. This downloads about 10 MB from your pip package index.",
      ),
      remedy: "install",
      command: installCommand(plan),
    };
  }
  await mkdir(plan.storage, { recursive: true });
  const waits = (): void => {
    tools.step(t("waiting for another window to finish setup"));
  };
  const lock = join(plan.storage, "install.lock");
  const folder = await withLock(
    lock,
    async () => {
      const made = await findReady(plan, prefix);
      const pythons = fitting.length === 0 ? able : fitting;
      const offline = fitting.length > 0;
      return made ?? (await install(plan, tools, prefix, { ...wheels, pythons, offline }));
    },
    { waits },
  );
  await cleanUp(plan.storage, prefix, tools);
  return found(folder, plan.version);
}

interface Ingredients extends Wheels {
  /** In the order in which they are tried. */
  readonly pythons: readonly Python[];
  /** Whether the wheels that came along are made for them. */
  readonly offline: boolean;
}

/** Make it aside, see that it works, and put it in its place. Rejects where a step fails. */
async function install(
  plan: EnvironmentPlan,
  tools: EnvironmentTools,
  prefix: string,
  ingredients: Ingredients,
): Promise<string> {
  await removeHalfMade(plan.storage, tools);
  const aside = join(plan.storage, `${prefix}${process.pid}.new`);
  await rm(aside, { recursive: true, force: true });
  try {
    const python = await makeEmpty(aside, ingredients.pythons, tools);
    await fill(plan, tools, aside, ingredients);
    tools.step(t("testing the server"));
    const identity = await tools.identify(serverIn(aside));
    if (identity.kind === "other") {
      throw new Error(t("the installed server does not start: {0}", identity.reply));
    }
    const ready = { python: python.path, asked: plan.python, version: identity.version };
    await writeFile(join(aside, READY), JSON.stringify(ready));
    const asked = plan.python === "" ? "" : `-${shortHash(plan.python)}`;
    const folder = join(plan.storage, `${prefix}py${python.major}.${python.minor}${asked}`);
    return await putInPlace(plan, prefix, aside, folder);
  } catch (error) {
    await rm(aside, { recursive: true, force: true });
    throw error;
  }
}

/** An environment with nothing in it but pip, from the first Python that can make one. */
async function makeEmpty(
  aside: string,
  pythons: readonly Python[],
  tools: EnvironmentTools,
): Promise<Python> {
  let failed: unknown;
  for (const python of pythons) {
    tools.step(t("creating an environment with Python {0}", `${python.major}.${python.minor}`));
    try {
      const made: Program = { command: python.path, args: [] };
      await tools.run(pythonModule(made, "venv", "--without-pip", aside));
      // Apart, since venv keeps to itself what pip's own installation says of a failure.
      await tools.run(pythonModule(programIn(aside), "ensurepip", "--default-pip"));
      return python;
    } catch (error) {
      tools.report(`${python.path} made no environment: ${String(error)}`);
      failed ??= error;
      if (isOfDisk(error)) {
        break;
      }
      await rm(aside, { recursive: true, force: true });
    }
  }
  throw failed;
}

/** Put the server into it: from the wheels that came along, and from an index only if it may. */
async function fill(
  plan: EnvironmentPlan,
  tools: EnvironmentTools,
  aside: string,
  { own, offline }: Ingredients,
): Promise<void> {
  // By its file: another package of our name in an index is never a candidate.
  const options = ["--disable-pip-version-check", "--no-input", "--find-links", plan.wheels];
  const pip = async (source: readonly string[]): Promise<void> => {
    const wheel = join(plan.wheels, own);
    await tools.run(pythonModule(programIn(aside), "pip", "install", ...source, ...options, wheel));
  };
  if (offline) {
    tools.step(t("installing the server"));
    try {
      await pip(["--isolated", "--no-index"]);
      return;
    } catch (error) {
      if (!plan.mayUseIndex) {
        throw error;
      }
      tools.report(`the wheels that came along will not do: ${String(error)}`);
    }
  }
  tools.step(t("installing the server with pip"));
  await pip([]);
}

/** The folder that holds it from now on. */
async function putInPlace(
  plan: EnvironmentPlan,
  prefix: string,
  aside: string,
  folder: string,
): Promise<string> {
  const made = await findReady(plan, prefix);
  if (made !== undefined) {
    // Somebody who took our lock for a dead one's was faster, and may run from it already.
    await rm(aside, { recursive: true, force: true });
    return made;
  }
  // What is there now has lost the Python that it was made from, or its server.
  await rm(folder, { recursive: true, force: true });
  await rename(aside, folder);
  return folder;
}

/** An environment of this version that is whole, and made from what the setting asks for. */
async function findReady(plan: EnvironmentPlan, prefix: string): Promise<string | undefined> {
  for (const name of await namesIn(plan.storage)) {
    const folder = join(plan.storage, name);
    if (name.startsWith(prefix) && !isHalfMade(name) && existsSync(pythonIn(folder))) {
      const asked = await readAsked(join(folder, READY));
      if (asked !== undefined && (plan.python === "" || asked === plan.python)) {
        const now = new Date();
        // A folder that can only be read serves as well.
        await utimes(join(folder, READY), now, now).catch(() => undefined);
        return folder;
      }
    }
  }
  return undefined;
}

/** Whether its server cannot start any more, as after its Python was replaced; then it is no more. */
async function isBroken(folder: string, tools: EnvironmentTools): Promise<boolean> {
  const identity = await tools.identify(serverIn(folder));
  if (identity.kind === "ours") {
    return false;
  }
  tools.report(`the server in ${folder} does not start and is made anew: ${identity.reply}`);
  await rm(join(folder, READY), { force: true });
  return true;
}

async function readAsked(path: string): Promise<string | undefined> {
  try {
    const ready = JSON.parse(await readFile(path, "utf8")) as { asked?: unknown };
    return typeof ready.asked === "string" ? ready.asked : undefined;
  } catch {
    return undefined;
  }
}

/** Remove what earlier versions left; whatever goes wrong with that can wait. */
async function cleanUp(storage: string, prefix: string, tools: EnvironmentTools): Promise<void> {
  await removeHalfMade(storage, tools);
  for (const name of await namesIn(storage)) {
    const folder = join(storage, name);
    const isOld = name.startsWith("server-") && !name.startsWith(prefix) && !isHalfMade(name);
    if (isOld && (await mayGo(folder, tools))) {
      tools.report(`removing ${folder}, which nobody uses`);
      await remove(folder, tools);
    }
  }
}

async function mayGo(folder: string, tools: EnvironmentTools): Promise<boolean> {
  const inUse = await tools.isInUse(folder);
  return inUse === undefined ? (await ageOf(join(folder, READY), folder)) > KEPT_FOR : !inUse;
}

/** Take away what an installation left that was ended in the middle. */
async function removeHalfMade(storage: string, tools: EnvironmentTools): Promise<void> {
  for (const name of (await namesIn(storage)).filter(isHalfMade)) {
    const folder = join(storage, name);
    const maker = Number(/(\d+)\.(?:new|old)$/.exec(name)?.[1]);
    if (!isAlive(maker) || (await ageOf(folder)) > HALF_MADE_FOR) {
      tools.report(`removing ${folder}, which was never finished`);
      await rm(folder, { recursive: true, force: true }).catch((error: unknown) => {
        tools.report(`${folder} stays for now: ${String(error)}`);
      });
    }
  }
}

/** As one rename first: nobody ever finds half of it, and what runs from it on Windows stops us. */
async function remove(folder: string, tools: EnvironmentTools): Promise<void> {
  const away = `${folder}.${process.pid}.old`;
  try {
    await rename(folder, away);
    await rm(away, { recursive: true, force: true });
  } catch (error) {
    tools.report(`${folder} stays for now: ${String(error)}`);
  }
}

function isHalfMade(name: string): boolean {
  return name.startsWith("server-") && /\.(?:new|old)$/.test(name);
}

/** Milliseconds since the first of these that is there was changed. */
async function ageOf(...paths: readonly string[]): Promise<number> {
  for (const path of paths) {
    const found = await stat(path).catch(() => undefined);
    if (found !== undefined) {
      return Date.now() - found.mtimeMs;
    }
  }
  return 0;
}

function shortHash(content: string | Buffer): string {
  return createHash("sha256").update(content).digest("hex").slice(0, 8);
}

function found(folder: string, version: string): Lookup {
  const server: FoundServer = {
    server: serverIn(folder),
    cli: pythonModule(programIn(folder), "ralph_ls"),
    version,
    from: folder,
  };
  return { kind: "found", found: server };
}

function serverIn(folder: string): Program {
  return pythonCode(programIn(folder), START);
}

function programIn(folder: string): Program {
  return { command: pythonIn(folder), args: [] };
}

function pythonIn(folder: string): string {
  return process.platform === "win32"
    ? join(folder, "Scripts", "python.exe") // words: not for people
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
