/**
 * The words of a question as they are drawn, and as the user's input is read.
 *
 * Pure. An agent wrote what is shown here, so nothing in it may become markup; and as a screen
 * reader is handed the markdown itself, no more is escaped than has to be.
 */

import { t } from "../l10n";
import type { Option } from "./threadModel";

/** One row of the choices; `answer` is what the loop is sent. */
export interface Choice {
  readonly label: string;
  readonly answer: string;
  readonly alwaysShow?: boolean;
}

/** What is typed comes first, and stays whatever it is compared with; then the options. */
export function choicesFor(typed: string, options: readonly Option[]): readonly Choice[] {
  const text = typed.trim();
  const own =
    text === "" ? [] : [{ label: t("Answer: {0}", text), answer: text, alwaysShow: true }];
  return [...own, ...options.map(({ label, answer }) => ({ label: oneLine(label), answer }))];
}

/**
 * The answer, where a choice is accepted: Enter right after typing comes before the choices are
 * those for what was typed. Undefined: nothing was chosen or typed.
 */
export function acceptedAnswer(item: Choice | undefined, typed: string): string | undefined {
  const text = typed.trim();
  const isOption = item !== undefined && item.alwaysShow !== true;
  return isOption || text === "" ? item?.answer : text;
}

/** All of it in one line. */
export function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim();
}

/** Markdown that reads as this text, line by line. */
export function plainMarkdown(text: string): string {
  return text
    .split(/\r\n|\r|\n/)
    .map(escapeLine)
    .join("\n\n");
}

const NO_BREAK_SPACE = "\u00a0";

function escapeLine(line: string): string {
  const words = line.trimStart();
  // Four spaces would begin a block of code.
  const indent = NO_BREAK_SPACE.repeat(line.length - words.length);
  const inside = words.replaceAll(/[\\`*_[\]<>&~]/g, "\\$&");
  // What makes a heading, a list or a rule does so at the beginning of a line only.
  return indent + inside.replace(/^([-+=#]|\d+(?=[.)]))/, opening);
}

function opening(start: string): string {
  return /^\d/.test(start) ? `${start}\\` : `\\${start}`;
}
