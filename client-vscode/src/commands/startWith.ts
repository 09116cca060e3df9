/**
 * Asks with what to start: which profile and agent, and for how many iterations. Escape starts
 * nothing; the settings decide what is selected at first.
 */

import * as vscode from "vscode";

import { ADAPTERS, PROFILE_NAMES, type StartParams } from "../generated/protocol";
import { t } from "../l10n";
import { runDefaults } from "../settings";
import type { FolderSnapshot } from "../state/snapshot";

const STEPS = 3;

/** The user's choices, or undefined if they cancelled. */
export async function askHowToStart(folder: FolderSnapshot): Promise<StartParams | undefined> {
  const config = folder.state?.run?.config;
  const wishes = runDefaults(folder.uri);
  const named = await pickName({
    step: 1,
    placeholder: t("How is the plan stored?"),
    asSetUp: config === undefined ? "" : t("last used: {0}", config.profile),
    names: PROFILE_NAMES,
    wished: wishes.profile,
    mayBeOther: false,
  });
  if (named === undefined) {
    return undefined;
  }
  const agent = await pickName({
    step: 2,
    placeholder: t("Which agent? You can also type a name from .ralph/config.toml"),
    asSetUp: config === undefined ? "" : t("last used: {0}", config.agent),
    names: [
      ...new Set([
        ...ADAPTERS.filter((name) => name !== "acp" && name !== "command"),
        ...Object.keys(config?.agents ?? {}),
        "demo",
      ]),
    ],
    wished: wishes.agent,
    mayBeOther: true,
  });
  if (agent === undefined) {
    return undefined;
  }
  const most = await askIterations(config?.maxIterations);
  if (most === undefined) {
    return undefined;
  }
  const profile = PROFILE_NAMES.find((name) => name === named);
  return {
    ...(profile === undefined ? {} : { profile }),
    ...(agent === "" ? {} : { agent }),
    ...(most === "" ? {} : { maxIterations: Number(most) }),
  };
}

interface Asked {
  readonly step: number;
  readonly placeholder: string;
  /** The detail of the first row, which leaves it to the configuration. */
  readonly asSetUp: string;
  readonly names: readonly string[];
  /** The name that the settings wish for; empty for none. */
  readonly wished: string;
  /** Whether a name that is typed may be none of these. */
  readonly mayBeOther: boolean;
}

interface NameItem extends vscode.QuickPickItem {
  readonly name: string;
}

/** One of the names; empty for what is set up. */
async function pickName(asked: Asked): Promise<string | undefined> {
  const { step, placeholder, asSetUp, wished, mayBeOther } = asked;
  const isNew = wished !== "" && mayBeOther && !asked.names.includes(wished);
  const names = isNew ? [wished, ...asked.names] : asked.names;
  const pick = vscode.window.createQuickPick<NameItem>();
  pick.title = t("Start Loop With…");
  pick.step = step;
  pick.totalSteps = STEPS;
  pick.placeholder = placeholder;
  pick.ignoreFocusOut = true;
  const first: NameItem = { label: t("As configured"), description: asSetUp, name: "" };
  const itemsFor = (typed: string): NameItem[] => {
    const own = typed.trim();
    const isOther = mayBeOther && own !== "" && !names.includes(own);
    return [
      first,
      ...names.map((name) => ({ label: name, name })),
      ...(isOther ? [{ label: own, name: own, alwaysShow: true }] : []),
    ];
  };
  pick.items = itemsFor("");
  pick.activeItems = pick.items.filter(({ name }) => name === wished);
  try {
    return await new Promise<string | undefined>((resolve) => {
      pick.onDidChangeValue((value) => {
        pick.items = itemsFor(value);
      });
      pick.onDidAccept(() => {
        resolve(pick.selectedItems[0]?.name);
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

/** How many iterations at most; empty for what is set up. */
async function askIterations(last: number | undefined): Promise<string | undefined> {
  const answer = await vscode.window.showInputBox({
    title: t("Start Loop With… ({0}/{1})", STEPS, STEPS),
    prompt: t("Maximum number of iterations. Leave it empty for the configured limit."),
    value: last === undefined ? "20" : String(last),
    ignoreFocusOut: true,
    validateInput: (value) =>
      /^\s*(?:[1-9]\d{0,8})?\s*$/.test(value)
        ? undefined
        : t("Enter a whole number of 1 or more, or leave it empty."),
  });
  return answer?.trim();
}
