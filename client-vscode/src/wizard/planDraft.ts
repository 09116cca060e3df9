/**
 * The items of the plan to be, as a text that the user edits: one item a line.
 *
 * It is the wizard's own way of writing, and no plan: what becomes of the items in a plan's format
 * the server knows. Every line can be read, so that nothing typed is lost.
 */

import type { Priority } from "../generated/protocol";
import { t } from "../l10n";
import type { Item } from "./answers";

/** The draft of these items. */
export function writeDraft(items: readonly Item[]): string {
  const help = t(
    "One item per line: - [x] includes it, - [ ] leaves it out. P0 is high priority, P1 standard, P2 nice to have. Indent details below their item. Lines that start with # are ignored.",
  );
  const lines = items.flatMap(({ title, priority, detail, isTicked }) => [
    `- [${isTicked ? "x" : " "}] ${priority} ${title}`,
    ...(detail === "" ? [] : detail.split("\n").map((line) => `      ${line}`.trimEnd())),
  ]);
  return [`# ${help}`, "", ...lines, ""].join("\n");
}

/** The items of a draft; whatever is at the beginning of a line is one. */
export function readDraft(draft: string): readonly Item[] {
  const items: Item[] = [];
  for (const line of draft.split(/\r?\n/)) {
    const last = items.at(-1);
    if (line.trim() === "" || line.startsWith("#")) {
      continue;
    }
    if (/^\s/.test(line) && last !== undefined) {
      const detail = last.detail === "" ? line.trim() : `${last.detail}\n${line.trim()}`;
      items[items.length - 1] = { ...last, detail };
    } else {
      items.push(readLine(line, items.length));
    }
  }
  return items.filter(({ title }) => title !== "");
}

function readLine(line: string, id: number): Item {
  const [, box, rest = ""] =
    /^(?:[-*+]\s+|\d+[.)]\s+)?(?:\[([ xX])\]\s*)?(.*)$/.exec(line.trim()) ?? [];
  const [, priority, title = ""] = /^(?:(P[0-2])\b[:\s]*)?(.*)$/.exec(rest.trim()) ?? [];
  return {
    id,
    title: title.trim(),
    priority: (priority as Priority | undefined) ?? "P1",
    detail: "",
    isTicked: box !== " ",
  };
}
