/** What the server would not do, and what else went wrong in asking it. */

/** What the server would not do, in its own words. */
export class Refusal extends Error {
  constructor(
    message: string,
    /** The server's kebab-case name of it. */
    readonly code: string,
  ) {
    super(message);
  }
}

/** What came instead of an answer, in words. */
export function toRefusal(error: unknown): Refusal {
  if (error instanceof Refusal) {
    return error;
  }
  if (isResponseError(error)) {
    const data = error.data as { code?: unknown } | null | undefined;
    return new Refusal(error.message, typeof data?.code === "string" ? data.code : "failed");
  }
  return new Refusal(firstLine(error), "failed");
}

/** The first part of an error's words: the rest is for the log. */
export function firstLine(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.split("\n", 1)[0] ?? text;
}

/** An error of the protocol, whose class is in the bundle of the language client. */
function isResponseError(error: unknown): error is Error & { readonly data: unknown } {
  return (
    error instanceof Error &&
    typeof (error as { code?: unknown }).code === "number" &&
    "data" in error
  );
}
