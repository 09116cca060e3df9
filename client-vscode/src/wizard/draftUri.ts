/** The addresses of drafts; apart from what is done with them, so that menus and tests can ask. */

export const DRAFT_SCHEME = "ralph-draft";

/** The folder that a draft is about, by what a lens or a menu hands over; none where it is none. */
export function folderOfDraft(argument: unknown): string | undefined {
  if (typeof argument !== "object" || argument === null) {
    return undefined;
  }
  const { scheme, query } = argument as { readonly scheme?: unknown; readonly query?: unknown };
  return scheme === DRAFT_SCHEME && typeof query === "string" && query !== "" ? query : undefined;
}
