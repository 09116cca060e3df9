/**
 * An agent's output for readers: its decoded messages line by line, or its plain text.
 *
 * Pure; the vocabulary is that of `ralph/messages`, which is also that of the file beside the journal.
 */

import type { Message } from "../generated/protocol";
import { count } from "../intl";
import { t } from "../l10n";

/** Bytes in, whole lines out: what is cut off waits for the rest. */
export class Lines {
  private readonly decoder = new TextDecoder();
  private rest = "";

  feed(bytes: Uint8Array): readonly string[] {
    const parts = (this.rest + this.decoder.decode(bytes, { stream: true })).split("\n");
    this.rest = parts.pop() ?? "";
    return parts;
  }
}

/** One line of the messages' file for people; empty where it is about another start. */
export function renderLine(line: string, start: number): string {
  let message: Message;
  try {
    message = JSON.parse(line) as Message;
  } catch {
    return "";
  }
  // Files of earlier versions call the start the iteration.
  const named: { readonly start?: number; readonly iteration?: number } = message;
  return (named.start ?? named.iteration) === start ? renderMessage(message) : "";
}

/** Words, tools, files and the agent's own list; each ends its line. */
export function renderMessage(message: Message): string {
  switch (message.kind) {
    case "text":
      return ensureEnd(withoutAnsi(message.text));
    case "tool": {
      const what = [message.name, message.summary].filter((part) => part !== "").join(" ");
      return `[tool] ${what}${message.state === "started" ? "" : ` (${message.state})`}\n`;
    }
    case "file":
      return `[file] ${message.action} ${message.path}\n`;
    case "todo":
      return message.items
        .map(({ text, state }) => `[todo] ${TODO_MARKS[state]} ${text}\n`)
        .join("");
    case "usage":
      return "";
    default:
      // One of a newer server.
      return "";
  }
}

/** The text without colours and cursor movements. */
export function withoutAnsi(text: string): string {
  return text.replaceAll(ANSI, "").replaceAll("\r\n", "\n").replaceAll("\r", "\n");
}

/** The end of a text that is too long, from a whole line on, with a word about what is left out. */
export function cutToEnd(text: string, most: number): string {
  if (text.length <= most) {
    return text;
  }
  const from = text.indexOf("\n", text.length - most) + 1;
  const kept = text.slice(from === 0 ? text.length - most : from);
  const left = count(text.length - kept.length);
  return `${t("… {0} earlier characters omitted", left)}\n${kept}`;
}

/** By how many lines a change makes a document longer. */
export function linesAdded(
  changes: readonly {
    readonly text: string;
    readonly range: { readonly start: { line: number }; readonly end: { line: number } };
  }[],
): number {
  return changes.reduce(
    (sum, { text, range }) =>
      sum + text.split("\n").length - 1 - (range.end.line - range.start.line),
    0,
  );
}

/** Whether a reader had the end in view before the last line became `last`. */
export function wasAtEnd(seenTo: readonly number[], last: number, added: number): boolean {
  return Math.max(0, ...seenTo) >= last - added;
}

const TODO_MARKS = { pending: "[ ]", inProgress: "[~]", done: "[x]" } as const;

/** CSI and OSC sequences, and the two-character escapes. */
// eslint-disable-next-line no-control-regex -- these characters are what is looked for
const ANSI = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\-_])/g;

function ensureEnd(text: string): string {
  return text.endsWith("\n") ? text : `${text}\n`;
}
