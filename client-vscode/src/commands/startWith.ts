/** Asks with what to start: which agent, and for how many iterations. Escape starts nothing. */

import * as vscode from "vscode";

import type { StartParams } from "../generated/protocol";
import type { FolderSnapshot } from "../state/snapshot";

/** What the person wants, or undefined where they changed their mind. */
export async function askHowToStart(folder: FolderSnapshot): Promise<StartParams | undefined> {
  const agent = await askAgent(folder);
  if (agent === undefined) {
    return undefined;
  }
  const most = await askIterations(folder);
  if (most === undefined) {
    return undefined;
  }
  return {
    ...(agent === "" ? {} : { agent }),
    ...(most === "" ? {} : { maxIterations: Number(most) }),
  };
}

/** The name of an agent; empty for the one that is set up. */
async function askAgent(folder: FolderSnapshot): Promise<string | undefined> {
  const config = folder.state?.run?.config;
  const known = [...new Set(["claude", ...Object.keys(config?.agents ?? {}), "demo"])];
  const asSetUp: AgentItem = {
    label: "As set up",
    description: config === undefined ? "" : `last time ${config.agent}`,
    agent: "",
  };
  const pick = vscode.window.createQuickPick<AgentItem>();
  pick.title = "Start Loop With… (1/2)";
  pick.placeholder = "Which agent? Type another name that .ralph/config.toml has";
  const itemsFor = (typed: string): AgentItem[] => {
    const own = typed.trim();
    const isOther = own !== "" && !known.includes(own);
    return [
      asSetUp,
      ...known.map((agent) => ({ label: agent, agent })),
      ...(isOther ? [{ label: own, agent: own, alwaysShow: true }] : []),
    ];
  };
  pick.items = itemsFor("");
  try {
    return await new Promise<string | undefined>((resolve) => {
      pick.onDidChangeValue((value) => {
        pick.items = itemsFor(value);
      });
      pick.onDidAccept(() => {
        resolve(pick.selectedItems[0]?.agent);
      });
      pick.onDidHide(() => {
        resolve(undefined);
      });
      pick.show();
    });
  } finally {
    pick.dispose();
  }
}

interface AgentItem extends vscode.QuickPickItem {
  readonly agent: string;
}

/** How many iterations at most; empty for what is set up. */
async function askIterations(folder: FolderSnapshot): Promise<string | undefined> {
  const last = folder.state?.run?.config.maxIterations;
  const answer = await vscode.window.showInputBox({
    title: "Start Loop With… (2/2)",
    prompt: "How many iterations at most? Empty: as set up.",
    value: last === undefined ? "20" : String(last),
    ignoreFocusOut: true,
    validateInput: (value) =>
      /^\s*(?:[1-9]\d{0,8})?\s*$/.test(value) ? undefined : "A whole number from 1 on, or nothing.",
  });
  return answer?.trim();
}
