/**
 * The set-up wizard at work: draws what the model shows, does what it wants done, and keeps the
 * answers of a user who leaves. What is shown and when, the model decides.
 */

import * as vscode from "vscode";

import type { SetupChoicesResult } from "../generated/protocol";
import { t } from "../l10n";
import type { Connection } from "../server/connection";
import { runDefaults } from "../settings";
import type { FolderSnapshot } from "../state/snapshot";
import { proposeParams, readKept, setupParams, toStored, type Kept } from "./answers";
import type { Drafts } from "./drafts";
import { next, open } from "./model";
import { previewText } from "./preview";
import { Previews } from "./previews";
import { screenOf } from "./screens";
import { answersNow, type Effect, type Event, type Turn, type Wizard } from "./state";
import { Surface, type Did } from "./surface";

/** What the wizard leads to. */
export interface Leads {
  /** Start a run in the folder that was set up. */
  start(folder: FolderSnapshot): Promise<void>;
  /** Show the user why it did not open. */
  showError(text: string, code: string, folder: FolderSnapshot): Promise<void>;
}

/** What it works with. */
export interface Parts {
  readonly connection: Pick<Connection, "request" | "subscribeAll">;
  readonly memory: vscode.Memento;
  readonly log: vscode.LogOutputChannel;
  readonly leads: Leads;
  readonly drafts: Drafts;
}

interface Session {
  readonly folder: FolderSnapshot;
  wizard: Wizard;
}

export class SetUpWizard implements vscode.Disposable {
  private readonly surface = new Surface((did) => {
    this.hear(did);
  });
  private readonly connection: Parts["connection"];
  private readonly memory: vscode.Memento;
  private readonly log: vscode.LogOutputChannel;
  private readonly leads: Leads;
  private readonly drafts: Drafts;
  private readonly previews = new Previews();
  private session: Session | undefined;
  /** Each outcome belongs to one effect; what comes of an earlier one is dropped. */
  private turn = 0;
  private stopping: vscode.CancellationTokenSource | undefined;

  constructor({ connection, memory, log, leads, drafts }: Parts) {
    this.connection = connection;
    this.memory = memory;
    this.log = log;
    this.leads = leads;
    this.drafts = drafts;
  }

  /** Open it for a folder, where it was left there. */
  async open(folder: FolderSnapshot): Promise<void> {
    if (this.session?.folder.uri === folder.uri) {
      this.surface.focus();
      return;
    }
    this.leave();
    const choices = await vscode.window.withProgress(
      { location: vscode.ProgressLocation.Window, title: t("Ralph: inspecting the folder") },
      async () => await this.choices(folder),
    );
    if (choices === undefined) {
      return;
    }
    const saved = this.memory.get<unknown>(keyOf(folder.uri));
    const kept = readKept(saved, choices, runDefaults(folder.uri));
    let turn = open(choices, kept);
    for (const { draft, text } of await this.drafts.take(folder.uri)) {
      turn = next(turn[0], { kind: "drafted", draft, text });
    }
    this.session = { folder, wizard: turn[0] };
    this.take(turn);
  }

  dispose(): void {
    this.leave();
    this.surface.dispose();
    this.previews.dispose();
  }

  /** What can be chosen in the folder; what prevents it is shown. */
  private async choices(folder: FolderSnapshot): Promise<SetupChoicesResult | undefined> {
    try {
      return await this.connection.request("ralph/setupChoices", { workspace: folder.uri });
    } catch (error) {
      const { message, code = "internal" } = error as Error & { readonly code?: string };
      // Not awaited: it stays until the user dismisses it.
      void this.leads.showError(message, code, folder);
      return undefined;
    }
  }

  private hear(did: Did): void {
    const { session } = this;
    if (session === undefined) {
      return;
    }
    switch (did.kind) {
      case "left":
        this.leave();
        break;
      case "startedOver":
        this.stopAgent();
        this.take(open(session.wizard.choices, this.fresh(session)));
        break;
      default:
        this.take(next(session.wizard, did));
        break;
    }
  }

  private fresh({ folder, wizard }: Session): Kept {
    return readKept(undefined, wizard.choices, runDefaults(folder.uri));
  }

  private take([wizard, effect]: Turn): void {
    const { session } = this;
    if (session === undefined) {
      return;
    }
    session.wizard = wizard;
    this.surface.show(screenOf(wizard));
    void this.keep(session);
    if (effect !== undefined) {
      this.turn += 1;
      const { turn } = this;
      this.perform(session, effect).then(
        (outcome) => {
          this.come(session, turn, outcome);
        },
        (error: unknown) => {
          const message = error instanceof Error ? error.message : String(error);
          this.log.warn(`set-up: ${message}`);
          if (this.session === session) {
            this.come(session, turn, { kind: "failed", message });
          } else if (effect.kind === "openDraft" || effect.kind === "write") {
            // It is no longer there to say so itself.
            void this.leads.showError(message, "internal", session.folder);
          }
        },
      );
    }
  }

  private come(session: Session, turn: number, outcome: Event | undefined): void {
    if (outcome !== undefined && this.session === session && this.turn === turn) {
      this.take(next(session.wizard, outcome));
    }
  }

  /** Do what the model wants; the event that it comes to. */
  private async perform(session: Session, effect: Effect): Promise<Event | undefined> {
    const { folder, wizard } = session;
    const { answers, choices, result } = wizard;
    const workspace = folder.uri;
    switch (effect.kind) {
      case "judge": {
        const params = { workspace, profile: answers.profile, ...effect.draft };
        const { problems } = await this.connection.request("ralph/validateSetup", params);
        return { kind: "judged", problems };
      }
      case "propose": {
        const stopping = new vscode.CancellationTokenSource();
        this.stopping = stopping;
        const params = proposeParams(answers, workspace);
        const proposal = this.connection.request("ralph/proposePlan", params, stopping.token);
        return { kind: "proposed", result: await proposal };
      }
      case "stopProposing":
        this.stopAgent();
        return undefined;
      case "plan": {
        const params = setupParams(answers, choices, workspace, { dryRun: true });
        return { kind: "planned", result: await this.connection.request("ralph/setup", params) };
      }
      case "openDraft":
        this.leave();
        await this.drafts.open(workspace, effect.draft, effect.text);
        return undefined;
      case "chooseFile":
        return await chooseFile(folder);
      case "preview": {
        const file = result?.files.find(({ path }) => path === effect.path);
        if (file !== undefined) {
          await this.previews.show(workspace, file);
        } else if (result !== undefined) {
          await this.previews.showAll(workspace, previewText(result));
        }
        return undefined;
      }
      case "write":
        await this.write(session, effect.start);
        return undefined;
    }
  }

  private async write(session: Session, start: boolean): Promise<void> {
    const { folder, wizard } = session;
    const params = setupParams(wizard.answers, wizard.choices, folder.uri, { dryRun: false });
    const { files } = await this.connection.request("ralph/setup", params);
    this.log.info(`set up: ${files.map(({ path, action }) => `${action} ${path}`).join(", ")}`);
    // Who left while the files were written has them, and starts the loop when they want to.
    const isHere = this.session === session;
    if (isHere) {
      this.close();
    }
    await this.memory.update(keyOf(folder.uri), undefined);
    await this.connection.subscribeAll();
    if (start && isHere) {
      await this.leads.start(folder);
    } else {
      vscode.window.setStatusBarMessage(t("Ralph: the loop is set up"), 5000);
    }
  }

  /** The user went away: what they answered is there when they come back. */
  private leave(): void {
    const { session } = this;
    if (session !== undefined) {
      void this.keep(session);
      this.close();
    }
  }

  private close(): void {
    this.stopAgent();
    this.session = undefined;
    this.surface.hide();
  }

  private async keep({ folder, wizard }: Session): Promise<void> {
    if (wizard.busy !== "writing") {
      const kept: Kept = { answers: answersNow(wizard), step: wizard.step };
      await this.memory.update(keyOf(folder.uri), toStored(kept));
    }
  }

  private stopAgent(): void {
    this.stopping?.cancel();
    this.stopping?.dispose();
    this.stopping = undefined;
  }
}

/** A plan in the folder. */
async function chooseFile({ uri }: FolderSnapshot): Promise<Event | undefined> {
  const root = vscode.Uri.parse(uri);
  const [chosen] =
    (await vscode.window.showOpenDialog({
      defaultUri: root,
      title: t("Which file is the plan?"),
      openLabel: t("Use as Plan"),
      filters: { [t("Plans")]: ["md", "json"] },
    })) ?? [];
  if (chosen === undefined) {
    return undefined;
  }
  const inside = `${root.path.replace(/\/$/, "")}/`;
  if (!chosen.path.startsWith(inside)) {
    throw new Error(t("The plan must be inside the folder: {0} is not.", chosen.fsPath));
  }
  return { kind: "fileChosen", path: chosen.path.slice(inside.length) };
}

function keyOf(folder: string): string {
  return `setup:${folder}`;
}
