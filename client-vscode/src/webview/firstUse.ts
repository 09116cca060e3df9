/**
 * The way to a first loop: one field, an agent, a budget and Start.
 *
 * What is typed stays with the page and is sent when the user presses Start. It must never decide
 * what is written or run: that is the server's.
 */

import { t } from "../l10n";

/** An agent that was found on this machine. */
export interface AgentOffer {
  readonly name: string;
  /** Where its program is, or how it is installed. */
  readonly detail: string;
  readonly found: boolean;
  readonly reportsCost: boolean;
}

/** What the page needs to offer a first loop. */
export interface FirstUse {
  /** Those that were found first; undefined while they are looked for. */
  readonly agents: readonly AgentOffer[] | undefined;
  /** The agent that is chosen at first. */
  readonly agent: string;
  /** Whether Start would be carried out now; the field can be filled all the same. */
  readonly ready: boolean;
  /** Whether the first loop is being written and started. */
  readonly beginning: boolean;
}

/** The limits that a first loop can have, by the name that is sent. */
export const BUDGETS = {
  iterations5: { maxIterations: 5 },
  iterations20: { maxIterations: 20 },
  iterations50: { maxIterations: 50 },
  hour: { maxDuration: 3600 },
  hours8: { maxDuration: 8 * 3600 },
  dollars5: { maxCostUsd: 5 },
  dollars20: { maxCostUsd: 20 },
} as const;
export type Budget = keyof typeof BUDGETS;

export const FIRST_BUDGET: Budget = "iterations20";

/** What the user has chosen. */
export interface Described {
  readonly description: string;
  /** Empty for the configured one. */
  readonly agent: string;
  readonly budget: Budget;
}

/** Characters of a description: as many as the server takes. */
const MOST_CHARACTERS = 100_000;

/** What a page sent, or undefined where it is nothing that the form can say. */
export function readDescribed(value: unknown): Described | undefined {
  const { description, agent, budget } = (value ?? {}) as Record<string, unknown>;
  const known = budgetNames().find((name) => name === budget);
  return typeof description !== "string" ||
    description.trim() === "" ||
    description.length > MOST_CHARACTERS ||
    typeof agent !== "string" ||
    known === undefined
    ? undefined
    : { description, agent, budget: known };
}

/** All of them, or those that hold without knowing what an agent costs. */
export function budgetNames(knowsCost = true): readonly Budget[] {
  const names = Object.keys(BUDGETS) as Budget[];
  return names.filter((name) => knowsCost || !("maxCostUsd" in BUDGETS[name]));
}

/** What the form says below its button; empty where there is nothing to say. */
export function hintOf(model: FirstUse | undefined): string {
  if (model?.beginning === true) {
    return t("Writing the plan and starting the loop…");
  }
  const { agents } = model ?? {};
  if (agents === undefined) {
    return "";
  }
  const missing = agents.filter(({ found }) => !found);
  return agents.length > missing.length
    ? ""
    : t(
        "No coding agent was found on this machine. Install one and reload the window: {0}",
        missing
          .slice(0, 3)
          .map(({ name, detail }) => `${name} (${detail})`)
          .join(", "),
      );
}

/** What the choice of an agent says while there is none to choose. */
export function noAgentWords({ agents, ready }: FirstUse): string {
  return agents === undefined ? (ready ? t("Looking for agents…") : "…") : t("None found");
}

/** The limit in words. */
export function budgetWords(name: Budget): string {
  const words: Readonly<Record<Budget, string>> = {
    iterations5: t("5 iterations"),
    iterations20: t("20 iterations"),
    iterations50: t("50 iterations"),
    hour: t("1 hour"),
    hours8: t("8 hours"),
    dollars5: t("$5"),
    dollars20: t("$20"),
  };
  return words[name];
}
