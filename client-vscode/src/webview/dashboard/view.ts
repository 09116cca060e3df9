/**
 * The dashboard on the page: controls, state, figures, charts, tables; redrawn when figures come.
 *
 * It must never know where figures come from, nor how a file is saved: that is its host's.
 */

import type { Dashboard } from "../../generated/protocol";
import { t } from "../../l10n";
import { button, element, segments, select } from "./dom";
import { toCsv, toJson, toPng } from "./exports";
import { count, moment } from "./format";
import type { ExportedFile } from "./messages";
import { endWords, rangesOf, viewOf, type Choice, type Grouping, type View } from "./model";
import { coloursOf, Plot } from "./plot";
import { agentsSection, nowSection, parallelSection, tasksSection, tiles } from "./sections";
import { chartsFor } from "./series";
import { ValuesTable } from "./table";

/** Where the page is shown. */
export interface Host {
  /** Hand a file to the user. */
  save(file: ExportedFile): void;
  /** Remember a choice for when the page is opened again. */
  remember(choice: Choice): void;
  print?(): void;
  /** A report shows one run, with text around the charts. */
  readonly isReport: boolean;
}

export class DashboardView {
  private document: Dashboard | undefined;
  private view: View | undefined;
  private plots: readonly Plot[] = [];
  private drawnBy: Grouping | undefined;
  private pointed = false;
  private readonly controls = element("div", { class: "controls" });
  private readonly summary = element("div", { class: "summary" });
  private readonly caption = element("p", { class: "caption", "aria-live": "off" });
  private readonly grid = element("div", { class: "charts" });
  private readonly groupings = element("div", { class: "groupings" });
  private readonly details = element("div", { class: "details" });
  private readonly table = new ValuesTable();
  private readonly foot = element("footer");
  private readonly announcer = element("p", { class: "unseen", role: "status" });

  constructor(
    private readonly root: HTMLElement,
    private readonly host: Host,
    private choice: Choice,
  ) {
    const heading = host.isReport
      ? undefined
      : element("header", {}, [element("h1", {}, [t("Dashboard")]), this.controls]);
    root.replaceChildren(
      ...[
        heading,
        this.summary,
        element("section", { class: "over-time", "aria-label": t("Over time") }, [
          element("div", { class: "bar" }, [
            element("h2", {}, [t("Over time")]),
            this.groupings,
            this.caption,
          ]),
          this.grid,
        ]),
        this.details,
        this.table.element,
        this.foot,
        this.announcer,
      ].filter((part) => part !== undefined),
    );
    new ResizeObserver(() => {
      for (const plot of this.plots) {
        plot.resize();
      }
    }).observe(this.grid);
    window.addEventListener("beforeprint", () => {
      this.table.print(true);
    });
    window.addEventListener("afterprint", () => {
      this.table.print(false);
    });
  }

  /** Show these figures; what the user has chosen and pointed at stays. */
  show(document: Dashboard): void {
    const isFirst = this.document === undefined;
    this.document = document;
    this.draw();
    if (!isFirst) {
      this.announcer.textContent = t("Figures updated");
    }
  }

  /** Draw again in the colours of another theme. */
  recolour(): void {
    const { view } = this;
    if (view !== undefined) {
      this.drawCharts(view);
    }
  }

  private choose(part: Partial<Choice>): void {
    this.choice = { ...this.choice, ...part };
    this.draw();
    this.host.remember(this.choice);
  }

  private draw(): void {
    const { document } = this;
    if (document === undefined) {
      return;
    }
    const view = viewOf(document, this.choice);
    this.view = view;
    this.root.toggleAttribute("data-empty", view.range.totals.iterations === 0);
    keepFocus(this.root, () => {
      this.drawControls(document, view);
      this.drawSummary(view);
      this.drawDetails(view);
    });
    this.drawCharts(view);
    this.table.draw(view.points, view.by);
    this.foot.replaceChildren(
      t("Figures of {0}, as in: ralph runs --json", moment(Date.parse(document.madeAt), "time")),
    );
  }

  private drawControls(document: Dashboard, view: View): void {
    const { choice } = view;
    const names = document.folders.map(({ name }, index) => [index, name] as const);
    const folders: readonly (readonly [number | undefined, string])[] =
      names.length === 1 ? names : [[undefined, t("All folders")], ...names];
    const runs: readonly (readonly [string | undefined, string])[] = [
      [undefined, t("All runs")],
      ...view.runs.map((run) => [run.key, runWords(run)] as const),
    ];
    this.controls.replaceChildren(
      select(t("Folder"), folders, choice.folder, (folder) => {
        this.choose({ folder, run: undefined });
      }),
      segments(
        "range",
        t("Range"),
        rangesOf(document).map((days) => [days, rangeWords(days)] as const),
        choice.days,
        (days) => {
          this.choose({ days, run: undefined });
        },
      ),
      select(t("Run"), runs, choice.run, (run) => {
        this.choose({ run });
      }),
      element("div", { class: "exports", role: "group", "aria-label": t("Export") }, [
        button(
          "CSV",
          () => {
            this.save(this.view === undefined ? undefined : toCsv(this.view));
          },
          t("Save the values as CSV"),
        ),
        button(
          "JSON",
          () => {
            this.save(this.document === undefined ? undefined : toJson(this.document));
          },
          t("Save all figures as JSON"),
        ),
        button(
          "PNG",
          () => {
            this.save(toPng(this.root, this.plots));
          },
          t("Save the charts as a picture"),
        ),
        this.host.print === undefined
          ? undefined
          : button(t("Print"), () => {
              this.host.print?.();
            }),
      ]),
    );
    this.groupings.replaceChildren(
      segments<Grouping>(
        "by",
        t("One value for each"),
        [
          ["iteration", t("Iteration")],
          ["run", t("Run")],
          ...(view.run === undefined ? [["day", t("Day")] as const] : []),
        ],
        view.by,
        (by) => {
          this.choose({ by });
        },
      ),
    );
  }

  private save(file: ExportedFile | undefined): void {
    if (file !== undefined) {
      this.host.save(file);
    }
  }

  private drawSummary(view: View): void {
    const isEmpty = view.range.totals.runs === 0;
    const parts = [
      this.host.isReport ? undefined : nowSection(view.folders),
      isEmpty
        ? element("p", { class: "empty" }, [
            view.choice.days === undefined
              ? t("No run yet. Start one: ralph run")
              : t("No run in this range. Choose a longer one."),
          ])
        : tiles(view),
    ];
    this.summary.replaceChildren(...parts.filter((part) => part !== undefined));
  }

  private drawDetails({ range, run, runs, folders }: View): void {
    const parts =
      run === undefined
        ? [
            tasksSection(range.tasks, folders.length > 1 ? folders : []),
            agentsSection(range.agents),
            parallelSection(runs),
          ]
        : [parallelSection([run])];
    this.details.replaceChildren(...parts.filter((part) => part !== undefined));
  }

  private drawCharts(view: View): void {
    const { by } = view;
    if (this.drawnBy !== by) {
      this.plots = chartsFor(by).map(
        (chart) =>
          new Plot(chart, (index) => {
            this.point(index);
          }),
      );
      this.grid.replaceChildren(...this.plots.map((plot) => plot.element));
      this.drawnBy = by;
    }
    const colours = coloursOf(this.root);
    for (const plot of this.plots) {
      plot.draw(view.points, colours);
    }
    this.pointed = false;
    this.describe(undefined);
  }

  /** A point is under the pointer or the keyboard: every chart shows its value. */
  private point(index: number | undefined): void {
    if (index === undefined && !this.pointed) {
      return;
    }
    this.pointed = index !== undefined;
    for (const plot of this.plots) {
      plot.show(index);
    }
    this.describe(index);
  }

  private describe(index: number | undefined): void {
    const points = this.view?.points ?? [];
    const point = points[index ?? points.length - 1];
    const words =
      point === undefined
        ? t("No values")
        : [point.label, point.detail, point.agent].filter((word) => word !== "").join(" · ");
    this.caption.replaceChildren(
      element("span", { class: "muted" }, [
        index === undefined ? t("Newest of {0}: ", count(points.length)) : "",
      ]),
      words,
    );
  }
}

function rangeWords(days: number | undefined): string {
  return days === undefined ? t("All time") : days === 1 ? t("24 h") : t("{0} days", days);
}

function runWords(run: { key: string; startedAt?: string; end: string }): string {
  const at = run.startedAt === undefined ? "" : moment(Date.parse(run.startedAt), "time");
  return `${at} · ${endWords(run.end)} · ${run.key.slice(-4)}`;
}

/** Redraw, and give the focus back to the control at the same place. */
function keepFocus(root: HTMLElement, redraw: () => void): void {
  const controls = (): readonly HTMLElement[] => [
    ...root.querySelectorAll<HTMLElement>("select, input, button, [tabindex]"),
  ];
  const focused = document.activeElement;
  const place = focused instanceof HTMLElement ? controls().indexOf(focused) : -1;
  redraw();
  if (place >= 0 && document.activeElement !== focused) {
    controls()[place]?.focus();
  }
}
