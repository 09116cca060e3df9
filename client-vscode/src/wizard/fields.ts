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
      return { prompt: t("The loop ends after so many iterations."), placeholder: "20" };
    case "timeout":
      return {
        prompt: t("Minutes after which an iteration is ended, from 5 to 60."),
        placeholder: "30",
      };
    case "maxCostUsd":
      return {
        prompt: t("US dollars after which the loop ends; empty for no budget."),
        placeholder: t("No budget"),
      };
    case "agentCommand":
      return {
        prompt: t(
          "The program and its arguments. It gets the prompt on its standard input and works in the repository.",
        ),
        placeholder: "my-agent --quiet",
      };
    case "title":
      return {
        prompt:
          asking.item === undefined
            ? t("One item of the plan. Enter adds it; an empty one ends the list.")
            : t("What the item says."),
        placeholder: t("Parse numbers, with a test"),
      };
    case undefined:
      break;
  }
  return step === "completionPhrase"
    ? {
        prompt: t(
          "The agent says this word when everything is done. It counts only with evidence.",
        ),
        placeholder: "COMPLETE",
      }
    : {
        prompt: t("What is to be done, and how one sees that it is done."),
        placeholder: t("Build a parser for …; it is done when …"),
      };
}
