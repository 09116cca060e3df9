/** Asks which of the plans of a folder its loop works on, and writes that into its settings. */

import * as vscode from "vscode";

import type { FoundPlan } from "../generated/protocol";
import { t } from "../l10n";
import type { FolderSnapshot } from "../state/snapshot";
import type { Tools } from "./tools";

interface PlanItem extends vscode.QuickPickItem {
  readonly plan: FoundPlan;
}

export async function choosePlan(
  { connection, orders }: Tools,
  folder: FolderSnapshot,
): Promise<void> {
  const workspace = folder.uri;
  try {
    const { plans } = await connection.request("ralph/plans", { workspace });
    // The first row is the one that is active: Enter keeps what is chosen.
    const chosenFirst = [...plans].sort((a, b) => Number(b.chosen) - Number(a.chosen));
    const picked = await vscode.window.showQuickPick(chosenFirst.map(itemOf), {
      title: t("Choose Plan"),
      placeHolder: t("Which plan does the loop work on?"),
      matchOnDescription: true,
      matchOnDetail: true,
    });
    if (picked === undefined) {
      return;
    }
    const value = picked.plan.path;
    await connection.request("ralph/configure", { workspace, key: "paths.plan", value });
    vscode.window.setStatusBarMessage(t("Ralph: the plan is {0}", picked.plan.name), 5000);
  } catch (error) {
    await orders.refuse(folder, error);
  }
}

function itemOf(plan: FoundPlan): PlanItem {
  const { name, path, title, done, total, chosen } = plan;
  return {
    label: `$(${chosen ? "check" : "blank"}) ${name}`,
    description: total === 0 ? t("no tasks") : t("{0}/{1} done", done, total),
    detail: path === name ? title : `${title} · ${path}`,
    plan,
  };
}
