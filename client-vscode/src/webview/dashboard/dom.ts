/** Makes elements; every text is written as text, and nothing here ever parses HTML. */

export type Child = Node | string | undefined;

/** An element with its attributes and children. */
export function element<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Readonly<Record<string, string>> = {},
  children: readonly Child[] = [],
): HTMLElementTagNameMap[Name] {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== undefined));
  return made;
}

/** A button that does something. */
export function button(text: string, does: () => void, title?: string): HTMLButtonElement {
  const made = element("button", { type: "button", ...(title === undefined ? {} : { title }) }, [
    text,
  ]);
  made.addEventListener("click", does);
  return made;
}

/** One choice of a few, as radio buttons that look like a bar. */
export function segments<Value>(
  name: string,
  label: string,
  options: readonly (readonly [Value, string])[],
  chosen: Value,
  choose: (value: Value) => void,
): HTMLElement {
  const inputs = options.map(([value, text]) => {
    const input = element("input", { type: "radio", name });
    input.checked = value === chosen;
    input.addEventListener("change", () => {
      choose(value);
    });
    return element("label", {}, [input, element("span", {}, [text])]);
  });
  return element("fieldset", { class: "segments" }, [
    element("legend", { class: "unseen" }, [label]),
    ...inputs,
  ]);
}

/** One choice of many. */
export function select<Value>(
  label: string,
  options: readonly (readonly [Value, string])[],
  chosen: Value,
  choose: (value: Value) => void,
): HTMLElement {
  const made = element("select", { "aria-label": label });
  options.forEach(([value, text], index) => {
    const option = element("option", { value: String(index) }, [text]);
    option.selected = value === chosen;
    made.append(option);
  });
  made.addEventListener("change", () => {
    const found = options[made.selectedIndex];
    if (found !== undefined) {
      choose(found[0]);
    }
  });
  return made;
}
