/** What the Loop view says of the window itself, such as that there is no server. */

import type { Notice } from "../webview/messages";
import type { Snapshot } from "./snapshot";

/** None where all is well. */
export function noticeOf({ server, trusted, folders }: Snapshot): Notice | undefined {
  const live = folders.some(({ state }) => state?.live === true);
  const goesOn = live ? " The loop that runs goes on without it." : "";
  const output = { title: "Show Output", command: "showOutput" } as const;
  switch (server.kind) {
    case "starting":
      return undefined;
    case "installing":
      return { tone: "active", title: "Setting up", text: `${server.step}…`, buttons: [output] };
    case "missing":
      return {
        tone: "bad",
        title: "No server",
        text: server.why + goesOn,
        buttons: [
          ...(server.remedy === "install"
            ? [{ title: "Install…", command: "installServer" } as const]
            : []),
          ...(server.remedy === "setting"
            ? []
            : [{ title: "Select Python…", command: "selectPython" } as const]),
          output,
        ],
      };
    case "failed":
      return {
        tone: "bad",
        title: "Server stopped",
        text: `Ralph's server does not run: ${server.why}.${goesOn}`,
        buttons: [{ title: "Restart Server", command: "restartServer" }, output],
      };
    case "ok":
      return trusted
        ? undefined
        : {
            tone: "plain",
            title: "Restricted mode",
            text: "Plans and runs are shown; no agent is started until the folder is trusted.",
            buttons: [{ title: "Manage Trust", command: "manageTrust" }],
          };
  }
}
