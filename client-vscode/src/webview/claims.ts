/** The commands and files that would run, each with its text, in the card that asks to allow them. */

import type { ClaimView } from "../generated/protocol";
import { t } from "../l10n";

/** Draw them into `parent`; `open` is called with the key of one whose file is wanted. */
export function drawClaims(
  parent: HTMLElement,
  claims: readonly ClaimView[],
  open: (key: string) => void,
): void {
  const shown = JSON.stringify(claims);
  if (parent.dataset["shown"] === shown) {
    return;
  }
  parent.dataset["shown"] = shown;
  const { ownerDocument: page } = parent;
  const tag = (name: string, className: string, words = ""): HTMLElement => {
    const element = page.createElement(name);
    element.className = className;
    element.textContent = words;
    return element;
  };
  parent.replaceChildren(
    ...claims.map((claim) => {
      const item = tag("li", "claim");
      const button = tag("button", "link", claim.key) as HTMLButtonElement;
      button.type = "button";
      button.title = t("Open in the editor");
      button.addEventListener("click", () => {
        open(claim.key);
      });
      const text = tag("pre", "code", textOf(claim));
      text.tabIndex = 0;
      text.setAttribute("aria-label", claim.key);
      item.append(button, text);
      for (const words of claim.notCovered) {
        item.append(tag("p", "note", t("Not covered by the approval: {0}", words)));
      }
      return item;
    }),
  );
}

function textOf({ text, cut }: ClaimView): string {
  if (text === "") {
    return t("(open the file to see it)");
  }
  return cut ? `${text}\n${t("… open the file for the rest")}` : text.replace(/\n$/, "");
}
