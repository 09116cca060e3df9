/** What the Loop view's page is handed of one folder. */

import type { Panel } from "../generated/protocol";
import { t } from "../l10n";
import type { FolderLine, LoopSnapshot } from "../webview/messages";
import { noticeOf } from "./notice";
import { folderOf, isSetUp, panelOf, type FolderSnapshot, type Snapshot } from "./snapshot";

export function loopSnapshot(snapshot: Snapshot, folder: FolderSnapshot): LoopSnapshot {
  const notice = noticeOf(snapshot);
  return {
    workspace: folder.uri,
    name: snapshot.folders.length > 1 ? folder.name : "",
    receivedAt: folder.receivedAt,
    starting: folderOf(snapshot, snapshot.starting)?.uri === folder.uri,
    folders:
      snapshot.folders.length > 1
        ? snapshot.folders.map((each) => folderLine(each, each.uri === folder.uri))
        : [],
    canAct: snapshot.trusted && snapshot.server.kind === "ok",
    ...(folder.state === undefined ? {} : { state: folder.state }),
    ...(notice === undefined ? {} : { notice }),
  };
}

/** A folder in the overview of all: its name, and its loop in a few words. */
function folderLine(folder: FolderSnapshot, isShown: boolean): FolderLine {
  const panel = panelOf(folder);
  const idle = isSetUp(folder) ? t("no run yet") : t("not set up");
  const hasRun = panel !== undefined && panel.state !== "none";
  return {
    workspace: folder.uri,
    name: folder.name,
    words: hasRun ? [panel.headline, ...progressWords(panel)].join(" · ") : idle,
    tone: panel?.tone ?? "plain",
    needsPerson: panel?.needsPerson === true,
    isShown,
  };
}

function progressWords({ state, short }: Panel): readonly string[] {
  return state === "running" ? [short] : [];
}
