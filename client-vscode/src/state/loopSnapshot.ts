/** What the Loop view's page is handed of one folder. */

import type { Panel } from "../generated/protocol";
import { t } from "../l10n";
import type { FirstUse } from "../webview/firstUse";
import type { FolderLine, LoopSnapshot } from "../webview/messages";
import { noticeOf } from "./notice";
import {
  folderOf,
  isFresh,
  isSetUp,
  panelOf,
  type FolderSnapshot,
  type Snapshot,
} from "./snapshot";

/** Where no folder is open there is only what helps. */
export function loopSnapshot(snapshot: Snapshot, folder: FolderSnapshot | undefined): LoopSnapshot {
  const notice = noticeOf(snapshot);
  const firstUse = folder === undefined ? undefined : firstUseOf(snapshot, folder);
  return {
    workspace: folder?.uri ?? "",
    name: snapshot.folders.length > 1 ? (folder?.name ?? "") : "",
    receivedAt: folder?.receivedAt ?? 0,
    starting: folder !== undefined && folderOf(snapshot, snapshot.starting)?.uri === folder.uri,
    folders:
      snapshot.folders.length > 1
        ? snapshot.folders.map((each) => folderLine(each, each.uri === folder?.uri))
        : [],
    canAct: snapshot.trusted && snapshot.server.kind === "ok",
    // Where there is nothing to show yet, a card is all there is.
    ...(folder?.state === undefined || (!snapshot.trusted && isFresh(folder))
      ? {}
      : { state: folder.state }),
    ...(notice === undefined ? {} : { notice }),
    ...(firstUse === undefined ? {} : { firstUse }),
  };
}

/** The form, wherever there is no loop yet: it can be filled while the server is being set up. */
function firstUseOf(snapshot: Snapshot, folder: FolderSnapshot): FirstUse | undefined {
  const { server, trusted, beginning } = snapshot;
  const isPreparing = server.kind === "missing" || server.kind === "installing";
  const isOffered = isFresh(folder) || folder.problem?.code === "workspace-missing";
  if (!trusted || !(isOffered || (isPreparing && folder.state === undefined))) {
    return undefined;
  }
  const { choices } = folder;
  return {
    agents: choices?.agents.filter(({ name }) => name !== "demo"),
    agent: choices?.defaults.agent ?? "",
    ready: server.kind === "ok" && isFresh(folder),
    beginning: beginning === folder.uri,
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
