/** The figures as CSV, JSON and PNG. */

import type { Dashboard } from "../../generated/protocol";
import type { ExportedFile } from "./messages";
import type { View } from "./model";
import { coloursOf, type Plot } from "./plot";

const COLUMNS = [
  "when",
  "what",
  "agent",
  "tasks_done",
  "files",
  "cost_usd",
  "cost_estimated",
  "without_cost",
  "tokens",
  "duration_seconds",
  "context",
  "validations_passed",
  "validations_failed",
  "breaker",
] as const;

/** The values of the charts, one row a point, numbers whole; unknown ones are empty. */
export function toCsv({ points, by }: View): ExportedFile {
  const rows = points.map((point) => [
    cell(point.label),
    cell(point.detail),
    cell(point.agent),
    point.tasksDone,
    point.files,
    point.cost ?? "",
    point.estimated,
    point.withoutCost,
    point.tokens ?? "",
    point.seconds,
    point.context ?? "",
    point.passed,
    point.failed,
    point.breaker,
  ]);
  const text = [COLUMNS, ...rows].map((row) => row.join(",")).join("\n");
  return { name: `ralph-${by}s.csv`, type: "text/csv", text: `${text}\n`, base64: false };
}

/** A cell that no spreadsheet takes for a formula. */
function cell(text: string): string {
  const safe = /^\s*[=+\-@]/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** The whole document. */
export function toJson(document: Dashboard): ExportedFile {
  const text = `${JSON.stringify(document, undefined, 2)}\n`;
  return { name: "ralph-dashboard.json", type: "application/json", text, base64: false };
}

/** The charts as one picture, in the colours of the page. */
export function toPng(root: HTMLElement, plots: readonly Plot[]): ExportedFile | undefined {
  const drawn = plots.flatMap((plot) =>
    plot.canvas === undefined ? [] : [{ title: plot.title, canvas: plot.canvas }],
  );
  const [first] = drawn;
  if (first === undefined) {
    return undefined;
  }
  const scale = window.devicePixelRatio || 1;
  const [gap, head] = [16 * scale, 26 * scale];
  const across = Math.min(2, drawn.length);
  const [width, height] = [first.canvas.width + gap, first.canvas.height + head + gap];
  const picture = document.createElement("canvas");
  picture.width = gap + across * width;
  picture.height = gap + Math.ceil(drawn.length / across) * height;
  const pen = picture.getContext("2d");
  if (pen === null) {
    return undefined;
  }
  const style = getComputedStyle(root);
  pen.fillStyle = style.getPropertyValue("--back").trim() || "#ffffff";
  pen.fillRect(0, 0, picture.width, picture.height);
  pen.fillStyle = coloursOf(root).text;
  pen.font = `600 ${13 * scale}px ${style.fontFamily}`;
  drawn.forEach(({ title, canvas }, index) => {
    const x = gap + (index % across) * width;
    const y = gap + Math.floor(index / across) * height;
    pen.fillText(title, x, y + 16 * scale);
    pen.drawImage(canvas, x, y + head);
  });
  const [, text = ""] = picture.toDataURL("image/png").split(",");
  return { name: "ralph-dashboard.png", type: "image/png", text, base64: true };
}
