/** What the server would not do, and what else went wrong in asking it. */

import { ResponseError } from "vscode-languageclient/node";

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
  if (error instanceof ResponseError) {
    const { data } = error as ResponseError<{ code?: unknown } | undefined>;
    return new Refusal(error.message, typeof data?.code === "string" ? data.code : "failed");
  }
  return new Refusal(firstLine(error), "failed");
}

/** The first part of an error's words: the rest is for the log. */
export function firstLine(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.split("\n", 1)[0] ?? text;
}
