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

/**
 * Whether the server itself answered with this error.
 *
 * Otherwise the connection ended before it could, which says nothing about what was asked. The end
 * of the process may be noticed later than that of its streams.
 */
export function isAnswer(error: unknown): boolean {
  return isResponseError(error) && !NOT_ANSWERED.has(error.code);
}

/** By JSON-RPC's numbers: read or write failed, the connection is closed, or it closed meanwhile. */
const NOT_ANSWERED: ReadonlySet<number> = new Set([-32_099, -32_098, -32_097, -32_096]);

/** The first part of an error's words: the rest is for the log. */
export function firstLine(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.split("\n", 1)[0] ?? text;
}

/** An error of the protocol, whose class is in the bundle of the language client. */
function isResponseError(
  error: unknown,
): error is Error & { readonly code: number; readonly data: unknown } {
  return (
    error instanceof Error &&
    typeof (error as { code?: unknown }).code === "number" &&
    "data" in error
  );
}
