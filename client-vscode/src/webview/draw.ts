/**
 * Draws the Loop view: puts a model into the page, and leaves alone what is as it was.
 *
 * Elements are kept by key, so that a button under the pointer or the keyboard stays the same
 * button while the numbers around it change. Everything from outside is written as text: nothing
 * here ever parses HTML. It must never know the host, nor what a button does.
 */

import { t } from "../l10n";
import { drawClaims } from "./claims";
import { keep, keepFocus, last, section, setAttribute, setText, setTone, tag } from "./elements";
import type { Line } from "./feed";
import { makeForm, updateForm, type FirstUseActions } from "./firstForm";
import type { Described } from "./firstUse";
import type { Button, CardModel, FolderTab, LoopModel, Progress, Row } from "./model";

/** What is done with a button that was pressed. */
export type Press = (button: Button) => void;

/** What else the page does for the user. */
export interface PageActions extends FirstUseActions {
  readonly press: Press;
  /** Open the file of a claim. */
  readonly openClaim: (key: string) => void;
  /** What the form held when the page was hidden. */
  readonly described: Described | undefined;
}

/** Bring the page up to date. */
export function draw(
  root: HTMLElement,
  model: LoopModel,
  feed: readonly Line[],
  actions: PageActions,
): void {
  const { press } = actions;
  const answers = model.answers.filter(({ isRedundant }) => !isRedundant);
  root.dataset["state"] = model.state;
  setAttribute(root, "aria-label", model.label);
  setAttribute(root, "data-stale", model.stale ? "true" : "");
  const parts: Part[] = [
    [
      "folders",
      model.folders.length > 0,
      () => section(root, "folders", t("All folders"), "ol"),
      (element) => {
        drawFolders(last(element), model.folders, press);
      },
    ],
    [
      "head",
      model.headline !== "",
      () => head(root),
      (element) => {
        drawHead(element, model);
      },
    ],
    [
      "progress",
      model.progress !== undefined,
      () => tag(root, "progress", "progress"),
      (element) => {
        drawProgress(element as HTMLProgressElement, model.progress);
      },
    ],
    [
      "cards",
      model.cards.length > 0,
      () => tag(root, "div", "cards"),
      (element) => {
        drawCards(element, model.cards, actions);
      },
    ],
    [
      "first",
      model.firstUse !== undefined,
      () => makeForm(root, actions.described, actions),
      (element) => {
        if (model.firstUse !== undefined) {
          updateForm(element, model.firstUse);
        }
      },
    ],
    [
      "feed",
      feed.length > 0,
      () => {
        const made = section(root, "feed", t("Agent output"), "ol");
        // It scrolls by itself, so the keyboard has to get there.
        last(made).tabIndex = 0;
        return made;
      },
      (element) => {
        drawLines(last(element), feed);
      },
    ],
    [
      "buttons",
      model.buttons.length > 0,
      () => tag(root, "div", "buttons"),
      (element) => {
        drawButtons(element, model.buttons, press);
      },
    ],
    [
      "answers",
      answers.length > 0,
      () => section(root, "answers", t("Summary"), "dl"),
      (element) => {
        drawRows(last(element), answers);
      },
    ],
    [
      "facts",
      model.facts.length > 0,
      () => section(root, "facts", t("Details"), "dl"),
      (element) => {
        drawRows(last(element), model.facts);
      },
    ],
  ];
  const shown = parts.filter(([, isShown]) => isShown);
  keepFocus(root, () => {
    keep(
      root,
      shown,
      ([key]) => key,
      ([, , make]) => make(),
      (element, [, , , update]) => {
        update(element);
      },
    );
  });
}

type Part = [
  key: string,
  isShown: boolean,
  make: () => HTMLElement,
  update: (element: HTMLElement) => void,
];

// ---------------------------------------------------------------------------------- its parts

function head(root: HTMLElement): HTMLElement {
  const header = tag(root, "header", "head");
  const dot = tag(root, "span", "dot");
  dot.setAttribute("aria-hidden", "true");
  header.append(
    dot,
    tag(root, "h2", "headline"),
    tag(root, "span", "count"),
    tag(root, "p", "doing"),
  );
  return header;
}

function drawHead(header: HTMLElement, model: LoopModel): void {
  setTone(header, model.tone);
  const [, headline, count, doing] = header.children as unknown as [
    Element,
    HTMLElement,
    HTMLElement,
    HTMLElement,
  ];
  setText(headline, model.headline);
  setText(count, model.count);
  setText(doing, model.doing);
  doing.hidden = model.doing === "";
  setAttribute(count, "aria-label", model.countLabel);
  setAttribute(count, "role", model.countLabel === "" ? "" : "img");
}

function drawProgress(bar: HTMLProgressElement, progress: Progress | undefined): void {
  if (progress !== undefined) {
    setAttribute(bar, "max", String(progress.of));
    setAttribute(bar, "value", String(Math.min(progress.value, progress.of)));
    setAttribute(bar, "aria-label", progress.label);
  }
}

function drawCards(
  parent: HTMLElement,
  cards: readonly CardModel[],
  { press, openClaim }: PageActions,
): void {
  keep(
    parent,
    cards,
    ({ key }) => key,
    () => {
      const card = tag(parent, "section", "card");
      card.append(
        tag(parent, "h3", "title"),
        tag(parent, "p", "when"),
        tag(parent, "p", "text"),
        tag(parent, "div", "options"),
        tag(parent, "ul", "claims"),
        tag(parent, "progress", "busy"),
        tag(parent, "div", "buttons"),
      );
      return card;
    },
    (element, card) => {
      setTone(element, card.tone);
      element.classList.toggle("large", card.isLarge);
      setAttribute(element, "aria-label", card.title);
      const [title, when, text, options, claims, busy, buttons] =
        element.children as unknown as CardParts;
      setText(title, card.title);
      setText(when, card.when);
      when.hidden = card.when === "";
      setText(text, card.text);
      text.hidden = card.text === "";
      drawButtons(options, card.options, press);
      options.hidden = card.options.length === 0;
      drawClaims(claims, card.claims ?? [], openClaim);
      claims.hidden = card.claims === undefined;
      setAttribute(busy, "aria-label", card.title);
      busy.hidden = card.busy !== true;
      drawButtons(buttons, card.buttons, press);
      buttons.hidden = card.buttons.length === 0;
    },
  );
}

type CardParts = [
  title: HTMLElement,
  when: HTMLElement,
  text: HTMLElement,
  options: HTMLElement,
  claims: HTMLElement,
  busy: HTMLElement,
  buttons: HTMLElement,
];

/** One line a folder: its name is the button that shows it. */
function drawFolders(list: HTMLElement, folders: readonly FolderTab[], press: Press): void {
  keep(
    list,
    folders,
    ({ button }) => keyOf(button),
    () => {
      const row = tag(list, "li", "folder");
      const shows = tag(list, "button", "shows");
      shows.type = "button";
      shows.append(tag(list, "span", "name"), tag(list, "span", "text"));
      row.append(shows);
      return row;
    },
    (row, folder) => {
      const shows = row.firstElementChild as HTMLButtonElement;
      const [name, words] = shows.children as unknown as [HTMLElement, HTMLElement];
      setTone(row, folder.tone);
      row.classList.toggle("needs", folder.needsPerson);
      setText(name, folder.button.title);
      setText(words, folder.words);
      setAttribute(shows, "aria-current", folder.isShown ? "true" : "");
      shows.onclick = (): void => {
        press(folder.button);
      };
    },
  );
}

function drawButtons(parent: HTMLElement, buttons: readonly Button[], press: Press): void {
  keep(
    parent,
    buttons,
    keyOf,
    () => tag(parent, "button", "button"),
    (element, button) => {
      const pressed = element as HTMLButtonElement;
      setText(pressed, button.title);
      pressed.type = "button";
      pressed.classList.toggle("primary", button.primary);
      // Not `disabled`, which would throw the keyboard out of the page.
      setAttribute(pressed, "aria-disabled", button.enabled ? "" : "true");
      pressed.onclick = (): void => {
        if (button.enabled) {
          press(button);
        }
      };
    },
  );
}

function keyOf({ does }: Button): string {
  if ("command" in does) {
    return does.command;
  }
  return "show" in does ? does.show : JSON.stringify(does.action.verb);
}

function drawRows(list: HTMLElement, rows: readonly Row[]): void {
  keep(
    list,
    rows,
    ({ key }) => key,
    () => {
      const pair = tag(list, "div", "row");
      pair.append(tag(list, "dt", "heading"), tag(list, "dd", "words"));
      return pair;
    },
    (pair, row) => {
      const [heading, words] = pair.children as unknown as [HTMLElement, HTMLElement];
      setText(heading, row.heading);
      setTone(words, row.tone);
      drawWords(words, row);
    },
  );
}

/** The words of a row; what was cut from them is behind a line that opens. */
function drawWords(words: HTMLElement, row: Row): void {
  const parts: readonly ("text" | "more")[] = [row.more === "" ? "text" : "more"];
  keep(
    words,
    parts,
    (part) => part,
    (part) => {
      if (part === "text") {
        return tag(words, "span", "text");
      }
      const details = tag(words, "details", "more");
      details.append(tag(words, "summary", "text"), tag(words, "p", "rest"));
      return details;
    },
    (element, part) => {
      if (part === "text") {
        setText(element, row.text);
        return;
      }
      const [summary, rest] = element.children as unknown as [HTMLElement, HTMLElement];
      setText(summary, row.text);
      setText(rest, row.more);
    },
  );
}

/** It follows what is new, unless the user has scrolled up to read. */
function drawLines(list: HTMLElement, lines: readonly Line[]): void {
  const follows = list.scrollHeight - list.scrollTop - list.clientHeight < FOLLOWS_WITHIN;
  keep(
    list,
    lines.map((line, at) => ({ line, at })),
    ({ at }) => String(at),
    () => tag(list, "li", "line"),
    (element, { line }) => {
      setText(element, line.text);
      setAttribute(element, "data-kind", line.kind);
      setTone(element, line.tone);
    },
  );
  if (follows) {
    list.scrollTop = list.scrollHeight;
  }
}

/** Pixels from its end within which a list counts as at its end. */
const FOLLOWS_WITHIN = 8;
