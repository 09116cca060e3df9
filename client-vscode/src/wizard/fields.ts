/** What is shown beside the fields of the set-up wizard. Pure. */

import { t } from "../l10n";
import type { Wizard } from "./state";

export interface FieldWords {
  readonly prompt: string;
  readonly placeholder: string;
}

export function fieldOf({ step, asking }: Wizard): FieldWords {
  switch (asking?.kind) {
    case "maxIterations":
      return { prompt: t("The loop ends after this many iterations."), placeholder: "20" };
    case "timeout":
      return {
        prompt: t("Stop an iteration after this many minutes (5 to 60)."),
        placeholder: "30",
      };
    case "maxCostUsd":
      return {
        prompt: t("The loop ends after this many US dollars. Leave it empty for no budget."),
        placeholder: t("No budget"),
      };
    case "agentCommand":
      return {
        prompt: t(
          "A program and its arguments. It reads the prompt from standard input and works in the repository.",
        ),
        placeholder: "my-agent --quiet",
      };
    case "title":
      return {
        prompt:
          asking.item === undefined
            ? t("Type a plan item and press Enter. Press Enter again to finish.")
            : t("Edit the item's text."),
        placeholder: t("Parse numbers, with a test"),
      };
    case undefined:
      break;
  }
  return step === "completionPhrase"
    ? {
        prompt: t(
          "The phrase the agent ends with when everything is done. It only counts with evidence.",
        ),
        placeholder: "COMPLETE",
      }
    : {
        prompt: t("What should be built, and how will you know it's done?"),
        placeholder: t("Build a parser for …; it is done when …"),
      };
}
