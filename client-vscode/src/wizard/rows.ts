/** What the rows and buttons of the set-up wizard's lists do. Pure. */

import { joinCommand, toItems } from "./answers";
import { confirm } from "./enter";
import { onItems } from "./items";
import { writeDraft } from "./planDraft";
import {
  advance,
  answered,
  answersNow,
  ask,
  enter,
  goBack,
  isLong,
  unjudged,
  type Draft,
  type Effect,
  type Turn,
  type Wizard,
} from "./state";

export function choose(wizard: Wizard, row: string): Turn {
  const { choices, answers } = wizard;
  if (row === "stop") {
    return goBack(wizard);
  }
  switch (wizard.step) {
    case "profile": {
      const found = choices.profiles.find(({ name }) => name === row);
      return found === undefined ? [wizard] : advance(answered(wizard, { profile: found.name }));
    }
    case "template":
      return advance(chooseTemplate(wizard, row));
    case "description":
      return chooseDescription(wizard, row);
    case "agent":
      if (row === "own") {
        return ask(wizard, { kind: "agentCommand" }, joinCommand(answers.agentCommand));
      }
      return advance(answered(wizard, { agent: row, agentCommand: [] }));
    case "limits":
      return chooseLimit(wizard, row);
    case "source":
      return chooseSource(wizard, row);
    case "launch":
      return chooseLaunch(wizard, row);
    case "completionPhrase":
    case "items":
      return [wizard];
  }
}

function chooseDescription(wizard: Wizard, row: string): Turn {
  switch (row) {
    case "edit":
      return [wizard, openDraft(wizard, "description")];
    case "fix":
      return [fixed(wizard)];
    default:
      return confirm(wizard);
  }
}

function chooseTemplate(wizard: Wizard, row: string): Wizard {
  const { choices, answers } = wizard;
  const template = choices.templates.find(({ id }) => id === row);
  const before = choices.templates.find(({ id }) => id === answers.template);
  // What the user wrote is never replaced by a skeleton.
  const isOwn = answers.description !== "" && answers.description !== before?.description;
  const description = isOwn ? answers.description : (template?.description ?? "");
  return answered(wizard, { template: template?.id, description });
}

function chooseLimit(wizard: Wizard, row: string): Turn {
  const { maxIterations, timeout, maxCostUsd } = wizard.answers;
  switch (row) {
    case "maxIterations":
      return ask(wizard, { kind: row }, String(maxIterations));
    case "timeout":
      return ask(wizard, { kind: row }, String(timeout));
    case "maxCostUsd":
      return ask(wizard, { kind: row }, maxCostUsd === undefined ? "" : String(maxCostUsd));
    default:
      return confirm(wizard);
  }
}

function chooseSource(wizard: Wizard, row: string): Turn {
  const { choices, answers } = wizard;
  const asked = unjudged(wizard);
  switch (row) {
    case "items":
      return advance(asked, "items");
    case "generate":
      return [
        { ...answered(asked, { source: "generate", plan: undefined }), busy: "proposing" },
        { kind: "propose" },
      ];
    case "write": {
      const template = choices.templates.find(({ id }) => id === answers.template);
      const items = toItems(template?.items ?? []);
      const written = answered(asked, { source: "write", plan: undefined, items });
      const [there] = advance(written, "items");
      return items.length > 0 ? [there] : ask(there, { kind: "title", item: undefined }, "");
    }
    case "existing":
      return advance(answered(asked, { source: "existing", plan: choices.existingPlan }), "launch");
    case "file":
      return [asked, { kind: "chooseFile" }];
    default:
      return [wizard];
  }
}

function chooseLaunch(wizard: Wizard, row: string): Turn {
  const { result } = wizard;
  if (row === "again") {
    return enter(wizard, "launch");
  }
  if (result === undefined) {
    return [wizard];
  }
  switch (row) {
    case "start":
    case "write":
      return [
        { ...wizard, busy: "writing", problems: [] },
        { kind: "write", start: row === "start" },
      ];
    case "dryRun":
      return [wizard, { kind: "preview", path: undefined }];
    default:
      return row.startsWith("file:")
        ? [wizard, { kind: "preview", path: row.slice("file:".length) }]
        : [wizard];
  }
}

export function press(wizard: Wizard, button: string, row: string | undefined): Turn {
  if (wizard.busy !== undefined) {
    return [wizard];
  }
  const { items } = wizard.answers;
  switch (button) {
    case "fix":
      return [fixed(wizard)];
    case "edit":
      return [wizard, openDraft(wizard, wizard.step === "items" ? "plan" : "description")];
    case "add":
      return ask(wizard, { kind: "title", item: undefined }, "");
    case "title": {
      const item = items.find(({ id }) => String(id) === row);
      return item === undefined
        ? [wizard]
        : ask(wizard, { kind: "title", item: item.id }, item.title);
    }
    default: {
      const changed = onItems(items, button, Number(row));
      return changed === items ? [wizard] : [unjudged(answered(wizard, { items: changed }))];
    }
  }
}

/** What the button of a message inserts: at the end, on a separate line where there are lines. */
function fixed(wizard: Wizard): Wizard {
  const [problem, ...others] = wizard.problems;
  if (problem?.fix === undefined || wizard.step !== "description") {
    return wizard;
  }
  const before = isLong(wizard) ? wizard.answers.description : wizard.text;
  const description = [before.trimEnd(), problem.fix.text].join(isLong(wizard) ? "\n" : " ").trim();
  return { ...answered(wizard, { description }), text: description, problems: others };
}

function openDraft(wizard: Wizard, draft: Draft): Effect {
  const { description, items } = answersNow(wizard);
  return { kind: "openDraft", draft, text: draft === "plan" ? writeDraft(items) : description };
}
