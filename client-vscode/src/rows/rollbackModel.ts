/**
 * What the user is shown and asked before an iteration is undone. Does not import VS Code.
 *
 * A roll back ends in one question that names all that goes and how it comes back. Commits that no
 * iteration made are asked about before it, on their own.
 */

import type { RollbackResult, UndoneCommit } from "../generated/protocol";
import { t } from "../l10n";

/** Commits and files that are named one by one. */
const MOST_NAMED = 10;

/** What to do after a look at what would be undone. */
export type RollbackStep =
  | { readonly kind: "refused"; readonly text: string; readonly code: string }
  /** Commits of others would go too: a separate choice. */
  | ({ readonly kind: "foreign" } & Question)
  | ({ readonly kind: "confirm" } & Question);

/** A modal: what it says, and the one button beside Cancel. */
export interface Question {
  readonly title: string;
  readonly detail: string;
  readonly button: string;
}

/** The step that a dry run leads to. */
export function stepOf(result: RollbackResult): RollbackStep {
  const { refused } = result;
  if (refused === undefined) {
    return { kind: "confirm", ...confirmation(result) };
  }
  if (refused.code === "foreign-commits") {
    return { kind: "foreign", ...foreignQuestion(result) };
  }
  return { kind: "refused", text: refused.message, code: refused.code };
}

/** What is said when it is done. */
export function doneWords({ iteration, branch, backup }: RollbackResult): string {
  const done = t("Rolled {0} back to before iteration {1}.", branch, iteration);
  return backup === undefined
    ? done
    : `${done} ${t("The undone work is kept on branch {0}.", backup)}`;
}

function confirmation(result: RollbackResult): Question {
  const { iteration, branch, target, commits, files, moreFiles, backup, forcePush } = result;
  const nFiles = files.length + moreFiles;
  const parts = [
    t("Branch {0} will move back to {1}.", branch, target.slice(0, 7)),
    named(
      commits.length === 1
        ? t("1 commit will be undone:")
        : t("{0} commits will be undone:", commits.length),
      commits.map(commitWords),
      commits.length,
    ),
    named(
      nFiles === 1 ? t("1 file will change:") : t("{0} files will change:", nFiles),
      files,
      nFiles,
    ),
    backup === undefined ? "" : t("The current state will be kept on branch {0}.", backup),
    forcePush === undefined
      ? ""
      : `${t("Ralph does not force-push. To update the remote, run:")}\n${forcePush}`,
  ];
  return {
    title: t("Roll back to before iteration {0}?", iteration),
    detail: joined(parts),
    button: t("Roll Back"),
  };
}

function foreignQuestion({ iteration, commits, refused }: RollbackResult): Question {
  const foreign = commits.filter((commit) => commit.foreign);
  return {
    title: t("Some commits since iteration {0} were not made by an iteration.", iteration),
    detail: joined([
      upperFirst(refused?.message ?? ""),
      named(t("These would also be undone:"), foreign.map(commitWords), foreign.length),
    ]),
    button: t("Undo Them Too…"),
  };
}

function commitWords({ hash, subject, foreign }: UndoneCommit): string {
  const words = `${hash.slice(0, 7)} ${subject.replaceAll(/\s+/g, " ").trim()}`;
  return foreign ? t("{0} (not made by an iteration)", words) : words;
}

/** A heading and the first of what it is about; nothing where there is none. */
function named(heading: string, names: readonly string[], n: number): string {
  const shown = names.slice(0, MOST_NAMED);
  const rest = n - shown.length;
  const lines = shown.map((name) => `• ${name}`);
  return n === 0
    ? ""
    : [heading, ...lines, ...(rest > 0 ? [t("• … and {0} more", rest)] : [])].join("\n");
}

function joined(parts: readonly string[]): string {
  return parts.filter((part) => part !== "").join("\n\n");
}

function upperFirst(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
