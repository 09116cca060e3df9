/**
 * The server's process: started without a shell, and ended for sure.
 *
 * What it says on standard error and how it ends goes to the log. A run that it started has a
 * process and session apart, and is never touched. Does not import VS Code.
 */

import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { homedir } from "node:os";

import { t } from "../l10n";
import type { Program } from "./lookup";

/** Milliseconds for a server that was asked to leave. */
const PATIENCE = 2000;

/** Milliseconds after which an unreported end counts as one. */
const KILLED_BY = 5000;

/** Milliseconds for its last words, once it has ended. */
const LAST_WORDS = 500;

export interface ServerLog {
  info(line: string): void;
  warn(line: string): void;
  error(line: string): void;
}

export interface ServerProcess {
  readonly child: ChildProcessWithoutNullStreams;
  /** In words: how it ended. */
  readonly ended: Promise<string>;
  /** Wait for its end, and force it where it does not come. */
  end(): Promise<void>;
}

/** Start it; rejects where there is no such program. */
export async function launch(
  { command, args }: Program,
  log: ServerLog,
  patience = PATIENCE,
): Promise<ServerProcess> {
  const child = spawn(command, [...args], { cwd: homedir(), windowsHide: true });
  await new Promise<void>((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", reject);
  });
  // From here on an error is one of a signal or a pipe; how it ends says enough.
  child.on("error", (error) => {
    log.error(`the server's process: ${error.message}`);
  });
  let isWanted = false;
  const output = new Lines((line) => {
    report(line, log);
  });
  child.stderr.setEncoding("utf8").on("data", (data: string) => {
    output.add(data);
  });
  const closed = new Promise((resolve) => child.once("close", resolve));
  const exited = new Promise<{ code: number | null; signal: string | null }>((resolve) => {
    child.once("exit", (code, signal) => {
      resolve({ code, signal });
    });
  });
  const ended = exited.then(async ({ code, signal }) => {
    // Another process may have inherited its standard error: then nothing reports that it is closed.
    await within(closed, LAST_WORDS);
    output.end();
    const how =
      signal === null ? t("it ended with code {0}", code ?? "?") : t("it was ended by {0}", signal);
    const line = `the server (pid ${child.pid ?? "?"}) is gone: ${how}`; // words: not for people
    if (isWanted) {
      log.info(line);
    } else {
      log.error(line);
    }
    return code === 0 || output.last === "" ? how : `${how}: ${output.last}`;
  });
  const end = async (): Promise<void> => {
    isWanted = true;
    if (!(await within(ended, patience))) {
      // Windows has no signals: there this ends it at once, which is what is wanted here.
      child.kill("SIGKILL");
      await within(ended, KILLED_BY);
    }
  };
  return { child, ended, end };
}

/** Whether it came in time. */
async function within(ended: Promise<unknown>, milliseconds: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => {
      resolve(false);
    }, milliseconds);
  });
  const came = await Promise.race([ended.then(() => true), late]);
  clearTimeout(timer);
  return came;
}

/** A line of the server's own log, at the level that it names. */
function report(line: string, log: ServerLog): void {
  if (/^(?:ERROR|CRITICAL)\b/.test(line)) {
    log.error(line);
  } else if (/^WARNING\b/.test(line)) {
    log.warn(line);
  } else {
    log.info(line);
  }
}

/** Whole lines of a stream; the last one says of a traceback what it was. */
class Lines {
  last = "";
  private rest = "";

  constructor(private readonly take: (line: string) => void) {}

  add(data: string): void {
    const parts = `${this.rest}${data}`.split("\n");
    this.rest = parts.pop() ?? "";
    for (const line of parts) {
      this.give(line);
    }
  }

  end(): void {
    this.give(this.rest);
    this.rest = "";
  }

  private give(line: string): void {
    if (line.trim() !== "") {
      this.last = line.trim().slice(0, 300);
      this.take(line.trimEnd());
    }
  }
}
