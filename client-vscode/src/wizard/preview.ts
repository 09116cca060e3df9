/** What the set-up would write, as one text; pure. */

import type { SetupResult } from "../generated/protocol";
import { t } from "../l10n";

/** Every file with its text, and what else there is to know. */
export function previewText({ files, notes }: SetupResult): string {
  const parts = files.map(({ path, action, text }) => {
    if (action === "keep") {
      return `## ${path}\n\n${t("Unchanged.")}\n`;
    }
    const fence = fenceAround(text);
    const what = action === "create" ? t("New file.") : t("Changes to:");
    return `## ${path}\n\n${what}\n\n${fence}\n${text.trimEnd()}\n${fence}\n`;
  });
  const known = notes.map((note) => `- ${note}\n`).join("");
  return [
    `# ${t("What setup would write")}\n`,
    `${t("Nothing has been written yet.")}\n`,
    ...(known === "" ? [] : [known]),
    ...parts,
  ].join("\n");
}

/** A fence that is longer than any in the text. */
function fenceAround(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`{3,}/g)].map(([ticks]) => ticks.length));
  return "`".repeat(longest + 1);
}
