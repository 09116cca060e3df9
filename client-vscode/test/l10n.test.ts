import { afterEach, describe, expect, it } from "vitest";

import { fill, t, useTranslator } from "../src/l10n";

afterEach(() => {
  useTranslator(fill);
});

describe("words for a person", () => {
  it("are as written where nothing translates them, with their placeholders filled", () => {
    expect(t("Iteration {0} of {1}", 3, "20")).toBe("Iteration 3 of 20");
    expect(t("{1} before {0}, {1} again", "a", "b")).toBe("b before a, b again");
  });

  it("keep a placeholder that nobody fills, and braces that are none", () => {
    expect(t("{0} and {1}", "one")).toBe("one and {1}");
    expect(t("{} {x} {0}", "0")).toBe("{} {x} 0");
  });

  it("come from the window's translator once there is one", () => {
    useTranslator((message, ...args) => fill(message.toUpperCase(), ...args));
    expect(t("stop {0}", "now")).toBe("STOP now");
  });
});
