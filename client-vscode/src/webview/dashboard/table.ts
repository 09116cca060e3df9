/** All values as a table: only the rows in view are in the page, however many there are. */

import { t } from "../../l10n";
import { element } from "./dom";
import type { Grouping, Point } from "./model";
import { chartsFor } from "./series";

/** As in the style sheet. */
const ROW = 28;
const BEYOND = 12;
/** Rows on paper. */
const PRINTED = 400;

export class ValuesTable {
  readonly element: HTMLElement;
  private readonly box: HTMLElement;
  private readonly head = element("thead");
  private readonly body = element("tbody");
  private readonly table: HTMLTableElement;
  private points: readonly Point[] = [];
  private by: Grouping = "iteration";
  private first = -1;

  constructor() {
    this.table = element("table", { class: "values" }, [
      element("caption", { class: "unseen" }, [t("All values, the newest first")]),
      this.head,
      this.body,
    ]);
    this.box = element(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": t("All values") },
      [this.table],
    );
    this.box.addEventListener("scroll", () => {
      this.fill();
    });
    this.element = element("section", { class: "panel all" }, [
      element("h2", {}, [t("All values")]),
      this.box,
    ]);
  }

  /** Show these points, the newest first; the place that was scrolled to stays. */
  draw(points: readonly Point[], by: Grouping): void {
    this.points = points;
    this.by = by;
    this.head.replaceChildren(
      element(
        "tr",
        {},
        this.heads().map(([name, kind]) =>
          element("th", { scope: "col", ...(kind === "number" ? { class: kind } : {}) }, [name]),
        ),
      ),
    );
    this.table.setAttribute("aria-rowcount", String(points.length + 1));
    this.first = -1;
    this.fill();
  }

  /** As many rows as paper takes, or those in view again. */
  print(isPrinting: boolean): void {
    this.first = -1;
    this.fill(isPrinting);
  }

  private heads(): readonly (readonly [string, "text" | "number"])[] {
    const what = { iteration: t("Task"), run: t("End"), day: undefined }[this.by];
    return [
      [t("When"), "text"],
      ...(what === undefined ? [] : [[what, "text"] as const]),
      ...chartsFor(this.by).map(({ title }) => [title, "number"] as const),
    ];
  }

  private fill(isPrinting = false): void {
    const n = this.points.length;
    const height = this.box.clientHeight || 320;
    const seen = isPrinting ? 0 : Math.floor(this.box.scrollTop / ROW);
    const first = Math.max(0, seen - BEYOND);
    const last = isPrinting
      ? Math.min(n, PRINTED)
      : Math.min(n, seen + Math.ceil(height / ROW) + BEYOND);
    if (first === this.first && !isPrinting && this.body.childElementCount > 0) {
      return;
    }
    this.first = first;
    const charts = chartsFor(this.by);
    const rows: HTMLElement[] = [];
    for (let index = first; index < last; index++) {
      const point = this.points[n - 1 - index];
      if (point !== undefined) {
        rows.push(
          element("tr", { "aria-rowindex": String(index + 2) }, [
            element("th", { scope: "row" }, [point.label]),
            // A day has none.
            this.by === "day"
              ? undefined
              : element("td", { class: "what", title: point.detail }, [point.detail]),
            ...charts.map((chart) => element("td", { class: "number" }, [chart.words(point)])),
          ]),
        );
      }
    }
    // An odd number of rows above would turn the stripes around.
    const above = spacer(first);
    const below = spacer(isPrinting ? 0 : n - last);
    this.body.replaceChildren(above, ...rows, below);
  }
}

function spacer(rows: number): HTMLElement {
  const row = element("tr", { class: "spacer", "aria-hidden": "true" }, [element("td")]);
  row.style.height = `${rows * ROW}px`;
  return row;
}
