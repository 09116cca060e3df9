/**
 * Files as they were at a commit, as read-only documents; the server reads them from git.
 *
 * The address names the folder of the window, the commit and a path inside the work tree. One
 * without a commit is empty: the other side of a file that came or went.
 */

import * as vscode from "vscode";

import { t } from "../l10n";
import type { Connection } from "../server/connection";
import { servedAgain, type Store } from "../state/store";
import { textOf } from "./gitText";

export const GIT_SCHEME = "ralph-git";

/** The address of a file at a commit; `undefined` for one that is not there. */
export function gitUri(folder: string, commit: string | undefined, path: string): vscode.Uri {
  const query = JSON.stringify({ commit, folder });
  return vscode.Uri.from({ scheme: GIT_SCHEME, path: `/${path}`, query });
}

export class GitDocuments implements vscode.TextDocumentContentProvider {
  constructor(
    private readonly store: Store,
    private readonly connection: Connection,
  ) {}

  async provideTextDocumentContent({ path, query }: vscode.Uri): Promise<string> {
    const named = placeOf(query);
    if (named === undefined) {
      throw new Error(t("Nothing is known about {0}.", path));
    }
    const { commit, folder } = named;
    if (commit === undefined) {
      return "";
    }
    await servedAgain(this.store);
    const name = path.slice(1);
    const found = await this.connection.request("ralph/fileAt", {
      workspace: folder,
      commit,
      path: name,
    });
    return textOf(found);
  }
}

function placeOf(query: string): { commit: string | undefined; folder: string } | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(query);
  } catch {
    return undefined;
  }
  const { commit, folder } = parsed as { commit?: unknown; folder?: unknown };
  if (typeof folder !== "string" || (commit !== undefined && typeof commit !== "string")) {
    return undefined;
  }
  return { commit, folder };
}
