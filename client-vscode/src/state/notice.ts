/** What the Loop view says of the window itself, or of what a start lacked: one card with its remedy. */

import { t } from "../l10n";
import type { Notice, PageCommand } from "../webview/messages";
import {
  isServerDown,
  refusalOf,
  shownFolder,
  type FolderProblem,
  type FolderSnapshot,
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
  if (folders.length === 0) {
    return {
      tone: "plain",
      title: t("No folder is open"),
      text: t("Open the folder that the loop should work in, or watch the demo first."),
      buttons: [button("openFolder"), button("demo")],
    };
  }
  switch (server.kind) {
    case "starting":
      return undefined;
    case "installing":
      return {
        tone: "active",
        title: t("One-time setup"),
        text: t("{0}…", upperFirst(server.step)),
        buttons: [button("showOutput")],
        busy: true,
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
        ? (noticeOfStart(snapshot) ?? noticeOfFolder(snapshot))
        : {
            tone: "plain",
            title: t("Restricted mode"),
            text: t("Plans and runs are shown, but no agent starts until you trust the folder."),
            buttons: [button("manageTrust")],
          };
  }
}

/** What waits for the user beside what the server reports: a count, and why in a few words. */
export function clientNeeds(snapshot: Snapshot): readonly string[] {
  if (snapshot.folders.length > 0 && isServerDown(snapshot)) {
    return [t("Server unavailable")];
  }
  const lacking = snapshot.folders.flatMap(
    (folder) => refusalOf(snapshot, folder) ?? problemOf(folder) ?? [],
  );
  return lacking.map(({ code }) => titleOfRefusal(code));
}

/** What keeps the server from reporting on a folder in which somebody expects a loop. */
function problemOf({ problem }: FolderSnapshot): FolderProblem | undefined {
  return problem?.code === "workspace-missing" ? undefined : problem;
}

/** What the last start lacked, and how to get it. */
function noticeOfStart(snapshot: Snapshot): Notice | undefined {
  const refusal = refusalOf(snapshot, shownFolder(snapshot));
  if (refusal === undefined) {
    return undefined;
  }
  const { code, text, claims } = refusal;
  return {
    tone: "warning",
    title: titleOfRefusal(code),
    text: claims === undefined ? text : textOfClaims(claims.claims),
    buttons: (claims === undefined ? remedyOf(code) : ALLOWING).map((command) =>
      button(command, code),
    ),
    ...(claims === undefined ? {} : { claims: claims.claims.filter(({ allowed }) => !allowed) }),
  };
}

/** What keeps the server from reporting on the folder. */
function noticeOfFolder(snapshot: Snapshot): Notice | undefined {
  const problem = shownFolder(snapshot)?.problem;
  if (problem === undefined) {
    return undefined;
  }
  const { code, text } = problem;
  const isFirst = code === "workspace-missing";
  return {
    tone: isFirst ? "plain" : "warning",
    title: titleOfRefusal(code),
    text: isFirst
      ? t("A loop works in a git repository, so that each step can be reviewed and undone.")
      : text,
    buttons: remedyOf(code)
      .filter((command) => command !== "dismiss" && command !== "startLoop")
      .map((command) => button(command, code)),
  };
}

const ALLOWING: readonly PageCommand[] = ["allowAndStart", "dismiss"];

function textOfClaims(claims: readonly { readonly allowed: boolean }[]): string {
  const known = claims.some(({ allowed }) => allowed);
  return known
    ? t("This is new or has changed since you approved it. Look at it before you allow it.")
    : t("A repository's own commands run only after you have seen them. A change asks again.");
}

function titleOfRefusal(code: string): string {
  switch (code) {
    case "not-allowed":
      return t("This repository wants to run a command you haven't approved");
    case "git-missing":
      return t("git was not found");
    case "agent-unavailable":
      return t("The agent was not found");
    case "workspace-missing":
      return t("This folder is not a git repository yet");
    case "workspace-busy":
      return t("A loop is already running here");
    case "plan-missing":
      return t("There is no plan yet");
    case "plan-unusable":
      return t("The plan cannot be read");
    case "config-unusable":
      return t("The configuration cannot be used");
    case "uncommitted-changes":
      return t("Uncommitted changes are in the way");
    default:
      return t("The loop did not start");
  }
}

/** What helps first comes first. */
function remedyOf(code: StartRefusal["code"]): readonly PageCommand[] {
  switch (code) {
    case "git-missing":
      return ["getGit", "startLoop", "dismiss"];
    case "agent-unavailable":
      return ["startWith", "openConfig", "startLoop", "dismiss"];
    case "workspace-missing":
      return ["initRepository", "dismiss"];
    case "plan-missing":
      return ["setup", "openPlan", "dismiss"];
    case "plan-unusable":
      return ["openPlan", "startLoop", "dismiss"];
    case "config-unusable":
      return ["openConfig", "startLoop", "dismiss"];
    case "uncommitted-changes":
      return ["sourceControl", "startLoop", "dismiss"];
    case "workspace-busy":
      return ["dismiss"];
    default:
      return ["startLoop", "showOutput", "dismiss"];
  }
}

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
  const isFirst = server.attempted !== true && server.remedy !== "setting";
  return {
    // Nothing is broken where nothing was tried.
    tone: isFirst ? "plain" : "bad",
    title: isFirst
      ? t("One-time setup")
      : server.remedy === "setting"
        ? t("Server unavailable")
        : t("Setup did not finish"),
    text: server.why + goesOn,
    buttons: HELP[server.remedy].map((command) => button(command)),
  };
}

/** What helps first comes first. */
const HELP: Readonly<Record<Remedy, readonly PageCommand[]>> = {
  install: ["installServer", "otherWays"],
  python: ["getPython", "otherWays"],
  setting: ["serverSettings", "restartServer", "showOutput"],
};

function button(command: PageCommand, code = ""): Button {
  return { title: titleOf(command, code), command };
}

function titleOf(command: PageCommand, code: string): string {
  switch (command) {
    case "showOutput":
      return t("Show Output");
    case "restartServer":
      return t("Try Again");
    case "installServer":
      return t("Set Up");
    case "otherWays":
      return t("Other Ways…");
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
    case "openPlan":
      return code === "plan-missing" ? t("Write a Plan") : t("Open Plan");
    case "setup":
      return t("Set Up a Loop…");
    case "initRepository":
      return t("Initialize Repository");
    case "allowAndStart":
      return t("Allow and Start");
    case "dismiss":
      return t("Not Now");
    case "serverSettings":
      return t("Open Settings");
    case "manageTrust":
      return t("Manage Trust");
    case "openFolder":
      return t("Open Folder");
    case "sourceControl":
      return t("Show Changes");
    case "demo":
      return t("Try the Demo");
    case "walkthrough":
      return t("Open Walkthrough");
  }
}

function withoutStop(sentence: string): string {
  return sentence.replace(/\.$/, "");
}

function upperFirst(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
