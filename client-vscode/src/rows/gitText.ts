/** What a document shows of a file at a commit, also where that is no text; never knows VS Code. */

import type { FileAtResult } from "../generated/protocol";
import { t } from "../l10n";

export function textOf({ text, binary, size }: FileAtResult): string {
  if (text !== undefined) {
    return text;
  }
  if (size === undefined) {
    return "";
  }
  return binary
    ? t("This is not a text file ({0} bytes).", size)
    : t("This file is too large to show ({0} bytes).", size);
}
