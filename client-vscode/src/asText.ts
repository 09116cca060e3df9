/**
 * The loop in plain sentences, for readers and screen readers that go line by line; no VS Code.
 *
 * VS Code has an accessible view for what it draws itself, but lets no extension give
 * one. So the same words are in a document that can be read at any pace.
 */

import { clockTime, count, fromNow } from "./intl";
import { t } from "./l10n";
import { badge } from "./state/badge";
import { loopSnapshot } from "./state/loopSnapshot";
import type { FolderSnapshot, Snapshot } from "./state/snapshot";
import { loopModel, type CardModel, type LoopModel } from "./webview/model";

/** Every folder's loop: its state, what needs attention, the answers, the facts. */
export function answersAsText(snapshot: Snapshot, now: number): string {
  const { folders } = snapshot;
  if (folders.length === 0) {
    return `${t("No folder is open.")}\n`;
  }
  const waiting = badge(snapshot);
  const parts = folders.map((folder) => ofFolder(snapshot, folder, now));
  const head = waiting === undefined || folders.length === 1 ? [] : [waiting.tooltip];
  return `${[...head, ...parts].join("\n\n")}\n`;
}

function ofFolder(snapshot: Snapshot, folder: FolderSnapshot, now: number): string {
  const model = loopModel(loopSnapshot(snapshot, folder), now);
  const told =
    folder.state === undefined
      ? []
      : [t("As of {0} ({1})", clockTime(folder.receivedAt, now), fromNow(folder.receivedAt, now))];
  return [
    model.label,
    ...lines(model),
    ...model.cards.map(cardText),
    rows(model.answers),
    rows(model.facts),
    ...told,
  ]
    .filter((part) => part !== "")
    .join("\n\n");
}

function lines({ headline, countLabel, progress }: LoopModel): readonly string[] {
  const parts = [headline, countLabel, progress?.label ?? ""].filter((part) => part !== "");
  return [[...new Set(parts)].join(", ")];
}

function cardText({ title, when, text, options, buttons }: CardModel): string {
  const can = [...options, ...buttons]
    .filter(({ enabled }) => enabled)
    .map((button) => button.title);
  const offered =
    can.length === 0 ? "" : t("Actions ({0}): {1}", count(can.length), can.join(", "));
  return [title, when, text, offered].filter((part) => part !== "").join("\n");
}

function rows(all: LoopModel["facts"]): string {
  return all
    .map(({ heading, text, more }) => [t("{0}: {1}", heading, text), more])
    .flat()
    .filter((part) => part !== "")
    .join("\n");
}
