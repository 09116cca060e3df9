/**
 * A language that nobody speaks: accented letters, 40 % longer, each text between ⟦ and ⟧.
 *
 * Made from the bundle as a translator would make one, so that a text that is missing there stays
 * plain. Placeholders and what is typed, such as `ralph` commands and setting keys, stay as they are.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";

export type Bundle = Readonly<Record<string, string>>;

/** The English texts of the extension. */
export const BUNDLE = JSON.parse(
  readFileSync(join(import.meta.dirname, "../l10n/bundle.l10n.json"), "utf8"),
) as Bundle;

const ACCENTED: Readonly<Record<string, string>> = {
  a: "á",
  e: "é",
  i: "í",
  o: "ö",
  u: "ü",
  n: "ñ",
};
const KEPT = /\{\d+\}|`[^`]*`|\b[\w-]+(?:\.[\w-]+)+|\n/u;

export const PSEUDO_BUNDLE: Bundle = Object.fromEntries(
  Object.entries(BUNDLE).map(([key, text]) => [key, pseudo(text)]),
);

/** The text in that language. */
export function pseudo(text: string): string {
  const parts = text.split(new RegExp(`(${KEPT.source})`, "u"));
  const said = parts.map((part) =>
    KEPT.test(part) ? part : part.replaceAll(/[aeioun]/g, (letter) => ACCENTED[letter] ?? letter),
  );
  return `⟦${said.join("")}${"~".repeat(Math.ceil(text.length * 0.4))}⟧`;
}
