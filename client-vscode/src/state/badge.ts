/** The number on the icon of the container: what waits for the user, over all folders. */

import { t } from "../l10n";
import { clientNeeds } from "./notice";
import { panelOf, type Snapshot } from "./snapshot";

export interface Badge {
  readonly value: number;
  readonly tooltip: string;
}

/** None where nobody is waited for: a badge of 0 would still be drawn. */
export function badge(snapshot: Snapshot): Badge | undefined {
  const { folders } = snapshot;
  const own = clientNeeds(snapshot);
  const waiting = folders.filter((folder) => (panelOf(folder)?.badge ?? 0) > 0);
  const value = waiting.reduce((sum, folder) => sum + (panelOf(folder)?.badge ?? 0), own.length);
  if (value === 0) {
    return undefined;
  }
  const several = folders.length > 1;
  const words = waiting.map((folder) => {
    const headline = panelOf(folder)?.headline ?? "";
    return several ? t("{0}: {1}", folder.name, headline) : headline;
  });
  return { value, tooltip: [...own, ...words].join(", ") };
}
