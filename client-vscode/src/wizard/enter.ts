/** What Enter does: the text is judged, and what is kept or in order leads on. Pure. */

import type { SetupProblem, ValidateSetupParams } from "../generated/protocol";
import { t } from "../l10n";
import { OWN_COMMAND, splitCommand, taken, type Item } from "./answers";
import {
  advance,
  answered,
  ask,
  back,
  isLong,
  refused,
  type Asking,
  type ShownProblem,
  type Turn,
  type Wizard,
} from "./state";

export function confirm(wizard: Wizard): Turn {
  if (wizard.busy !== undefined) {
    return [wizard];
  }
  const [problem] = wizard.problems;
  if (problem !== undefined && problem.severity !== "error") {
    return keepIt(wizard, problem);
  }
  if (wizard.asking !== undefined) {
    return confirmField(wizard, wizard.asking);
  }
  switch (wizard.step) {
    case "description": {
      const description = isLong(wizard) ? wizard.answers.description : wizard.text;
      return judge(answered(wizard, { description }), { description });
    }
    case "completionPhrase": {
      const completionPhrase = wizard.text.trim();
      return judge(answered(wizard, { completionPhrase }), { completionPhrase });
    }
    case "limits":
      return judge(wizard, { timeout: wizard.answers.timeout * 60 });
    case "items":
      return judge(wizard, { items: taken(wizard.answers) });
    default:
      return [wizard];
  }
}

/** Keep what was typed although something was said of it. */
function keepIt(wizard: Wizard, problem: ShownProblem): Turn {
  const problems = wizard.problems.slice(1);
  const accepted = [...wizard.accepted, problem.code];
  const after = { ...wizard, problems, accepted };
  return problems.length > 0 ? [after] : settle(after);
}

function judge(wizard: Wizard, draft: Omit<ValidateSetupParams, "workspace">): Turn {
  return [
    { ...wizard, busy: "judging", problems: [] },
    { kind: "judge", draft },
  ];
}

export function judged(wizard: Wizard, all: readonly SetupProblem[]): Turn {
  if (wizard.busy !== "judging") {
    // Something was typed meanwhile.
    return [wizard];
  }
  const problems = all.filter(({ severity, code }) => {
    return severity === "error" || !wizard.accepted.includes(code);
  });
  const after: Wizard = { ...wizard, busy: undefined, problems };
  return problems.length > 0 ? [after] : settle(after);
}

/** Nothing is left to say of the text. */
function settle(wizard: Wizard): Turn {
  if (wizard.asking?.kind === "timeout") {
    return [back(answered(wizard, { timeout: Number(wizard.text) }))];
  }
  return advance(wizard);
}

function confirmField(wizard: Wizard, asking: Asking): Turn {
  const text = wizard.text.trim();
  switch (asking.kind) {
    case "maxIterations":
      return /^[1-9]\d{0,8}$/.test(text)
        ? [back(answered(wizard, { maxIterations: Number(text) }))]
        : [refused(wizard, t("Enter a whole number of 1 or more."))];
    case "timeout":
      return /^\d{1,6}(\.\d+)?$/.test(text)
        ? judge(wizard, { timeout: Number(text) * 60 })
        : [refused(wizard, t("Enter a number of minutes from 5 to 60."))];
    case "maxCostUsd":
      if (text === "") {
        return [back(answered(wizard, { maxCostUsd: undefined }))];
      }
      return /^\d{1,9}(\.\d+)?$/.test(text) && Number(text) > 0
        ? [back(answered(wizard, { maxCostUsd: Number(text) }))]
        : [
            refused(
              wizard,
              t(
                "Enter an amount in US dollars, such as 5 or 2.50, or leave it empty for no budget.",
              ),
            ),
          ];
    case "agentCommand": {
      const agentCommand = splitCommand(text);
      return agentCommand.length === 0
        ? [refused(wizard, t("Enter a program, followed by its arguments."))]
        : advance(answered(wizard, { agent: OWN_COMMAND, agentCommand }));
    }
    case "title":
      return confirmTitle(wizard, text, asking.item);
  }
}

function confirmTitle(wizard: Wizard, title: string, id: number | undefined): Turn {
  if (title === "") {
    // Nothing more to add; a title that was emptied stays what it was.
    return [back(wizard)];
  }
  const { items } = wizard.answers;
  if (id !== undefined) {
    const changed = items.map((item) => (item.id === id ? { ...item, title } : item));
    return [back(answered(wizard, { items: changed }))];
  }
  const added: Item = {
    ...{ id: newId(items), title, priority: items.at(-1)?.priority ?? "P1" },
    ...{ detail: "", isTicked: true },
  };
  // A user who adds one mostly has another: an empty field ends it.
  return ask(
    answered(wizard, { items: [...items, added] }),
    { kind: "title", item: undefined },
    "",
  );
}

function newId(items: readonly Item[]): number {
  return Math.max(-1, ...items.map(({ id }) => id)) + 1;
}
