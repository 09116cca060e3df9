/** Reads the `when` clauses of package.json, as far as ours go: what can be seen in a state. */

export type Keys = Readonly<Record<string, unknown>>;

/** Whether the clause holds; `||` binds less than `&&`, and brackets are read. */
export function holds(clause: string, keys: Keys): boolean {
  const inner = /\(([^()/]*)\)/.exec(clause);
  if (inner?.[1] !== undefined) {
    const value = holds(inner[1], keys) ? "true" : "false";
    return holds(clause.replace(inner[0], value), keys);
  }
  return clause
    .split("||")
    .some((part) => part.split("&&").every((term) => isTrue(term.trim(), keys)));
}

function textOf(value: unknown): string {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean"
    ? String(value)
    : "";
}

function isTrue(term: string, keys: Keys): boolean {
  if (term === "true" || term === "false") {
    return term === "true";
  }
  if (term.startsWith("!")) {
    return !isTrue(term.slice(1).trim(), keys);
  }
  const compared = /^(\S+) (==|!=|=~|>) (.+)$/.exec(term);
  if (compared === null) {
    return Boolean(keys[term]);
  }
  const [, key = "", operator, other = ""] = compared;
  const value = textOf(keys[key]);
  switch (operator) {
    case "==":
      return value === other.replaceAll("'", "");
    case "!=":
      return value !== other.replaceAll("'", "");
    case "=~":
      return new RegExp(other.replaceAll(/^\/|\/$/g, "")).test(value);
    default:
      return Number(value) > Number(other);
  }
}
