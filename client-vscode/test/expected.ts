/** What the user should see of a state, and folders in the states that the server's tests keep. */

import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import type { Panel, StateResult } from "../src/generated/protocol";
import type { FolderSnapshot, Snapshot } from "../src/state/snapshot";
import { NOW } from "../src/webview/test/samples";
import { PARSER, run, state } from "./samples";

const GOLDEN = join(dirname(fileURLToPath(import.meta.url)), "../../tests/golden/states");

export interface Sample {
  readonly name: string;
  readonly snapshot: Snapshot;
  readonly expected: Expected;
}

export interface Expected {
  /** Ids of the views that can be seen, without `ralphLoop.`. */
  readonly views: readonly string[];
  /** The form of a first loop: what it says below its button, and whether Start would be obeyed. */
  readonly first?: { readonly hint: string; readonly ready: boolean };
  /** None where the item is hidden. */
  readonly status:
    | { readonly text: string; readonly background?: "error" | "warning"; readonly click: string }
    | undefined;
  readonly badge?: number;
  readonly headline: string;
  /** The most urgent first. */
  readonly cards: readonly {
    readonly title: string;
    readonly tone: string;
    readonly when?: RegExp;
    readonly text?: RegExp;
    readonly buttons: readonly string[];
  }[];
  /** Below the cards. */
  readonly buttons?: readonly string[];
}

// Times are shown in the zone of the viewer; here it is that of Greenwich.
process.env["TZ"] = "UTC";

/** The panel of a state as the server sends it. */
export function golden(name: string): Panel {
  return JSON.parse(readFileSync(join(GOLDEN, `${name}.json`), "utf8")) as Panel;
}

/** A folder in that state. */
export function folderIn(name: string): FolderSnapshot {
  const panel = golden(name);
  const { live, needsPerson } = panel;
  const told = { panel, live, needsPerson };
  const without = { uri: PARSER, name: "parser", receivedAt: NOW };
  if (panel.state === "none") {
    return { ...without, state: withoutKey(state(told), "run") };
  }
  return { ...without, state: state({ ...told, run: run() }) };
}

function withoutKey(told: StateResult, key: keyof StateResult): StateResult {
  return Object.fromEntries(
    Object.entries(told).filter(([name]) => name !== key),
  ) as unknown as StateResult;
}
