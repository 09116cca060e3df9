/**
 * The dashboard's page, where it meets the browser or VS Code: one bundle for all of its places.
 *
 * Figures come from an element of the page (`file`, `report`), from the server of the page
 * (`served`), or from the extension (`editor`).
 */

import type { Dashboard } from "../../generated/protocol";
import { translatorOf, useTranslator } from "../../l10n";
import { element } from "./dom";
import { useDashboardLanguage } from "./format";
import type { ExportedFile, FromDashboard, ToDashboard } from "./messages";
import type { Choice, Grouping } from "./model";
import { DashboardView, type Host } from "./view";

interface EditorApi {
  postMessage(message: FromDashboard): void;
  getState(): unknown;
  setState(state: Choice): void;
}

declare function acquireVsCodeApi(): EditorApi;

const GROUPINGS: readonly Grouping[] = ["iteration", "run", "day"];

const root = document.getElementById("dashboard");
if (root !== null) {
  start(root, root.dataset["form"] ?? "file");
}

function start(root: HTMLElement, form: string): void {
  const isEditor = form === "editor";
  useDashboardLanguage(isEditor ? document.documentElement.lang : undefined);
  useTranslator(translatorOf(JSON.parse(root.dataset["words"] ?? "{}") as Record<string, string>));
  if (isEditor) {
    startInEditor(root);
    return;
  }
  const host: Host = {
    save: download,
    remember: (choice) => {
      window.history.replaceState(undefined, "", toHash(choice));
    },
    print: () => {
      window.print();
    },
    isReport: form === "report",
  };
  const view = new DashboardView(root, host, fromHash(window.location.hash));
  if (form === "served") {
    void follow(view);
  } else {
    const text = document.getElementById("figures")?.textContent ?? "";
    view.show(JSON.parse(text) as Dashboard);
  }
  const recolour = (): void => {
    view.recolour();
  };
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour);
  window.matchMedia("(forced-colors: active)").addEventListener("change", recolour);
}

function startInEditor(root: HTMLElement): void {
  const api = acquireVsCodeApi();
  const host: Host = {
    save: (file) => {
      api.postMessage({ type: "save", file });
    },
    remember: (choice) => {
      api.setState(choice);
    },
    isReport: false,
  };
  const view = new DashboardView(root, host, fromState(api.getState()));
  window.addEventListener("message", ({ data }: MessageEvent<ToDashboard>) => {
    view.show(data.figures);
  });
  new MutationObserver(() => {
    view.recolour();
  }).observe(document.body, { attributes: true, attributeFilter: ["class"] });
  api.postMessage({ type: "ready" });
}

/** Show the figures of the server, and newer ones as soon as there are some. */
async function follow(view: DashboardView): Promise<void> {
  const load = async (): Promise<void> => {
    const answer = await fetch("/figures");
    if (answer.ok) {
      view.show((await answer.json()) as Dashboard);
    }
  };
  await load();
  let seen: string | undefined;
  new EventSource("/events").addEventListener("message", ({ data }: MessageEvent<string>) => {
    // The first one, and those of a heartbeat, say nothing new.
    if (seen !== undefined && data !== seen) {
      void load();
    }
    seen = data;
  });
}

function download({ name, type, text, base64 }: ExportedFile): void {
  const bytes = base64 ? Uint8Array.from(atob(text), (char) => char.charCodeAt(0)) : text;
  const href = URL.createObjectURL(new Blob([bytes], { type }));
  const link = element("a", { href, download: name });
  link.click();
  setTimeout(() => {
    URL.revokeObjectURL(href);
  }, 10_000);
}

function toHash(choice: Choice): string {
  const parts = Object.entries(choice).filter(([, value]) => value !== undefined);
  return `#${new URLSearchParams(parts.map(([key, value]) => [key, String(value)])).toString()}`;
}

function fromHash(hash: string): Choice {
  const found = new URLSearchParams(hash.slice(1));
  return fromState({
    by: found.get("by"),
    run: found.get("run") ?? undefined,
    folder: numberOf(found.get("folder")),
    days: numberOf(found.get("days")),
  });
}

function numberOf(text: string | null): number | undefined {
  return text !== null && /^\d{1,6}$/.test(text) ? Number(text) : undefined;
}

/** What was remembered; a page of another version may have left anything. */
function fromState(state: unknown): Choice {
  const kept = (state ?? {}) as Partial<Record<keyof Choice, unknown>>;
  return {
    by: GROUPINGS.find((one) => one === kept.by),
    folder: typeof kept.folder === "number" ? kept.folder : undefined,
    days: typeof kept.days === "number" ? kept.days : undefined,
    run: typeof kept.run === "string" ? kept.run : undefined,
  };
}
