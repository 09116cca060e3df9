/** What the Loop view's page is handed of one folder. */

import type { LoopSnapshot } from "../webview/messages";
import { noticeOf } from "./notice";
import type { FolderSnapshot, Snapshot } from "./snapshot";

export function loopSnapshot(snapshot: Snapshot, folder: FolderSnapshot): LoopSnapshot {
  const notice = noticeOf(snapshot);
  return {
    workspace: folder.uri,
    name: snapshot.folders.length > 1 ? folder.name : "",
    receivedAt: folder.receivedAt,
    canAct: snapshot.trusted && snapshot.server.kind === "ok",
    ...(folder.state === undefined ? {} : { state: folder.state }),
    ...(notice === undefined ? {} : { notice }),
  };
}
