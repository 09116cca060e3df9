/**
 * The set-up wizard as a machine: the current step, what happened, and what has to be done next.
 *
 * Pure: `next` takes a wizard and an event and gives a wizard and at most one effect, whose outcome
 * is an event again. What a text is worth the server judges; one message is shown at a time, the
 * most severe first: an error stops the user, anything else they may keep by a second Enter.
 * Nothing is written before the effect `write`, which only the last screen has.
 */

import type { ProposePlanResult, SetupChoicesResult } from "../generated/protocol";
import { t } from "../l10n";
import { toItems, type Kept } from "./answers";
import { confirm, judged } from "./enter";
import { readDraft } from "./planDraft";
import { choose, press } from "./rows";
import {
  advance,
  answered,
  enter,
  failure,
  goBack,
  unjudged,
  type Draft,
  type Event,
  type Turn,
  type Wizard,
} from "./state";

/** The wizard as it opens: at the beginning, or where it was left. */
export function open(choices: SetupChoicesResult, kept: Kept): Turn {
  const wizard: Wizard = {
    choices,
    answers: kept.answers,
    step: kept.step,
    asking: undefined,
    text: "",
    problems: [],
    accepted: [],
    busy: undefined,
    result: undefined,
    notes: [],
  };
  return enter(wizard, kept.step);
}

/** What happens to it. */
export function next(wizard: Wizard, event: Event): Turn {
  switch (event.kind) {
    case "typed":
      return event.text === wizard.text ? [wizard] : [unjudged({ ...wizard, text: event.text })];
    case "confirmed":
      return confirm(wizard);
    case "chose":
      return wizard.busy === undefined || event.row === "stop"
        ? choose(wizard, event.row)
        : [wizard];
    case "ticked": {
      const items = wizard.answers.items.map((item) => ({
        ...item,
        isTicked: event.rows.includes(String(item.id)),
      }));
      const same = items.every(({ isTicked }, at) => {
        return isTicked === wizard.answers.items[at]?.isTicked;
      });
      return same ? [wizard] : [unjudged(answered(wizard, { items }))];
    }
    case "pressed":
      return press(wizard, event.button, event.row);
    case "wentBack":
      return goBack(wizard);
    case "judged":
      return judged(wizard, event.problems);
    case "proposed":
      return proposed(wizard, event.result);
    case "planned":
      return wizard.busy === "planning"
        ? [{ ...wizard, busy: undefined, result: event.result }]
        : [wizard];
    case "drafted":
      return drafted(wizard, event.draft, event.text);
    case "fileChosen":
      return advance(answered(wizard, { source: "existing", plan: event.path }), "launch");
    case "failed":
      return [{ ...wizard, busy: undefined, problems: [failure(event.message)] }];
  }
}

function proposed(wizard: Wizard, { items, notes }: ProposePlanResult): Turn {
  if (wizard.busy !== "proposing") {
    return [wizard];
  }
  if (items.length === 0) {
    const message = [
      t("The agent proposed no items. Write them yourself, or ask again."),
      ...notes,
    ];
    return [{ ...wizard, busy: undefined, problems: [failure(message.join(" "))] }];
  }
  const [there] = enter(answered(wizard, { items: toItems(items) }), "items");
  return [{ ...there, notes }];
}

function drafted(wizard: Wizard, draft: Draft, text: string): Turn {
  if (draft === "description") {
    const description = text.trim();
    return enter(answered(wizard, { description }), "description");
  }
  const items = readDraft(text);
  const source = wizard.answers.source ?? "write";
  return enter(answered(wizard, { items, source }), items.length === 0 ? "source" : "items");
}
