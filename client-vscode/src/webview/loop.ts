/** The Loop view's page, where it meets the browser: bundled into media/loop.js. */

import { useLanguage } from "../intl";
import { translatorOf, useTranslator } from "../l10n";
import type { ToPage } from "./messages";
import { LoopPage, type Host } from "./page";

declare function acquireVsCodeApi(): Host;

const root = document.getElementById("loop");
const announcer = document.getElementById("announcer");
if (root !== null && announcer !== null) {
  useLanguage(document.documentElement.lang);
  useTranslator(translatorOf(JSON.parse(root.dataset["words"] ?? "{}") as Record<string, string>));
  delete root.dataset["words"];
  // VS Code's own setting, or the system's where that is to be followed.
  const reducedMotion =
    document.body.classList.contains("vscode-reduce-motion") ||
    window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  const clock = {
    now: (): number => Date.now(),
    later: (milliseconds: number, callback: () => void): (() => void) => {
      const timer = setTimeout(callback, milliseconds);
      return () => {
        clearTimeout(timer);
      };
    },
  };
  const page = new LoopPage(root, announcer, acquireVsCodeApi(), clock, reducedMotion);
  // Only VS Code itself can post to a webview's own frame; its messages have no other mark.
  window.addEventListener("message", (event: MessageEvent<ToPage>) => {
    page.receive(event.data);
  });
}
