/** The rows of the set-up wizard's lists. Pure. */

import type { AgentChoice, SetupFile, TemplateChoice } from "../generated/protocol";
import { t } from "../l10n";
import { joinCommand, OWN_COMMAND, type Item } from "./answers";
import type { Wizard } from "./state";

export interface Button {
  readonly id: string;
  /** Name of a codicon. */
  readonly icon: string;
  readonly tooltip: string;
}

export interface Row {
  readonly kind: "row";
  readonly id: string;
  readonly label: string;
  readonly description?: string;
  readonly detail?: string;
  readonly icon?: string;
  readonly isTicked?: boolean;
  readonly buttons?: readonly Button[];
}

/** A line between rows, with a word on it. */
export interface Line {
  readonly kind: "line";
  readonly label: string;
}

export interface List {
  readonly rows: readonly (Row | Line)[];
  readonly active: string | undefined;
  readonly prompt: string;
  readonly placeholder: string;
}

/** The row for no template. */
export const NO_TEMPLATE = "none";

export function rowsOf(wizard: Wizard): List {
  switch (wizard.step) {
    case "profile":
      return profiles(wizard);
    case "template":
      return templates(wizard);
    case "description":
      return description(wizard);
    case "agent":
      return agents(wizard);
    case "limits":
      return limits(wizard);
    case "source":
      return wizard.busy === "proposing" ? proposing(wizard) : sources(wizard);
    case "items":
      return items(wizard);
    case "launch":
      return launch(wizard);
    case "completionPhrase":
      return { rows: [], active: undefined, prompt: "", placeholder: "" };
  }
}

function profiles({ choices, answers }: Wizard): List {
  return {
    rows: choices.profiles.map(({ name, title, detail, plan }) => ({
      ...{ kind: "row", id: name, label: title, detail },
      description: name === choices.profile ? t("{0} · suggested here", plan) : plan,
    })),
    active: answers.profile,
    prompt: choices.alreadySetUp
      ? t("A loop is already set up here. Your choices update its configuration.")
      : t("Nothing is written until the last step."),
    placeholder: t("Choose how the plan is stored"),
  };
}

function templates({ choices, answers }: Wizard): List {
  const row = ({ id, title, detail }: TemplateChoice): Row => ({
    ...{ kind: "row", id, label: title, detail },
  });
  const own = choices.templates.filter(({ source }) => source === "own");
  const builtIn = choices.templates.filter(({ source }) => source === "builtIn");
  return {
    rows: [
      {
        ...{ kind: "row", id: NO_TEMPLATE, label: t("In My Own Words") },
        detail: t("Start with an empty description."),
      },
      ...heading(t("Templates"), builtIn.map(row)),
      ...heading(t("My templates"), own.map(row)),
    ],
    active: answers.template ?? NO_TEMPLATE,
    prompt: [t("Your own templates are in {0}.", choices.templateFolder), ...choices.notes].join(
      " ",
    ),
    placeholder: t("Choose the kind of work"),
  };
}

function description({ choices, answers, problems }: Wizard): List {
  const skeleton = choices.templates.find(({ id }) => id === answers.template)?.description;
  const isUntouched = answers.description.trim() === skeleton?.trim();
  const lines = answers.description.split("\n").filter((line) => line.trim() !== "");
  const [problem] = problems;
  const fix: readonly Row[] =
    problem?.fix === undefined
      ? []
      : [
          {
            ...{ kind: "row", id: "fix", label: problem.fix.title, icon: "lightbulb" },
            detail: problem.fix.text,
          },
        ];
  return {
    rows: [
      {
        ...{ kind: "row", id: "edit", icon: "edit" },
        label: isUntouched ? t("Fill Out in Editor…") : t("Edit in Editor…"),
        detail: lines.slice(0, 2).join(" · "),
      },
      {
        ...{ kind: "row", id: "keep", icon: "check" },
        label: isUntouched ? t("Use Template as Is") : t("Continue with This Description"),
        description: linesOf(lines.length),
      },
      ...fix,
    ],
    active: isUntouched && problems.length === 0 ? "edit" : "keep",
    prompt: "",
    placeholder: t("The description has several lines"),
  };
}

function agents({ choices, answers }: Wizard): List {
  const row = ({ name, found, detail, needsAllow }: AgentChoice): Row => ({
    ...{ kind: "row", id: name, label: name, detail },
    description: needsAllow ? t("needs your approval first") : found ? "" : t("not found"),
  });
  const found = choices.agents.filter((agent) => agent.found);
  const others = choices.agents.filter((agent) => !agent.found);
  const isOwn = answers.agentCommand.length > 0;
  return {
    rows: [
      ...heading(t("Found"), found.map(row)),
      ...heading(t("Not found"), others.map(row)),
      { kind: "line", label: "" },
      {
        ...{ kind: "row", id: "own", label: t("Custom Command…"), icon: "terminal" },
        detail: isOwn
          ? joinCommand(answers.agentCommand)
          : t("Any program that runs without interaction."),
      },
    ],
    active: isOwn && answers.agent === OWN_COMMAND ? "own" : answers.agent,
    prompt: "",
    placeholder: t("Choose an agent"),
  };
}

function limits({ answers }: Wizard): List {
  const { maxIterations, timeout, maxCostUsd } = answers;
  const budget = maxCostUsd === undefined ? t("none") : `$${maxCostUsd}`;
  return {
    rows: [
      { kind: "row", id: "keep", label: t("Continue with These Limits"), icon: "check" },
      { kind: "line", label: t("Change") },
      {
        ...{ kind: "row", id: "maxIterations", label: t("Maximum Iterations") },
        description: String(maxIterations),
      },
      {
        ...{ kind: "row", id: "timeout", label: t("Iteration Timeout") },
        description: t("{0} min", timeout),
      },
      { kind: "row", id: "maxCostUsd", label: t("Budget"), description: budget },
    ],
    active: "keep",
    prompt: "",
    placeholder: t("Set limits for the loop"),
  };
}

function sources({ choices, answers }: Wizard): List {
  const template = choices.templates.find(({ id }) => id === answers.template);
  const n = answers.items.length;
  const nOfTemplate = template?.items.length ?? 0;
  const existing = choices.existingPlan;
  return {
    rows: [
      ...(n === 0
        ? []
        : [
            {
              ...({ kind: "row", id: "items", icon: "checklist" } as const),
              label: t("Keep These Items"),
              description: n === 1 ? t("{0} item", n) : t("{0} items", n),
            },
          ]),
      {
        ...{ kind: "row", id: "generate", icon: "sparkle" },
        label: n === 0 ? t("Generate with {0}", answers.agent) : t("Ask {0} Again", answers.agent),
        detail: t("The agent breaks the task down. You edit its proposal."),
      },
      {
        ...{ kind: "row", id: "write", label: t("Write It Myself"), icon: "edit" },
        detail:
          nOfTemplate === 0
            ? t("Add items one by one.")
            : t("Start with the template's items ({0}).", nOfTemplate),
      },
      ...(existing === undefined
        ? []
        : [
            {
              ...({ kind: "row", id: "existing", icon: "file" } as const),
              label: t("Use {0} as Is", existing),
              detail: t("Already in this folder. New items are added to it."),
            },
          ]),
      {
        ...{ kind: "row", id: "file", label: t("Use Another File…"), icon: "folder-opened" },
        detail: t("Choose a plan elsewhere in this folder."),
      },
    ],
    active: n > 0 ? "items" : existing === undefined ? "generate" : "existing",
    prompt: "",
    placeholder: t("Choose how to create the plan"),
  };
}

function proposing({ answers }: Wizard): List {
  return {
    rows: [
      {
        ...{ kind: "row", id: "stop", label: t("Stop"), icon: "debug-stop" },
        detail: t("Stops the agent. Nothing has been written."),
      },
    ],
    active: "stop",
    prompt: t("{0} is writing a plan. This may take a few minutes.", answers.agent),
    placeholder: t("{0} is writing a plan…", answers.agent),
  };
}

const ITEM_BUTTONS: readonly (() => Button)[] = [
  () => ({ id: "up", icon: "arrow-up", tooltip: t("Move Up") }),
  () => ({ id: "down", icon: "arrow-down", tooltip: t("Move Down") }),
  () => ({ id: "priority", icon: "flame", tooltip: t("Change Priority") }),
  () => ({ id: "title", icon: "edit", tooltip: t("Edit") }),
  () => ({ id: "remove", icon: "trash", tooltip: t("Remove") }),
];

function items({ answers, notes }: Wizard): List {
  const row = ({ id, title, priority, detail, isTicked }: Item): Row => ({
    ...{ kind: "row", id: String(id), label: title, isTicked },
    description: priority,
    ...(detail === "" ? {} : { detail: detail.replaceAll(/\s*\n\s*/g, " · ") }),
    buttons: ITEM_BUTTONS.map((button) => button()),
  });
  return {
    rows: answers.items.map(row),
    active: undefined,
    prompt: notes.join(" "),
    placeholder: t("Select the items to include, then press Enter"),
  };
}

function launch({ result, busy, problems }: Wizard): List {
  const shared = { prompt: "", placeholder: t("Nothing has been written yet") };
  if (busy !== undefined || result === undefined) {
    const again: Row = { kind: "row", id: "again", label: t("Try Again"), icon: "refresh" };
    const rows = busy === undefined && problems.length > 0 ? [again] : [];
    const waiting = busy === "writing" ? t("Writing files…") : shared.placeholder;
    return { ...shared, placeholder: waiting, rows, active: rows[0]?.id };
  }
  return {
    ...shared,
    rows: [
      {
        ...{ kind: "row", id: "start", label: t("Start Now"), icon: "play" },
        detail: t("Writes the files and starts the loop."),
      },
      {
        ...{ kind: "row", id: "write", label: t("Write Files Only"), icon: "save" },
        detail: t("Start the loop later with Start Loop."),
      },
      {
        ...{ kind: "row", id: "dryRun", label: t("Dry Run"), icon: "eye" },
        detail: t("Shows every file without writing it."),
      },
      ...heading(t("Files"), result.files.map(fileRow)),
      ...heading(
        t("Notes"),
        result.notes.map((note, at) => ({
          ...({ kind: "row", id: `note:${at}`, icon: "info" } as const),
          label: note,
        })),
      ),
    ],
    active: "start",
  };
}

function fileRow({ path, action, text }: SetupFile): Row {
  const n = text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
  const lines = linesOf(n);
  switch (action) {
    case "create":
      return fileOf(path, "new-file", t("new · {0}", lines));
    case "change":
      return fileOf(path, "diff-modified", t("changed · {0}", lines));
    case "keep":
      return fileOf(path, "file", t("unchanged"));
  }
}

function fileOf(path: string, icon: string, description: string): Row {
  return { kind: "row", id: `file:${path}`, label: path, icon, description };
}

function linesOf(n: number): string {
  return n === 1 ? t("{0} line", n) : t("{0} lines", n);
}

/** Rows under a word; nothing where there are none. */
function heading(label: string, rows: readonly Row[]): readonly (Row | Line)[] {
  return rows.length === 0 ? [] : [{ kind: "line", label }, ...rows];
}
