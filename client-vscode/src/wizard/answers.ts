/**
 * What the user has answered in the set-up wizard, and what of it goes to the server.
 *
 * Pure: it reads what was kept of an earlier opening as carefully as anything from outside, and
 * must never know VS Code nor judge an answer; the rules are the server's.
 */

import {
  PRIORITIES,
  type Priority,
  type ProfileName,
  type ProposePlanParams,
  type SetupChoicesResult,
  type SetupParams,
} from "../generated/protocol";

/** The screens, in their order. */
export const STEPS = [
  "profile",
  "template",
  "description",
  "completionPhrase",
  "agent",
  "limits",
  "source",
  "items",
  "launch",
] as const;
export type Step = (typeof STEPS)[number];

/** Where the items of the plan come from. */
export const SOURCES = ["generate", "write", "existing"] as const;
export type Source = (typeof SOURCES)[number];

/** One item of the plan to be, as a row that can be ticked and moved. */
export interface Item {
  /** Unique in the list, and the same wherever the row is moved. */
  readonly id: number;
  readonly title: string;
  readonly priority: Priority;
  /** May have several lines. */
  readonly detail: string;
  readonly isTicked: boolean;
}

export interface Answers {
  readonly profile: ProfileName;
  /** Id of a template; none where the description is the user's text. */
  readonly template: string | undefined;
  readonly description: string;
  readonly completionPhrase: string;
  readonly agent: string;
  /** Program and arguments, where the agent is the user's own program; else empty. */
  readonly agentCommand: readonly string[];
  readonly maxIterations: number;
  /** Minutes, of one iteration. */
  readonly timeout: number;
  readonly maxCostUsd: number | undefined;
  readonly source: Source | undefined;
  /** Path of the plan that is used as it is, where `source` is `existing`. */
  readonly plan: string | undefined;
  readonly items: readonly Item[];
}

/** What the settings of the editor pre-fill. */
export interface Wishes {
  readonly profile: string;
  readonly agent: string;
}

/** What is kept from one opening to the next. */
export interface Kept {
  readonly answers: Answers;
  readonly step: Step;
}

/** The agent whose program the user names. */
export const OWN_COMMAND = "command";

/** What the answers are before anybody has answered. */
export function freshAnswers(choices: SetupChoicesResult, wishes: Wishes): Answers {
  const { defaults } = choices;
  return {
    profile:
      profileOf(wishes.profile, choices) ??
      choices.profile ??
      choices.profiles[0]?.name ??
      "fixplan",
    template: undefined,
    description: "",
    completionPhrase: defaults.completionPhrase,
    agent: hasAgent(wishes.agent, choices) ? wishes.agent : defaults.agent,
    agentCommand: [],
    maxIterations: defaults.maxIterations,
    timeout: Math.round(defaults.timeout / 60),
    maxCostUsd: defaults.maxCostUsd,
    source: undefined,
    plan: undefined,
    items: [],
  };
}

/** What was kept, as far as it can still be read and chosen; else the beginning. */
export function readKept(saved: unknown, choices: SetupChoicesResult, wishes: Wishes): Kept {
  const fresh = freshAnswers(choices, wishes);
  const { answers, step } = record(saved);
  const given = record(answers);
  const agent = text(given["agent"], fresh.agent);
  const agentCommand = list(given["agentCommand"]).filter((word) => typeof word === "string");
  const isOwn = agent === OWN_COMMAND && agentCommand.length > 0;
  return {
    step: STEPS.find((known) => known === step) ?? "profile",
    answers: {
      profile: profileOf(given["profile"], choices) ?? fresh.profile,
      template: choices.templates.find(({ id }) => id === given["template"])?.id,
      description: text(given["description"], fresh.description),
      completionPhrase: text(given["completionPhrase"], fresh.completionPhrase),
      agent: isOwn || hasAgent(agent, choices) ? agent : fresh.agent,
      agentCommand: isOwn ? agentCommand : [],
      maxIterations: number(given["maxIterations"], fresh.maxIterations),
      timeout: number(given["timeout"], fresh.timeout),
      maxCostUsd: "maxCostUsd" in given ? amount(given["maxCostUsd"]) : fresh.maxCostUsd,
      source: SOURCES.find((known) => known === given["source"]),
      plan: typeof given["plan"] === "string" ? given["plan"] : undefined,
      items: list(given["items"]).map((item, id) => readItem(record(item), id)),
    },
  };
}

/** As it is stored: what has no value there must say so, or the default would come back. */
export function toStored({ answers, step }: Kept): unknown {
  return { step, answers: { ...answers, maxCostUsd: answers.maxCostUsd ?? null } };
}

/** Items that somebody proposed, all of them ticked. */
export function toItems(
  proposed: readonly {
    readonly title: string;
    readonly priority: Priority;
    readonly detail: string;
  }[],
): readonly Item[] {
  return proposed.map(({ title, priority, detail }, id) => ({
    ...{ id, title, priority, detail },
    isTicked: true,
  }));
}

/** The items that are taken, as the server has them. */
export function taken(answers: Answers): readonly {
  readonly title: string;
  readonly priority: Priority;
  readonly detail: string;
}[] {
  return answers.items
    .filter(({ isTicked }) => isTicked)
    .map(({ title, priority, detail }) => ({ title, priority, detail }));
}

/** What an agent is asked a plan with. */
export function proposeParams(answers: Answers, workspace: string): ProposePlanParams {
  const { description, profile } = answers;
  return { workspace, description, profile, ...templateOf(answers), ...agentOf(answers) };
}

/** What is written, or shown where it is a dry run. */
export function setupParams(
  answers: Answers,
  choices: SetupChoicesResult,
  workspace: string,
  options: { readonly dryRun: boolean },
): SetupParams {
  const usesExisting = answers.source === "existing";
  // New items go into the plan that is here already: there is one plan for one loop.
  const plan = usesExisting ? answers.plan : choices.existingPlan;
  return {
    workspace,
    description: answers.description,
    profile: answers.profile,
    ...templateOf(answers),
    completionPhrase: answers.completionPhrase,
    ...agentOf(answers),
    maxIterations: answers.maxIterations,
    timeout: answers.timeout * 60,
    ...(answers.maxCostUsd === undefined ? {} : { maxCostUsd: answers.maxCostUsd }),
    items: usesExisting ? [] : taken(answers),
    ...(plan === undefined ? {} : { existingPlan: plan }),
    dryRun: options.dryRun,
  };
}

/** A command line as program and arguments: words apart by spaces, kept together by quotes. */
export function splitCommand(line: string): readonly string[] {
  const words = line.matchAll(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g);
  return [...words].map(([word]) =>
    word.replaceAll(/"([^"]*)"|'([^']*)'/g, (_, double?: string, single?: string) => {
      return double ?? single ?? "";
    }),
  );
}

/** The reverse, for a field that is edited. */
export function joinCommand(words: readonly string[]): string {
  const quoted = (word: string): string => (word.includes('"') ? `'${word}'` : `"${word}"`);
  return words.map((word) => (/^[^\s"']+$/.test(word) ? word : quoted(word))).join(" ");
}

function templateOf({ template }: Answers): { readonly template?: string } {
  return template === undefined ? {} : { template };
}

function agentOf({
  agent,
  agentCommand,
}: Answers): { readonly agent: string } | { readonly agentCommand: readonly string[] } {
  return agentCommand.length === 0 ? { agent } : { agentCommand };
}

function profileOf(name: unknown, choices: SetupChoicesResult): ProfileName | undefined {
  return choices.profiles.find((profile) => profile.name === name)?.name;
}

function hasAgent(name: string, choices: SetupChoicesResult): boolean {
  return choices.agents.some((agent) => agent.name === name);
}

function readItem(given: Readonly<Record<string, unknown>>, id: number): Item {
  return {
    id,
    title: text(given["title"], ""),
    priority: PRIORITIES.find((priority) => priority === given["priority"]) ?? "P1",
    detail: text(given["detail"], ""),
    isTicked: given["isTicked"] !== false,
  };
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : [];
}

function text(value: unknown, otherwise: string): string {
  return typeof value === "string" ? value : otherwise;
}

function number(value: unknown, otherwise: number): number {
  return amount(value) ?? otherwise;
}

function amount(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? value : undefined;
}
