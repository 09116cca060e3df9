/**
 * What an iteration changed, as pairs of documents for a diff editor; it never knows VS Code.
 *
 * A side that is not there is `undefined`. One that is at a commit is read from git by the server,
 * and one of the work tree is the file on the disk.
 */

import type { ChangesResult, FileChange } from "../generated/protocol";
import { t } from "../l10n";

/** More files than anybody looks at: each is two documents. */
export const MOST_FILES = 200;

/** One side of a diff. */
export type Side =
  | { readonly kind: "commit"; readonly commit: string; readonly path: string }
  | { readonly kind: "disk"; readonly path: string };

export interface Diff {
  readonly path: string;
  readonly left: Side | undefined;
  readonly right: Side | undefined;
}

/** The diffs of an iteration, by path; those beyond `MOST_FILES` are left out. */
export function diffsOf(changes: ChangesResult): readonly Diff[] {
  return changes.files.slice(0, MOST_FILES).map((file) => diffOf(changes, file));
}

/** The title above them; VS Code itself counts those of several that it shows. */
export function titleOf(changes: ChangesResult): string {
  const { iteration, files, moreFiles } = changes;
  const all = files.length + moreFiles;
  const shown = Math.min(files.length, MOST_FILES);
  const [only] = files;
  if (all === 1 && only !== undefined) {
    return t("{0} (iteration {1})", only.path, iteration);
  }
  return shown < all
    ? t("Iteration {0}: first {1} of {2} files", iteration, shown, all)
    : t("Iteration {0}", iteration);
}

function diffOf({ base, head }: ChangesResult, file: FileChange): Diff {
  const { path, oldPath, status } = file;
  const left: Side = { kind: "commit", commit: base, path: oldPath ?? path };
  const right: Side =
    head === undefined ? { kind: "disk", path } : { kind: "commit", commit: head, path };
  switch (status) {
    case "added":
      return { path, left: undefined, right };
    case "deleted":
      return { path, left, right: undefined };
    case "modified":
    case "renamed":
    case "copied":
    case "typeChanged":
      return { path, left, right };
  }
}
