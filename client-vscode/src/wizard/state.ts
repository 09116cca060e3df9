/**
 * What the set-up wizard is at a moment, what can happen to it and what it may want done; and the
 * ways from one screen to another. Pure.
 */

import type {
  ProposePlanResult,
  SetupChoicesResult,
  SetupProblem,
  SetupResult,
  ValidateSetupParams,
} from "../generated/protocol";
import { STEPS, type Answers, type Step } from "./answers";

/** A field that a screen opens, and from which the user comes back to the screen. */
export type Asking =
  | { readonly kind: "maxIterations" | "timeout" | "maxCostUsd" | "agentCommand" }
  /** The title of an item; of a new one where there is no id. */
  | { readonly kind: "title"; readonly item: number | undefined };

/** What the user waits for. */
export type Busy = "judging" | "proposing" | "planning" | "writing";

/** What is edited in a separate editor. */
export type Draft = "description" | "plan";

export interface Wizard {
  readonly choices: SetupChoicesResult;
  readonly answers: Answers;
  readonly step: Step;
  readonly asking: Asking | undefined;
  /** The content of the field, where the screen is one. */
  readonly text: string;
  /** What is wrong with it, the one that is shown first. */
  readonly problems: readonly ShownProblem[];
  /** Codes of problems that the user keeps this text with. */
  readonly accepted: readonly string[];
  readonly busy: Busy | undefined;
  /** What the last screen shows. */
  readonly result: SetupResult | undefined;
  /** What the user should know of the items that an agent proposed. */
  readonly notes: readonly string[];
}

/** A problem as it is shown; the server's, or one of ours such as a request that failed. */
export type ShownProblem = Pick<SetupProblem, "severity" | "code" | "message" | "fix">;

export type Event =
  /** Something was typed. */
  | { readonly kind: "typed"; readonly text: string }
  /** Enter, in a field or in a list with boxes. */
  | { readonly kind: "confirmed" }
  /** Enter, on a row. */
  | { readonly kind: "chose"; readonly row: string }
  | { readonly kind: "ticked"; readonly rows: readonly string[] }
  /** A button of the screen, or of one of its rows. */
  | { readonly kind: "pressed"; readonly button: string; readonly row?: string }
  | { readonly kind: "wentBack" }
  /** What the effects came to. */
  | { readonly kind: "judged"; readonly problems: readonly SetupProblem[] }
  | { readonly kind: "proposed"; readonly result: ProposePlanResult }
  | { readonly kind: "planned"; readonly result: SetupResult }
  | { readonly kind: "drafted"; readonly draft: Draft; readonly text: string }
  | { readonly kind: "fileChosen"; readonly path: string }
  | { readonly kind: "failed"; readonly message: string };

export type Effect =
  | { readonly kind: "judge"; readonly draft: Omit<ValidateSetupParams, "workspace"> }
  | { readonly kind: "propose" }
  | { readonly kind: "stopProposing" }
  | { readonly kind: "openDraft"; readonly draft: Draft; readonly text: string }
  | { readonly kind: "chooseFile" }
  /** Ask what would be written. */
  | { readonly kind: "plan" }
  | { readonly kind: "preview"; readonly path: string | undefined }
  | { readonly kind: "write"; readonly start: boolean };

export type Turn = readonly [Wizard, Effect?];

/** Whether the description is edited in an editor: a field has one line. */
export function isLong({ answers }: Wizard): boolean {
  return answers.description.includes("\n");
}

/** Whether the screen is a field. */
export function isField(wizard: Wizard): boolean {
  const { step, asking } = wizard;
  return (
    asking !== undefined ||
    step === "completionPhrase" ||
    (step === "description" && !isLong(wizard))
  );
}

/** Go to a screen, and begin what it needs. */
export function enter(wizard: Wizard, step: Step): Turn {
  const { answers } = wizard;
  const fresh: Wizard = {
    ...wizard,
    ...{ step, asking: undefined, problems: [], accepted: [], busy: undefined, result: undefined },
  };
  switch (step) {
    case "description":
      return [{ ...fresh, text: answers.description }];
    case "completionPhrase":
      return [{ ...fresh, text: answers.completionPhrase }];
    case "launch":
      return [{ ...fresh, busy: "planning" }, { kind: "plan" }];
    default:
      return [{ ...fresh, text: "" }];
  }
}

export function advance(wizard: Wizard, to?: Step): Turn {
  const step = to ?? STEPS[STEPS.indexOf(wizard.step) + 1] ?? "launch";
  return step === "source" && hasOwnTasks(wizard)
    ? enter(answered(wizard, { source: "existing" }), "launch")
    : enter(wizard, step);
}

/** Whether the tasks are there already and kept elsewhere; of a request, its file is chosen. */
function hasOwnTasks({ answers, choices }: Wizard): boolean {
  const chosen = choices.profiles.find(({ name }) => name === answers.profile);
  return chosen?.needsItems === false && chosen.name !== "issue";
}

export function goBack(wizard: Wizard): Turn {
  if (wizard.busy === "proposing") {
    return [{ ...wizard, busy: undefined }, { kind: "stopProposing" }];
  }
  if (wizard.busy === "writing") {
    return [wizard];
  }
  if (wizard.asking !== undefined) {
    return [back(wizard)];
  }
  const { step, answers } = wizard;
  // A plan that is used as it is has no items to tick.
  const skips = step === "launch" && answers.source === "existing";
  const from = skips && hasOwnTasks(wizard) ? "source" : step;
  const before = skips && from === step ? "source" : STEPS[STEPS.indexOf(from) - 1];
  return before === undefined ? [wizard] : enter(kept(wizard), before);
}

/** The content of a field is not lost by going back. */
function kept(wizard: Wizard): Wizard {
  if (!isField(wizard)) {
    return wizard;
  }
  return wizard.step === "description"
    ? answered(wizard, { description: wizard.text })
    : answered(wizard, { completionPhrase: wizard.text });
}

/** The answers as they are where the wizard is left now. */
export function answersNow(wizard: Wizard): Answers {
  return wizard.asking === undefined ? kept(wizard).answers : wizard.answers;
}

/** Close the field that a screen had opened. */
export function back(wizard: Wizard): Wizard {
  return unjudged({ ...wizard, asking: undefined, text: "" });
}

export function ask(wizard: Wizard, asking: Asking, text: string): Turn {
  return [unjudged({ ...wizard, asking, text })];
}

export function answered(wizard: Wizard, changes: Partial<Answers>): Wizard {
  return { ...wizard, answers: { ...wizard.answers, ...changes } };
}

/** Nothing that was said holds any more. */
export function unjudged(wizard: Wizard): Wizard {
  const busy = wizard.busy === "judging" ? undefined : wizard.busy;
  return { ...wizard, busy, problems: [], accepted: [] };
}

export function refused(wizard: Wizard, message: string): Wizard {
  return { ...wizard, problems: [failure(message)] };
}

export function failure(message: string): ShownProblem {
  return { severity: "error", code: "failed", message };
}
