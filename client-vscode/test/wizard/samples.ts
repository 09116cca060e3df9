/** What the server says of a folder that is to be set up, and a user who goes through it. */

import type { SetupChoicesResult, SetupProblem, SetupResult } from "../../src/generated/protocol";
import {
  freshAnswers,
  type Answers,
  type Item,
  type Kept,
  type Step,
} from "../../src/wizard/answers";
import { next, open } from "../../src/wizard/model";
import type { Effect, Event, Wizard } from "../../src/wizard/state";

export const SKELETON = "# What is wrong\n\nIt is done when:\n\n- ";

export function choices(changes: Partial<SetupChoicesResult> = {}): SetupChoicesResult {
  return {
    profiles: [
      {
        ...{ name: "fixplan", title: "Fix plan", detail: "One file.", plan: "@fix_plan.md" },
        needsItems: true,
      },
      {
        ...{
          name: "spec",
          title: "Specs",
          detail: "One file each.",
          plan: "IMPLEMENTATION_PLAN.md",
        },
        needsItems: true,
      },
    ],
    templates: [
      {
        ...{ id: "bug-fix", title: "Bug Fix", detail: "Mend it.", source: "builtIn" },
        description: SKELETON,
        items: [{ title: "Write a failing test", priority: "P0", detail: "It fails." }],
      },
      {
        ...{ id: "own:mine", title: "Mine", detail: "", source: "own", path: "/t/mine.md" },
        ...{ description: "One line", items: [] },
      },
    ],
    templateFolder: "/t",
    agents: [
      { name: "claude", found: true, detail: "/bin/claude", needsAllow: false, reportsCost: false },
      { name: "command", found: true, detail: "agent.sh", needsAllow: true, reportsCost: false },
      { name: "demo", found: false, detail: "nowhere", needsAllow: false, reportsCost: false },
    ],
    alreadySetUp: false,
    defaults: { maxIterations: 20, timeout: 1800, completionPhrase: "COMPLETE", agent: "claude" },
    notes: [],
    ...changes,
  };
}

export const NO_WISHES = { profile: "", agent: "" };

export function answers(changes: Partial<Answers> = {}): Answers {
  return { ...freshAnswers(choices(), NO_WISHES), ...changes };
}

export function item(id: number, changes: Partial<Item> = {}): Item {
  return { id, title: `Item ${id}`, priority: "P1", detail: "", isTicked: true, ...changes };
}

export function problem(changes: Partial<SetupProblem> = {}): SetupProblem {
  return {
    ...{ field: "description", severity: "warning", code: "short", message: "Short." },
    ...changes,
  };
}

export const RESULT: SetupResult = {
  written: false,
  files: [
    { path: "@fix_plan.md", action: "create", text: "# Plan\n\n- [ ] a\n" },
    { path: ".ralph/config.toml", action: "change", text: 'agent = "claude"' },
    { path: ".gitignore", action: "keep", text: "/x\n" },
  ],
  notes: ["Allow it first."],
};

/** A user at a screen: does one thing after the other, and sees what comes of it. */
export class Person {
  wizard: Wizard;
  /** What the last event wanted done. */
  effect: Effect | undefined;

  constructor(kept: Partial<Kept> = {}, given: SetupChoicesResult = choices()) {
    const all = { step: "profile" as Step, answers: freshAnswers(given, NO_WISHES), ...kept };
    [this.wizard, this.effect] = open(given, all);
  }

  does(...events: readonly Event[]): this {
    for (const event of events) {
      [this.wizard, this.effect] = next(this.wizard, event);
    }
    return this;
  }

  types(text: string): this {
    return this.does({ kind: "typed", text }, { kind: "confirmed" });
  }

  chooses(row: string): this {
    return this.does({ kind: "chose", row });
  }

  presses(button: string, row?: number): this {
    return this.does({
      ...({ kind: "pressed", button } as const),
      ...(row === undefined ? {} : { row: String(row) }),
    });
  }

  hears(...problems: readonly SetupProblem[]): this {
    return this.does({ kind: "judged", problems });
  }

  confirms(): this {
    return this.does({ kind: "confirmed" });
  }

  get answers(): Answers {
    return this.wizard.answers;
  }

  get step(): Step {
    return this.wizard.step;
  }

  get said(): readonly string[] {
    return this.wizard.problems.map(({ message }) => message);
  }
}
