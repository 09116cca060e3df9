/** Elements of the Loop view that are changed in place, so that keyboard, selection and scroll stay. */

import type { Tone } from "../generated/protocol";

/** Make the children of `parent` those of `items`, in their order; each is made once per key. */
export function keep<Item>(
  parent: HTMLElement,
  items: readonly Item[],
  keyOf: (item: Item) => string,
  make: (item: Item) => HTMLElement,
  update: (element: HTMLElement, item: Item) => void,
): void {
  const before = new Map<string, HTMLElement>();
  for (const child of [...parent.children] as HTMLElement[]) {
    before.set(child.dataset["key"] ?? "", child);
  }
  // Two buttons may say the same; then their positions distinguish them.
  const used = new Set<string>();
  const keyed = items.map((item) => {
    let key = keyOf(item);
    while (used.has(key)) {
      key += "+";
    }
    used.add(key);
    return { key, item };
  });
  // What goes away goes first: to move an element is to take the keyboard from it.
  for (const [key, child] of before) {
    if (!used.has(key)) {
      child.remove();
    }
  }
  let place = parent.firstElementChild;
  for (const { key, item } of keyed) {
    const known = before.get(key);
    const element = known ?? make(item);
    if (known === undefined) {
      element.dataset["key"] = key;
    }
    update(element, item);
    if (element === place) {
      place = element.nextElementSibling;
    } else {
      parent.insertBefore(element, place);
    }
  }
}

/** The keyboard stays where it was; where that went away, it stays in the page. */
export function keepFocus(root: HTMLElement, change: () => void): void {
  const { ownerDocument: page } = root;
  const focused = page.activeElement as HTMLElement | null;
  const wasInside = focused !== null && focused !== root && root.contains(focused);
  change();
  if (wasInside && page.activeElement !== focused) {
    const kept = focused.isConnected && focused.closest("[hidden]") === null ? focused : root;
    root.tabIndex = -1;
    kept.focus({ preventScroll: true });
  }
}

export function section(
  root: HTMLElement,
  name: string,
  title: string,
  list: "dl" | "ol",
): HTMLElement {
  const made = tag(root, "section", name);
  const heading = tag(root, "h3", "unseen");
  heading.textContent = title;
  heading.id = `heading-${name}`;
  made.setAttribute("aria-labelledby", heading.id);
  made.append(heading, tag(root, list, "list"));
  return made;
}

export function tag<Name extends keyof HTMLElementTagNameMap>(
  near: HTMLElement,
  name: Name,
  className: string,
): HTMLElementTagNameMap[Name] {
  const made = near.ownerDocument.createElement(name);
  made.className = className;
  return made;
}

export function last(element: HTMLElement): HTMLElement {
  return element.lastElementChild as HTMLElement;
}

export function setTone(element: HTMLElement, tone: Tone): void {
  setAttribute(element, "data-tone", tone);
}

/** Writing what is there already would lose a selection and wake a screen reader. */
export function setText(element: Element, text: string): void {
  if (element.textContent !== text) {
    element.textContent = text;
  }
}

export function setAttribute(element: Element, name: string, value: string): void {
  if (value === "") {
    element.removeAttribute(name);
  } else if (element.getAttribute(name) !== value) {
    element.setAttribute(name, value);
  }
}
