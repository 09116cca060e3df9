/** The charts: what each draws of a point, and how a value of it is written. Pure. */

import { t } from "../../l10n";
import { compact, count, dollars, duration, percent, UNKNOWN } from "./format";
import type { Grouping, Point } from "./model";

/** Meaning of a colour; the theme says which one it is. */
export type Tone = "accent" | "good" | "bad" | "warning" | "muted";

export interface Series {
  /** Height of a point; undefined where it is unknown, which is a gap. */
  value(point: Point): number | undefined;
  readonly tone: Tone;
}

export interface Chart {
  readonly id: string;
  readonly title: string;
  readonly shape: "bars" | "points" | "steps";
  readonly series: readonly Series[];
  /** Top of the axis at least. */
  readonly top: number;
  /** Half of one is nothing. */
  readonly whole: boolean;
  tick(value: number): string;
  /** The value in words, for the head of the chart and screen readers. */
  words(point: Point): string;
}

const BREAKER_WORDS = (): readonly string[] => [t("closed"), t("half open"), t("open")];

/** The charts in their order: what got done, what it took, how it went. */
export function chartsFor(by: Grouping): readonly Chart[] {
  const bars = (
    id: string,
    title: string,
    tone: Tone,
    value: (point: Point) => number | undefined,
    format: (value: number) => string,
    top: number,
  ): Chart => ({
    id,
    title,
    shape: "bars",
    series: [{ value, tone }],
    top,
    whole: format === count,
    tick: format,
    words: (point) => {
      const found = value(point);
      return found === undefined ? UNKNOWN : format(found);
    },
  });
  const cost = bars("cost", t("Cost"), "accent", (point) => point.cost, dollars, 0.01);
  return [
    bars("tasks", t("Tasks completed"), "good", (point) => point.tasksDone, count, 1),
    bars("files", t("Files changed"), "accent", (point) => point.files, count, 1),
    {
      ...cost,
      words: (point) =>
        point.cost === undefined ? t("unknown") : dollars(point.cost, point.estimated),
    },
    bars("tokens", t("Tokens"), "accent", (point) => point.tokens, compact, 1000),
    bars("time", t("Duration"), "accent", (point) => point.seconds, duration, 60),
    {
      ...bars("context", t("Context used"), "accent", (point) => point.context, percent, 1),
      shape: "points",
    },
    {
      id: "tests",
      title: t("Validation"),
      shape: "bars",
      series: [
        { value: (point) => point.passed || undefined, tone: "good" },
        { value: (point) => -point.failed || undefined, tone: "bad" },
      ],
      top: 1,
      whole: true,
      tick: (value) => count(Math.abs(value)),
      words: (point) => {
        if (point.passed + point.failed === 0) {
          return t("none ran");
        }
        if (by === "iteration") {
          return point.failed > 0 ? t("failed") : t("passed");
        }
        return t("{0} passed, {1} failed", count(point.passed), count(point.failed));
      },
    },
    by === "iteration"
      ? {
          id: "breaker",
          title: t("Breaker"),
          shape: "steps",
          series: [{ value: (point) => point.breaker, tone: "warning" }],
          top: 2,
          whole: true,
          tick: (value) => BREAKER_WORDS()[value] ?? "",
          words: (point) => BREAKER_WORDS()[point.breaker] ?? "",
        }
      : bars("breaker", t("Breaker openings"), "warning", (point) => point.breaker, count, 1),
  ];
}
