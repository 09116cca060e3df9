/** What the agent says, as the Loop view lists it: the newest lines, folded and without protocol blocks. */

import type { FileMessage, Message, Tone } from "../generated/protocol";
import { count } from "../intl";
import { t } from "../l10n";
import type { LoopSnapshot } from "./messages";
import { duration } from "./model";

/** How many of the agent's lines are kept. */
export const MAX_LINES = 20;

/** One line of what the agent says. */
export interface Line {
  readonly kind: "text" | "tool" | "file" | "todo";
  readonly text: string;
  readonly tone: Tone;
  /** The tool call that it is about, where a later message may end it. */
  readonly call: string;
  /** The file that it is about; empty where there is none. */
  readonly path: string;
  /** Whether a tool call has ended, and how long it took. */
  readonly isEnded: boolean;
  readonly seconds?: number;
}

/** What the agent of one run said last. */
export interface Feed {
  readonly workspace: string;
  readonly run: string;
  readonly lines: readonly Line[];
  /** Whether a status block has begun and not ended: the facts show what is in it. */
  readonly inBlock?: boolean;
}

/** Before anything was said. */
export const NO_FEED: Feed = { workspace: "", run: "", lines: [] };

/** The feed with what was said since; another run begins with an empty one. */
export function withMessages(
  feed: Feed,
  workspace: string,
  run: string,
  messages: readonly Message[],
): Feed {
  const isSame = feed.workspace === workspace && feed.run === run;
  let lines = isSame ? feed.lines : [];
  let inBlock = isSame && feed.inBlock === true;
  for (const message of messages) {
    if (message.kind === "text") {
      const { words, open } = withoutBlocks(message.text.split("\n"), inBlock);
      inBlock = open;
      lines = [...lines, ...words.slice(-MAX_LINES).map((text) => line("text", text))];
    } else {
      lines = withMessage(lines, message);
    }
  }
  return { workspace, run, lines: lines.slice(-MAX_LINES), inBlock };
}

/** How many lines back a tool may be that touched a file. */
const NEAR = 3;

/** ` · 2s` of a tool that has ended, `…` of one that runs; a call without an id never says so. */
function tookWords({ kind, call, seconds, isEnded }: Line): string {
  if (kind !== "tool" || call === "" || (isEnded && seconds === undefined)) {
    return "";
  }
  if (!isEnded) {
    return " …";
  }
  const took = seconds ?? 0;
  return ` · ${took < 1 ? t("{0}s", took.toFixed(1)) : duration(took)}`;
}

/** The lines as they are read: paths from the work tree on, and each file once. */
export function feedLines({ lines }: Feed, { state }: LoopSnapshot): readonly Line[] {
  const root = state?.run?.workspace ?? "";
  const short = (text: string): string =>
    root === "" ? text : text.replaceAll(`${root}/`, "").replaceAll(`${root}\\`, "");
  const shown: Line[] = [];
  for (const each of lines) {
    const path = short(each.path);
    // What a tool did to its file is the tool's own line.
    const isSaid =
      each.kind === "file" &&
      shown.slice(-NEAR).some(({ kind, text }) => kind === "tool" && text.includes(path));
    if (!isSaid) {
      shown.push({ ...each, text: short(each.text) + tookWords(each), path });
    }
  }
  return shown;
}

/** The feed as it is for this snapshot: that of another run or folder is none. */
export function feedFor(feed: Feed, snapshot: LoopSnapshot): Feed {
  const run = snapshot.state?.run?.run;
  const fits = feed.workspace === snapshot.workspace && (run === undefined || feed.run === run);
  return fits ? feed : NO_FEED;
}

/** What is not empty, and in no status block or promise: those are for the engine to read. */
function withoutBlocks(
  lines: readonly string[],
  inBlock: boolean,
): { readonly words: readonly string[]; readonly open: boolean } {
  let open = inBlock;
  const words: string[] = [];
  for (const line of lines) {
    const wasOpen = open;
    const mark = /^\W*(END_)?(?:RALPH|CLARITY)_STATUS\W*$/i.exec(line);
    open = mark === null ? open : mark[1] === undefined;
    const isHidden = wasOpen || open || mark !== null;
    // The card has the question or the blocker that a promise makes of it.
    const rest = isHidden ? "" : line.replaceAll(/<promise>.*?(?:<\/promise>|$)/gi, "");
    if (rest.trim() !== "") {
      words.push(rest);
    }
  }
  return { words, open };
}

function withMessage(
  lines: readonly Line[],
  message: Exclude<Message, { kind: "text" }>,
): readonly Line[] {
  switch (message.kind) {
    case "tool": {
      const text = [message.name, message.summary].filter((part) => part !== "").join(" ");
      const tone: Tone = message.state === "failed" ? "bad" : "plain";
      const at = message.call === "" ? -1 : lines.findLastIndex((l) => l.call === message.call);
      const earlier = at < 0 ? undefined : lines[at];
      const isEnded = message.state !== "started";
      const took = message.seconds === undefined ? {} : { seconds: message.seconds };
      if (earlier === undefined) {
        return [...lines, { ...line("tool", text), tone, call: message.call, isEnded, ...took }];
      }
      return lines.with(at, { ...earlier, tone, isEnded, ...took });
    }
    case "file":
      return [...lines, line("file", fileWords(message.action, message.path), message.path)];
    case "todo": {
      const done = message.items.filter(({ state }) => state === "done").length;
      const words = t(
        "agent's to-do list: {0} of {1} done",
        count(done),
        count(message.items.length),
      );
      return [...lines, line("todo", words)];
    }
    case "usage":
      return lines;
    default:
      // One of a newer server.
      return lines;
  }
}

function fileWords(action: FileMessage["action"], path: string): string {
  switch (action) {
    case "read":
      return t("read {0}", path);
    case "created":
      return t("created {0}", path);
    case "changed":
      return t("changed {0}", path);
    case "deleted":
      return t("deleted {0}", path);
  }
}

function line(kind: Line["kind"], text: string, path = ""): Line {
  return { kind, text, tone: "plain", call: "", path, isEnded: false };
}
