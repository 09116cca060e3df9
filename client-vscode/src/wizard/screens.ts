/**
 * What the set-up wizard shows: each state of it as one list or one field, in words.
 *
 * Pure: the caller draws it, decides nothing, and only passes back what was pressed.
 */

import type { SetupSeverity } from "../generated/protocol";
import { t } from "../l10n";
import { STEPS, type Step } from "./answers";
import { fieldOf } from "./fields";
import { rowsOf, type Button, type Line, type Row } from "./lists";
import { isField, isLong, type ShownProblem, type Wizard } from "./state";

interface Common {
  /** The same as long as it is the same screen, so that it is drawn in place. */
  readonly key: string;
  readonly title: string;
  /** From 1 on. */
  readonly step: number;
  readonly steps: number;
  readonly placeholder: string;
  readonly buttons: readonly Button[];
  readonly canGoBack: boolean;
  readonly isBusy: boolean;
}

export interface Pick extends Common {
  readonly kind: "pick";
  /** Whether rows have boxes. */
  readonly many: boolean;
  readonly rows: readonly (Row | Line)[];
  /** Id of the row that Enter takes at first. */
  readonly active: string | undefined;
  /** The text below the field: what is wrong, or else what to know. */
  readonly prompt: string;
}

export interface Field extends Common {
  readonly kind: "field";
  readonly value: string;
  readonly prompt: string;
  readonly message: { readonly severity: SetupSeverity; readonly text: string } | undefined;
}

export type Screen = Pick | Field;

/** What is shown now. */
export function screenOf(wizard: Wizard): Screen {
  const { step, asking, busy } = wizard;
  const common: Common = {
    // While the server judges, it stays the same.
    key: [
      ...[step, isField(wizard) ? "field" : "pick", asking?.kind ?? ""],
      busy === "judging" ? "" : (busy ?? ""),
    ].join(" "),
    title: t("Set Up a Loop: {0} · {1}", stage(step), headline(wizard)),
    step: STEPS.indexOf(step) + 1,
    steps: STEPS.length,
    placeholder: "",
    buttons: buttonsOf(wizard),
    canGoBack: step !== "profile" || asking !== undefined,
    isBusy: busy !== undefined,
  };
  const [problem] = wizard.problems;
  if (isField(wizard)) {
    const { prompt, placeholder } = fieldOf(wizard);
    const message =
      problem === undefined
        ? undefined
        : { severity: problem.severity, text: words(wizard, problem) };
    return { ...common, kind: "field", value: wizard.text, prompt, placeholder, message };
  }
  const { rows, active, prompt, placeholder } = rowsOf(wizard);
  return {
    ...common,
    ...{ kind: "pick", many: step === "items", rows, active, placeholder },
    prompt: problem === undefined ? prompt : words(wizard, problem),
  };
}

/** What is said, and what Enter does about it. */
function words({ problems }: Wizard, { severity, message }: ShownProblem): string {
  if (severity === "error") {
    return message;
  }
  const others = problems.length - 1;
  const more = others === 0 ? "" : ` ${t("({0} more)", others)}`;
  return `${message} ${t("Press Enter again to keep it.")}${more}`;
}

/** The three parts of the wizard. */
function stage(step: Step): string {
  switch (step) {
    case "source":
    case "items":
      return t("Plan Generation");
    case "launch":
      return t("Launch");
    default:
      return t("Task Setup");
  }
}

function headline({ step, asking }: Wizard): string {
  switch (asking?.kind) {
    case "maxIterations":
      return t("Maximum Iterations");
    case "timeout":
      return t("Iteration Timeout");
    case "maxCostUsd":
      return t("Budget");
    case "agentCommand":
      return t("Custom Command");
    case "title":
      return asking.item === undefined ? t("New Item") : t("Edit Item");
    case undefined:
      break;
  }
  switch (step) {
    case "profile":
      return t("Profile");
    case "template":
      return t("Template");
    case "description":
      return t("Task Description");
    case "completionPhrase":
      return t("Completion Phrase");
    case "agent":
      return t("Agent");
    case "limits":
      return t("Limits");
    case "source":
      return t("Create the Plan");
    case "items":
      return t("Plan Items");
    case "launch":
      return t("Files to Write");
  }
}

function buttonsOf(wizard: Wizard): readonly Button[] {
  const { step, asking, problems, busy } = wizard;
  if (busy !== undefined && busy !== "judging") {
    return [];
  }
  const [problem] = problems;
  const fix: readonly Button[] =
    problem?.fix === undefined || step !== "description" || isLong(wizard)
      ? []
      : [{ id: "fix", icon: "lightbulb", tooltip: t("Insert: {0}", problem.fix.text) }];
  const startOver = { id: "startOver", icon: "clear-all", tooltip: t("Start Over") };
  if (asking !== undefined) {
    return [];
  }
  switch (step) {
    case "description":
      return [
        ...fix,
        ...(isLong(wizard) ? [] : [{ id: "edit", icon: "edit", tooltip: t("Write in Editor…") }]),
        startOver,
      ];
    case "items":
      return [
        { id: "add", icon: "add", tooltip: t("Add Item…") },
        { id: "edit", icon: "edit", tooltip: t("Edit in Editor…") },
        startOver,
      ];
    default:
      return [startOver];
  }
}
