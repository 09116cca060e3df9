/**
 * The form of a first loop, as it is drawn.
 *
 * What is typed or chosen is the user's: an update from the host never changes it.
 */

import { t } from "../l10n";
import {
  budgetNames,
  budgetWords,
  noAgentWords,
  FIRST_BUDGET,
  hintOf,
  type AgentOffer,
  type Budget,
  type Described,
  type FirstUse,
} from "./firstUse";

/** What the form does. */
export interface FirstUseActions {
  /** Something was typed or chosen: the page remembers it. */
  readonly changed: (described: Described) => void;
  readonly begin: (described: Described) => void;
  readonly command: (command: "setup" | "demo" | "openPlan" | "walkthrough") => void;
}

const made = new WeakMap<HTMLElement, Form>();

/** The form, empty; `update` fills it. */
export function makeForm(
  near: HTMLElement,
  before: Described | undefined,
  actions: FirstUseActions,
): HTMLElement {
  const form = new Form(near.ownerDocument, before, actions);
  made.set(form.root, form);
  return form.root;
}

/** Bring the form up to date; what the user has typed or chosen is theirs. */
export function updateForm(element: HTMLElement, model: FirstUse): void {
  made.get(element)?.update(model);
}

class Form {
  readonly root: HTMLElement;
  private readonly field: HTMLTextAreaElement;
  private readonly agent: HTMLSelectElement;
  private readonly budget: HTMLSelectElement;
  private readonly start: HTMLButtonElement;
  private readonly hint: HTMLElement;
  private model: FirstUse | undefined;

  constructor(
    private readonly page: Document,
    before: Described | undefined,
    private readonly actions: FirstUseActions,
  ) {
    this.field = this.tag("textarea", "field");
    this.field.id = "describe";
    this.field.rows = 5;
    this.field.placeholder = t(
      "For example: A command line tool that counts the words of a text file. Done when its tests pass.",
    );
    this.field.value = before?.description ?? "";
    this.agent = this.tag("select", "choice");
    this.agent.id = "agent";
    this.budget = this.tag("select", "choice");
    this.budget.id = "budget";
    this.start = this.button(t("Start"), () => {
      this.begin();
    });
    this.start.classList.add("primary");
    this.hint = this.tag("p", "hint");
    this.hint.id = "hint";
    this.hint.setAttribute("role", "status");
    this.field.setAttribute("aria-describedby", "hint");
    this.root = this.tag("section", "first");
    this.root.setAttribute("aria-label", t("Start a loop"));
    this.root.append(
      this.label(t("What should be built?"), this.field, "title"),
      this.field,
      this.row(t("Agent"), this.agent),
      this.row(t("Stop after"), this.budget),
      this.line("buttons", [
        this.start,
        this.button(t("Advanced…"), () => {
          actions.command("setup");
        }),
      ]),
      this.hint,
      this.line("links", [
        this.link(t("Try the Demo"), "demo"),
        this.link(t("Write a Plan"), "openPlan"),
        this.link(t("Walkthrough"), "walkthrough"),
      ]),
    );
    this.fill(this.budget, [], before?.budget ?? FIRST_BUDGET);
    this.fillBudgets(false, before?.budget ?? FIRST_BUDGET);
    if (before !== undefined && before.agent !== "") {
      this.fill(this.agent, [[before.agent, before.agent]], before.agent);
    }
    for (const control of [this.field, this.agent, this.budget]) {
      control.addEventListener("input", () => {
        this.changed();
      });
    }
    this.field.addEventListener("keydown", (event: KeyboardEvent) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        this.begin();
      }
    });
  }

  update(model: FirstUse): void {
    const before = this.model;
    this.model = model;
    if (before === undefined || JSON.stringify(before.agents) !== JSON.stringify(model.agents)) {
      const found = (model.agents ?? []).filter((one) => one.found);
      const wished = this.agent.value === "" ? model.agent : this.agent.value;
      this.fill(
        this.agent,
        found.length === 0
          ? [["", noAgentWords(model)]]
          : found.map(({ name }) => [name, name] as const),
        found.some(({ name }) => name === wished) ? wished : (found[0]?.name ?? ""),
      );
      this.agent.disabled = found.length === 0;
    }
    this.fillBudgets(this.chosenAgent()?.reportsCost === true, this.budget.value as Budget);
    this.setHint("");
  }

  private get described(): Described {
    return {
      description: this.field.value,
      agent: this.agent.value,
      budget: this.budget.value as Budget,
    };
  }

  private changed(): void {
    this.fillBudgets(this.chosenAgent()?.reportsCost === true, this.budget.value as Budget);
    this.setHint("");
    this.actions.changed(this.described);
  }

  private begin(): void {
    if (this.model?.beginning === true) {
      return;
    }
    if (this.field.value.trim() === "") {
      this.setHint(t("Say what should be built first."));
      this.field.focus();
    } else if (this.model?.ready === true) {
      this.actions.begin(this.described);
      this.setHint(t("Writing the plan and starting the loop…"));
    }
  }

  private chosenAgent(): AgentOffer | undefined {
    return this.model?.agents?.find(({ name }) => name === this.agent.value);
  }

  /** What prevents a start, or what happens now; `first` where there is something to say before. */
  private setHint(first: string): void {
    const { model } = this;
    const waits = model?.ready !== true;
    setFlag(this.start, "aria-disabled", waits || model.beginning);
    this.hint.textContent = first === "" ? hintOf(model) : first;
    this.hint.hidden = this.hint.textContent === "";
  }

  private fillBudgets(knowsCost: boolean, chosen: Budget): void {
    const shown = budgetNames(knowsCost);
    if (shown.length !== this.budget.options.length) {
      const wished = shown.includes(chosen) ? chosen : FIRST_BUDGET;
      this.fill(
        this.budget,
        shown.map((name) => [name, budgetWords(name)] as const),
        wished,
      );
    }
  }

  private fill(
    select: HTMLSelectElement,
    options: readonly (readonly [value: string, words: string])[],
    chosen: string,
  ): void {
    select.replaceChildren(
      ...options.map(([value, words]) => {
        const option = this.page.createElement("option");
        option.value = value;
        option.textContent = words;
        return option;
      }),
    );
    select.value = chosen;
  }

  private row(words: string, control: HTMLElement): HTMLElement {
    return this.line("pair", [this.label(words, control, "heading"), control]);
  }

  private label(words: string, control: HTMLElement, className: string): HTMLElement {
    const label = this.tag("label", className);
    label.htmlFor = control.id;
    label.textContent = words;
    return label;
  }

  private line(className: string, parts: readonly HTMLElement[]): HTMLElement {
    const line = this.tag("div", className);
    line.append(...parts);
    return line;
  }

  private link(words: string, command: Parameters<FirstUseActions["command"]>[0]): HTMLElement {
    const link = this.button(words, () => {
      this.actions.command(command);
    });
    link.className = "link";
    return link;
  }

  private button(words: string, press: () => void): HTMLButtonElement {
    const button = this.tag("button", "button");
    button.type = "button";
    button.textContent = words;
    button.addEventListener("click", press);
    return button;
  }

  private tag<Name extends keyof HTMLElementTagNameMap>(
    name: Name,
    className: string,
  ): HTMLElementTagNameMap[Name] {
    const element = this.page.createElement(name);
    element.className = className;
    return element;
  }
}

function setFlag(element: HTMLElement, name: string, isSet: boolean): void {
  if (isSet) {
    element.setAttribute(name, "true");
  } else {
    element.removeAttribute(name);
  }
}
