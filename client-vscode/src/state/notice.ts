/** What the Loop view says of the window itself, such as that there is no server. */

import { t } from "../l10n";
import type { Notice, PageCommand } from "../webview/messages";
import {
  shownFolder,
  type Remedy,
  type ServerHealth,
  type Snapshot,
  type StartRefusal,
} from "./snapshot";

type Button = Notice["buttons"][number];

/** None where all is well. */
export function noticeOf(snapshot: Snapshot): Notice | undefined {
  const { server, trusted, folders } = snapshot;
  const shown = shownFolder(snapshot);
  switch (server.kind) {
    case "starting":
      return undefined;
    case "installing":
      return {
        tone: "active",
        title: t("Setting up"),
        text: t("{0}…", server.step),
        buttons: [button("showOutput")],
      };
    case "missing":
    case "failed":
      return {
        ...noticeOfServer(
          server,
          folders.some(({ state }) => state?.live === true),
        ),
        // Nothing new comes without a server; what was reported before is still there.
        ...(shown?.state === undefined ? {} : { asOf: shown.receivedAt }),
      };
    case "ok":
      return trusted
        ? noticeOfStart(snapshot)
        : {
            tone: "plain",
            title: t("Restricted mode"),
            text: t("Plans and runs are shown, but no agent starts until you trust the folder."),
            buttons: [button("manageTrust")],
          };
  }
}

/** What the last start lacked, and how to get it. */
function noticeOfStart(snapshot: Snapshot): Notice | undefined {
  const { refusal } = snapshot;
  const shown = shownFolder(snapshot);
  if (refusal === undefined || refusal.uri !== shown?.uri || shown.state?.live === true) {
    return undefined;
  }
  const isGit = refusal.code === "git-missing";
  return {
    tone: "bad",
    title: isGit ? t("git was not found") : t("The agent was not found"),
    text: refusal.text,
    buttons: START_HELP[refusal.code].map(button),
  };
}

const START_HELP: Readonly<Record<StartRefusal["code"], readonly PageCommand[]>> = {
  "git-missing": ["getGit", "startLoop"],
  "agent-unavailable": ["startWith", "openConfig", "startLoop"],
};

/** Why there is none, and what helps; `live`: a loop runs all the same. */
export function noticeOfServer(
  server: Extract<ServerHealth, { readonly kind: "missing" | "failed" }>,
  live: boolean,
): Notice {
  const goesOn = live ? ` ${t("The running loop continues without it.")}` : "";
  if (server.kind === "failed") {
    return {
      tone: "bad",
      title: t("Server stopped"),
      text: `${t("Ralph's server is not running: {0}.", withoutStop(server.why))}${goesOn}`,
      buttons: [{ title: t("Restart Server"), command: "restartServer" }, button("showOutput")],
    };
  }
  const copies = server.command !== undefined;
  const commands = HELP[server.remedy].filter((each) => copies || each !== "copyCommand");
  return {
    tone: "bad",
    title: t("Server unavailable"),
    text: server.why + goesOn,
    buttons: commands.map(button),
  };
}

/** What helps first comes first. */
const HELP: Readonly<Record<Remedy, readonly PageCommand[]>> = {
  install: ["installServer", "copyCommand", "selectPython", "showOutput"],
  python: ["getPython", "copyCommand", "selectPython", "restartServer", "showOutput"],
  setting: ["serverSettings", "restartServer", "showOutput"],
};

function button(command: PageCommand): Button {
  return { title: titleOf(command), command };
}

function titleOf(command: PageCommand): string {
  switch (command) {
    case "showOutput":
      return t("Show Output");
    case "restartServer":
      return t("Try Again");
    case "installServer":
      return t("Install…");
    case "selectPython":
      return t("Select Python…");
    case "getPython":
      return t("Get Python");
    case "getGit":
      return t("Get git");
    case "startLoop":
      return t("Try Again");
    case "startWith":
      return t("Start With…");
    case "openConfig":
      return t("Open Configuration");
    case "copyCommand":
      return t("Copy Command");
    case "serverSettings":
      return t("Open Settings");
    case "manageTrust":
      return t("Manage Trust");
    case "openFolder":
      return t("Open Folder");
  }
}

function withoutStop(sentence: string): string {
  return sentence.replace(/\.$/, "");
}
