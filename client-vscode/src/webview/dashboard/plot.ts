/** One chart on the page, drawn by uPlot: its head, its canvas, its keyboard. */

import uPlot from "uplot";

import { t } from "../../l10n";
import { element } from "./dom";
import { ticksOf, type Point } from "./model";
import type { Chart, Series, Tone } from "./series";

/** The colours of the theme, as a canvas needs them. */
export type Colours = Readonly<Record<Tone | "text" | "line", string>>;

/** Reads the colours that the style sheet resolved for `root`. */
export function coloursOf(root: HTMLElement): Colours {
  const style = getComputedStyle(root);
  const of = (name: string): string => style.getPropertyValue(`--${name}`).trim();
  return {
    accent: of("accent"),
    good: of("good"),
    bad: of("bad"),
    warning: of("warning"),
    muted: of("muted"),
    text: of("muted"),
    line: of("grid"),
  };
}

const HEIGHT = 140;
/** Charts with one key share their cursor. */
const SYNC = "dashboard";

/** Notified of the point under the pointer or the keyboard; undefined: none. */
export type OnPoint = (index: number | undefined) => void;

export class Plot {
  readonly element: HTMLElement;
  private readonly box: HTMLElement;
  private readonly value: HTMLElement;
  private plot: uPlot | undefined;
  private points: readonly Point[] = [];
  private at: number | undefined;
  private width = 0;

  constructor(
    private readonly chart: Chart,
    private readonly onPoint: OnPoint,
  ) {
    this.value = element("output", { class: "value" });
    this.box = element("div", {
      class: "plot",
      role: "slider",
      tabindex: "0",
      "aria-label": chart.title,
      "aria-orientation": "horizontal",
    });
    this.element = element("section", { class: "chart", "data-chart": chart.id }, [
      element("h3", {}, [chart.title, this.value]),
      this.box,
    ]);
    this.box.addEventListener("keydown", (event) => {
      this.press(event);
    });
  }

  /** Draw these points; the width is that of the box. */
  draw(points: readonly Point[], colours: Colours): void {
    this.points = points;
    this.at = undefined;
    this.plot?.destroy();
    this.width = Math.floor(this.box.clientWidth) || 300;
    this.plot = new uPlot(this.options(colours), this.data(), this.box);
    this.box.setAttribute("aria-valuemin", points.length === 0 ? "0" : "1");
    this.box.setAttribute("aria-valuemax", String(points.length));
    this.show(undefined);
  }

  resize(): void {
    const width = Math.floor(this.box.clientWidth);
    if (width > 0 && width !== this.width) {
      this.width = width;
      this.plot?.setSize({ width, height: HEIGHT });
    }
  }

  /** Show the value of a point; that of the newest one where none is pointed at. */
  show(index: number | undefined): void {
    this.at = index;
    const shown = index ?? this.points.length - 1;
    const point = this.points[shown];
    this.value.textContent = point === undefined ? "" : this.chart.words(point);
    this.box.setAttribute("aria-valuenow", String(point === undefined ? 0 : shown + 1));
    this.box.setAttribute(
      "aria-valuetext",
      point === undefined ? t("No values") : `${point.label}: ${this.chart.words(point)}`,
    );
  }

  /** The picture that is shown, for an export. */
  get canvas(): HTMLCanvasElement | undefined {
    return this.plot?.ctx.canvas;
  }

  get title(): string {
    return this.chart.title;
  }

  private press(event: KeyboardEvent): void {
    const last = this.points.length - 1;
    const now = this.at ?? last;
    const page = Math.max(1, Math.round(last / 10));
    const wanted: Readonly<Record<string, number>> = {
      ArrowLeft: now - 1,
      ArrowDown: now - 1,
      ArrowRight: now + 1,
      ArrowUp: now + 1,
      PageDown: now - page,
      PageUp: now + page,
      Home: 0,
      End: last,
    };
    const next = wanted[event.key];
    if (next === undefined || last < 0) {
      return;
    }
    event.preventDefault();
    this.pointAt(Math.min(last, Math.max(0, next)));
  }

  private pointAt(index: number): void {
    const left = this.plot?.valToPos(index, "x") ?? 0;
    // The other charts follow, and `setCursor` says which value it is.
    this.plot?.setCursor({ left, top: HEIGHT / 2 });
    this.onPoint(index);
  }

  private data(): uPlot.AlignedData {
    const xs = this.points.map((_, index) => index);
    const columns = this.chart.series.map((series) =>
      this.points.map((point) => series.value(point) ?? null),
    );
    return [xs, ...columns];
  }

  private options(colours: Colours): uPlot.Options {
    const { chart, points } = this;
    const axis = {
      stroke: colours.text,
      grid: { stroke: colours.line, width: 1 },
      ticks: { show: false },
      font: `11px ${getComputedStyle(this.box).fontFamily}`,
    };
    return {
      width: this.width,
      height: HEIGHT,
      padding: [6, 6, 0, 0],
      legend: { show: false },
      cursor: {
        y: false,
        points: { show: false },
        drag: { x: false, y: false },
        sync: { key: SYNC },
      },
      scales: {
        x: { time: false, range: [-0.6, Math.max(points.length - 1, 0) + 0.6] },
        y: { range: (_, low, high) => yRange(chart, low, high) },
      },
      axes: [
        {
          ...axis,
          grid: { show: false },
          size: 26,
          gap: 8,
          splits: (_, __, low, high) => xSplits(points.length, low, high, this.width),
          values: (_, splits) => ticksOf(splits.map((index) => points[index])),
        },
        {
          ...axis,
          size: chart.shape === "steps" ? 62 : 52,
          gap: 4,
          space: chart.shape === "steps" ? 20 : 30,
          ...(chart.shape === "steps" ? { splits: [0, 1, 2] } : {}),
          incrs: stepsOf(chart),
          values: (_, splits) => splits.map((value) => chart.tick(value)),
        },
      ],
      series: [{}, ...chart.series.map((series) => seriesOptions(chart, series, colours))],
      hooks: {
        setCursor: [
          (plot) => {
            this.onPoint(plot.cursor.idx ?? undefined);
          },
        ],
      },
    };
  }
}

/** Steps between the lines of an axis: 1, 2, 5, 10, …, or those of a clock. */
const DECIMAL = Array.from({ length: 14 }, (_, power) =>
  [1, 2, 5].map((digit) => digit * 10 ** (power - 4)),
).flat();
const CLOCK = [
  1, 5, 15, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 18_000, 36_000, 72_000, 180_000, 360_000,
];

function stepsOf({ id, whole }: Chart): number[] {
  return id === "time" ? CLOCK : DECIMAL.filter((step) => !whole || step >= 1);
}

function yRange(chart: Chart, low: number | null, high: number | null): [number, number] {
  const top = Math.max(chart.top, (high ?? 0) * 1.05);
  return chart.id === "tests" ? [Math.min(-chart.top, (low ?? 0) * 1.05), top] : [0, top];
}

/** A few whole indices, evenly apart, and far enough that their dates fit. */
function xSplits(n: number, low: number, high: number, width: number): number[] {
  const most = Math.max(1, Math.floor((width - 60) / 64));
  const step = Math.max(1, Math.ceil((high - low) / most));
  const splits: number[] = [];
  for (let index = 0; index < n; index += step) {
    splits.push(index);
  }
  return splits;
}

function seriesOptions(chart: Chart, series: Series, colours: Colours): uPlot.Series {
  const colour = colours[series.tone];
  switch (chart.shape) {
    case "bars":
      return {
        stroke: colour,
        fill: colour,
        width: 0,
        points: { show: false },
        ...pathsOf(uPlot.paths.bars?.({ size: [0.72, 26, 1] })),
      };
    case "points":
      return {
        stroke: colour,
        points: { show: true, size: 4, fill: colour, space: 0 },
        paths: () => null,
      };
    case "steps":
      return {
        stroke: colour,
        fill: `color-mix(in srgb, ${colour} 22%, transparent)`,
        width: 2,
        points: { show: false },
        ...pathsOf(uPlot.paths.stepped?.({ align: 1 })),
      };
  }
}

function pathsOf(paths: uPlot.Series.PathBuilder | undefined): Pick<uPlot.Series, "paths"> {
  return paths === undefined ? {} : { paths };
}
