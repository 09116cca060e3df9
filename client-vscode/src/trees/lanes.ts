/** The rows of the tree of lanes of a parallel run. Does not import VS Code. */

import type { LaneRow } from "../generated/protocol";
import { t } from "../l10n";
import type { FolderSnapshot } from "../state/snapshot";
import { costWords } from "./iterations";
import type { LaneNode, NodeIcon } from "./nodes";
import { laneOffers, offerWords } from "./offers";

/** The lanes of a folder's newest run: those at work first, as the server lists them. */
export function laneNodes(folder: FolderSnapshot | undefined): readonly LaneNode[] {
  const lanes = folder?.state?.panel?.lanes;
  return folder === undefined || lanes === undefined
    ? []
    : lanes.rows.map((row) => laneNode(folder, lanes.run, row));
}

/** What is merged of what is to be done, and the lanes that are not at work. */
export function lanesSummary(folder: FolderSnapshot | undefined): string {
  return folder?.state?.panel?.lanes?.words ?? "";
}

function laneNode(folder: FolderSnapshot, run: string, row: LaneRow): LaneNode {
  const cost = costWords(row);
  const conflicts = conflictsOf(row);
  return {
    kind: "lane",
    id: `${folder.uri}#${run}:lane:${row.task.id}`,
    label: row.task.title,
    description: [t("lane {0}", row.lane), row.words].join(" · "),
    tooltip: [
      row.task.title,
      t("Lane {0}: {1}", row.lane, row.words),
      conflicts.length === 0 ? "" : t("Conflicts in {0}", conflicts.join(", ")),
      row.kept ?? "",
      t("Branch {0}", row.branch),
      cost,
    ]
      .filter((part) => part !== "")
      .join("\n"),
    spoken: [row.task.title, t("lane {0}", row.lane), row.words, cost]
      .filter((part) => part !== "")
      .join(", "),
    context: ["lane", ...offerWords(laneOffers(row))].join(" "),
    icon: laneIcon(row),
    folder: folder.uri,
    row,
  };
}

/** The files that conflict now; those that the lane has resolved are no news. */
export function conflictsOf(row: LaneRow): readonly string[] {
  return row.state === "merged" ? [] : row.conflicts;
}

function laneIcon(row: LaneRow): NodeIcon {
  if (row.question !== undefined) {
    return { name: "question", color: "list.warningForeground" };
  }
  switch (row.state) {
    case "working":
      return row.problem === "conflict"
        ? { name: "git-merge", color: "list.warningForeground" }
        : { name: "sync", color: "charts.blue" };
    case "queued":
      return { name: "clock", color: undefined };
    case "merging":
      return { name: "git-merge", color: "charts.blue" };
    case "merged":
      return { name: "pass", color: undefined };
    case "parked":
      return { name: "warning", color: "list.errorForeground" };
    case "dropped":
      return { name: "circle-slash", color: "disabledForeground" };
  }
}
