/** The one thing that is done with git before there is a repository for the server to work in. */

import { execFile } from "node:child_process";

import { t } from "../l10n";
import { onPath } from "./processes";
import { Refusal } from "./refusal";

/** Make a folder a repository with git's own defaults; `open` are folders whose programs are not run. */
export async function initRepository(folder: string, open: readonly string[]): Promise<void> {
  const git = onPath("git", open);
  if (git === undefined) {
    throw new Refusal(t("git was not found on PATH. Install it, then try again."), "git-missing");
  }
  await new Promise<void>((resolve, reject) => {
    execFile(git, ["init", "--quiet"], { cwd: folder, windowsHide: true }, (error, _, stderr) => {
      if (error === null) {
        resolve();
      } else {
        const words = stderr.trim() === "" ? error.message : stderr.trim();
        reject(new Refusal(t("git could not make a repository here: {0}", words), "failed"));
      }
    });
  });
}
