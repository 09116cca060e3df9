/** What the buttons of an item's row do to the list; pure. */

import { PRIORITIES } from "../generated/protocol";
import type { Item } from "./answers";

/** The list after a button; the same list where it does nothing. */
export function onItems(items: readonly Item[], button: string, id: number): readonly Item[] {
  const at = items.findIndex((item) => item.id === id);
  const item = items[at];
  if (item === undefined) {
    return items;
  }
  switch (button) {
    case "up":
      return moved(items, at, at - 1);
    case "down":
      return moved(items, at, at + 1);
    case "remove":
      return items.toSpliced(at, 1);
    case "priority": {
      const place = (PRIORITIES.indexOf(item.priority) + 1) % PRIORITIES.length;
      return items.with(at, { ...item, priority: PRIORITIES[place] ?? item.priority });
    }
    default:
      return items;
  }
}

function moved(items: readonly Item[], from: number, to: number): readonly Item[] {
  const item = items[from];
  return item === undefined || to < 0 || to >= items.length
    ? items
    : items.toSpliced(from, 1).toSpliced(to, 0, item);
}
