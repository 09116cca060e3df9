import { afterEach, describe, expect, test } from "vitest";

import { clockTime, count, fromNow, spokenDuration, useLanguage } from "../src/intl";

const NOW = new Date(2026, 0, 31, 12, 0, 0).getTime();

afterEach(() => {
  useLanguage(undefined);
});

describe("in the language of the window", () => {
  test("numbers are written", () => {
    useLanguage("en");
    expect(count(12_345)).toBe("12,345");
    useLanguage("de");
    expect(count(12_345)).toBe("12.345");
  });

  test("times are told, with the day where it is another one", () => {
    useLanguage("de");
    expect(clockTime(NOW + 5 * 3_600_000, NOW)).toBe("17:00");
    expect(clockTime(NOW + 24 * 3_600_000, NOW)).toMatch(/^1\. Feb\.?, 12:00$/);
    useLanguage("en");
    expect(clockTime(NOW, NOW)).toMatch(/^12:00\sPM$/u);
  });

  test.each([
    [0, "now"],
    [-50, "50 sec. ago"],
    [-180, "3 min. ago"],
    [42 * 60, "in 42 min."],
    [119 * 60, "in 119 min."],
    [5 * 3600, "in 5 hr."],
    [3 * 86_400, "in 3 days"],
  ])("%d seconds from now are %s", (seconds, words) => {
    useLanguage("en");
    expect(fromNow(NOW + seconds * 1000, NOW)).toBe(words);
  });

  test.each([
    ["en", 0, "0 seconds"],
    ["en", 66, "1 minute 6 seconds"],
    ["en", 120, "2 minutes"],
    ["en", 3_723, "1 hour 2 minutes"],
    ["de", 66, "1 Minute 6 Sekunden"],
  ])("in %s %d seconds are read aloud as %s", (language, seconds, words) => {
    useLanguage(language);
    expect(spokenDuration(seconds)).toBe(words);
  });

  test("a language that is none is that of the system", () => {
    useLanguage("not a language");
    expect(count(1)).toBe("1");
  });
});
