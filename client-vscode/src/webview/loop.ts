/** The Loop view's page, where it meets the browser: bundled into media/loop.js. */

import type { ToPage } from "./messages";
import { LoopPage, type Host } from "./page";

declare function acquireVsCodeApi(): Host;

const root = document.getElementById("loop");
const told = document.getElementById("told");
if (root !== null && told !== null) {
  const page = new LoopPage(root, told, acquireVsCodeApi(), {
    now: () => Date.now(),
    later: (milliseconds, callback) => {
      const timer = setTimeout(callback, milliseconds);
      return (): void => {
        clearTimeout(timer);
      };
    },
  });
  // Only VS Code itself can post to a webview's own frame; its messages have no other mark.
  window.addEventListener("message", (event: MessageEvent<ToPage>) => {
    page.receive(event.data);
  });
}
