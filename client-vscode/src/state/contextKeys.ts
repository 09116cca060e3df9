/**
 * What menus and commands may ask about: every context key of ours, set in this one place.
 *
 * `can.*` is true where some folder takes the order; `shown.*` speaks of the folder in the views.
 */

import type { Verb } from "../generated/protocol";
import {
  isBlocked,
  isElsewhere,
  isSetUp,
  offers,
  panelOf,
  refusalOf,
  shownFolder,
  type FolderSnapshot,
  type Snapshot,
} from "./snapshot";

/** The verbs that have a key. */
export const KEYED_VERBS = [
  "start",
  "stop",
  "pause",
  "resume",
  "reset",
  "overrule",
  "answer",
] as const;

/** Whether a run ended in a folder of the window. */
export function hasEnded({ folders }: Snapshot): boolean {
  return folders.some(({ state }) => state?.run !== undefined && !state.live);
}

export type ContextValue = string | boolean | readonly string[];

/**
 * Every key with its value. `pathOf` gives the file path of a URI, as menus see it; `hadRun` says
 * that a run ended here before.
 */
export function contextKeys(
  snapshot: Snapshot,
  pathOf: (uri: string) => string,
  hadRun = false,
): Readonly<Record<string, ContextValue>> {
  const shown = shownFolder(snapshot);
  const panel = panelOf(shown);
  const { folders } = snapshot;
  const answers = snapshot.server.kind === "ok";
  const any = (holds: (folder: FolderSnapshot) => boolean): boolean =>
    answers && folders.some(holds);
  const keys: Record<string, ContextValue> = {
    "ralphLoop.server": snapshot.server.kind,
    "ralphLoop.setup": folders.some(isSetUp),
    "ralphLoop.hasRun": folders.some(({ state }) => state?.run !== undefined),
    "ralphLoop.hasLanes": (panel?.lanes?.rows.length ?? 0) > 0,
    // A first run leaves the room to the views that show it.
    "ralphLoop.hasHistory": hadRun || isElsewhere(snapshot) || hasEnded(snapshot),
    "ralphLoop.state": panel?.state ?? "none",
    "ralphLoop.breaker": panel?.breaker ?? "CLOSED",
    "ralphLoop.live": any(({ state }) => state?.live === true),
    "ralphLoop.several": folders.length > 1,
    "ralphLoop.questionWaiting": any((folder) => offers(folder, "answer")),
    "ralphLoop.can.resolve": snapshot.trusted && any(isBlocked),
    "ralphLoop.hasPlan": shown !== undefined && isSetUp(shown),
    "ralphLoop.refused": refusalOf(snapshot, shown)?.code ?? "",
    "ralphLoop.shown.live": answers && shown?.state?.live === true,
    "ralphLoop.startablePlans": folders
      .filter((folder) => snapshot.trusted && answers && offers(folder, "start"))
      .flatMap(({ state }) => (state?.plan.uri === undefined ? [] : [pathOf(state.plan.uri)])),
  };
  for (const verb of KEYED_VERBS satisfies readonly Verb[]) {
    // Where the folder is not trusted the server obeys no order.
    const obeys = snapshot.trusted && answers;
    keys[`ralphLoop.can.${verb}`] = obeys && any((folder) => offers(folder, verb));
    keys[`ralphLoop.shown.${verb}`] = obeys && shown !== undefined && offers(shown, verb);
  }
  return keys;
}
