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
      description: name === choices.profile ? t("{0} · fits what lies here", plan) : plan,
    })),
    active: answers.profile,
    prompt: choices.alreadySetUp
      ? t("A loop is set up here already: what you choose changes its configuration.")
      : t("Nothing is written before the last step."),
    placeholder: t("How the loop keeps its plan"),
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
        detail: t("Begin with an empty description."),
      },
      ...heading(t("Templates"), builtIn.map(row)),
      ...heading(t("My templates"), own.map(row)),
    ],
    active: answers.template ?? NO_TEMPLATE,
    prompt: [t("Templates of your own lie in {0}.", choices.templateFolder), ...choices.notes].join(
      " ",
    ),
    placeholder: t("What kind of work it is"),
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
        label: isUntouched ? t("Fill It In in an Editor…") : t("Edit in an Editor…"),
        detail: lines.slice(0, 2).join(" · "),
      },
      {
        ...{ kind: "row", id: "keep", icon: "check" },
        label: isUntouched ? t("Use the Template As It Is") : t("Go On with This Description"),
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
    description: needsAllow ? t("asks to be allowed first") : found ? "" : t("not found"),
  });
  const found = choices.agents.filter((agent) => agent.found);
  const others = choices.agents.filter((agent) => !agent.found);
  const isOwn = answers.agentCommand.length > 0;
  return {
    rows: [
      ...heading(t("Found here"), found.map(row)),
      ...heading(t("Not found"), others.map(row)),
      { kind: "line", label: "" },
      {
        ...{ kind: "row", id: "own", label: t("A Program of Your Own…"), icon: "terminal" },
        detail: isOwn ? joinCommand(answers.agentCommand) : t("Any that needs nobody to click."),
      },
    ],
    active: isOwn && answers.agent === OWN_COMMAND ? "own" : answers.agent,
    prompt: "",
    placeholder: t("Which agent does the work"),
  };
}

function limits({ answers }: Wizard): List {
  const { maxIterations, timeout, maxCostUsd } = answers;
  const budget = maxCostUsd === undefined ? t("none") : `$${maxCostUsd}`;
  return {
    rows: [
      { kind: "row", id: "keep", label: t("Go On with These"), icon: "check" },
      { kind: "line", label: t("Change") },
      {
        ...{ kind: "row", id: "maxIterations", label: t("Iterations at Most") },
        description: String(maxIterations),
      },
      {
        ...{ kind: "row", id: "timeout", label: t("Timeout of an Iteration") },
        description: t("{0} min", timeout),
      },
      { kind: "row", id: "maxCostUsd", label: t("Budget"), description: budget },
    ],
    active: "keep",
    prompt: "",
    placeholder: t("When the loop ends at the latest"),
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
              label: t("Keep the Items"),
              description: n === 1 ? t("{0} item", n) : t("{0} items", n),
            },
          ]),
      {
        ...{ kind: "row", id: "generate", icon: "sparkle" },
        label: n === 0 ? t("Generate with {0}", answers.agent) : t("Ask {0} Again", answers.agent),
        detail: t("The agent breaks the task down; you edit what it proposes."),
      },
      {
        ...{ kind: "row", id: "write", label: t("Write It Myself"), icon: "edit" },
        detail:
          nOfTemplate === 0
            ? t("One item after the other.")
            : t("It begins with the items of the template ({0}).", nOfTemplate),
      },
      ...(existing === undefined
        ? []
        : [
            {
              ...({ kind: "row", id: "existing", icon: "file" } as const),
              label: t("Use {0} As It Is", existing),
              detail: t("It lies here already. Generated or written items are added to it."),
            },
          ]),
      {
        ...{ kind: "row", id: "file", label: t("Use Another File…"), icon: "folder-opened" },
        detail: t("A plan that lies elsewhere in this folder."),
      },
    ],
    active: n > 0 ? "items" : existing === undefined ? "generate" : "existing",
    prompt: "",
    placeholder: t("How the plan comes to be"),
  };
}

function proposing({ answers }: Wizard): List {
  return {
    rows: [
      {
        ...{ kind: "row", id: "stop", label: t("Stop"), icon: "debug-stop" },
        detail: t("Ends the agent; nothing was written."),
      },
    ],
    active: "stop",
    prompt: t("{0} works on a plan. That may take some minutes.", answers.agent),
    placeholder: t("{0} works on a plan…", answers.agent),
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
    placeholder: t("Tick what the plan takes, then press Enter"),
  };
}

function launch({ result, busy, problems }: Wizard): List {
  const shared = { prompt: "", placeholder: t("Nothing is written yet") };
  if (busy !== undefined || result === undefined) {
    const again: Row = { kind: "row", id: "again", label: t("Try Again"), icon: "refresh" };
    const rows = busy === undefined && problems.length > 0 ? [again] : [];
    const waiting = busy === "writing" ? t("The files are written…") : shared.placeholder;
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
        ...{ kind: "row", id: "write", label: t("Only Write Files"), icon: "save" },
        detail: t("The loop is started later, by Start Loop."),
      },
      {
        ...{ kind: "row", id: "dryRun", label: t("Dry Run"), icon: "eye" },
        detail: t("Shows the text of every file, and writes nothing."),
      },
      ...heading(t("Files"), result.files.map(fileRow)),
      ...heading(
        t("To know"),
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
      return fileOf(path, "file", t("stays as it is"));
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
