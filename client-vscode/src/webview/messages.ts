/**
 * What the host and the page of the Loop view say to each other: two closed unions.
 *
 * The host trusts nothing that a page sends: `readFromPage` gives back only what is on the list.
 * It must never know VS Code or the DOM, since both sides import it.
 */

import {
  VERBS,
  type ClaimView,
  type Message,
  type StateResult,
  type Tone,
  type Verb,
} from "../generated/protocol";
import { readDescribed, type Described, type FirstUse } from "./firstUse";

/** What the page may ask of VS Code itself, beside the verbs that the server's buttons name. */
export const PAGE_COMMANDS = [
  "showOutput",
  "restartServer",
  "installServer",
  "otherWays",
  "getPython",
  "getGit",
  "startLoop",
  "startWith",
  "openConfig",
  "openPlan",
  "setup",
  "initRepository",
  "allowAndStart",
  "dismiss",
  "demo",
  "walkthrough",
  "serverSettings",
  "manageTrust",
  "openFolder",
  "sourceControl",
] as const;
export type PageCommand = (typeof PAGE_COMMANDS)[number];

/** What the host itself has to say, such as that the server is missing; shown above all else. */
export interface Notice {
  readonly tone: Tone;
  readonly title: string;
  readonly text: string;
  readonly buttons: readonly { readonly title: string; readonly command: PageCommand }[];
  /** Where nothing new comes any more: when what is shown was reported, in milliseconds. */
  readonly asOf?: number;
  /** Commands and files that would run, each with its text. */
  readonly claims?: readonly ClaimView[];
  /** Whether something is being done about it now. */
  readonly busy?: boolean;
}

/** One folder of several, in the overview of all. */
export interface FolderLine {
  /** URI of the folder. */
  readonly workspace: string;
  readonly name: string;
  /** Its state in a few words. */
  readonly words: string;
  readonly tone: Tone;
  readonly needsPerson: boolean;
  /** Whether it is the one that the views show. */
  readonly isShown: boolean;
}

/** Everything that the page draws of one folder. */
export interface LoopSnapshot {
  /** URI of the folder. */
  readonly workspace: string;
  /** Its name; empty where it is the only one. */
  readonly name: string;
  /** As the server reported it last. */
  readonly state?: StateResult;
  /** When that came, in milliseconds since the epoch. */
  readonly receivedAt: number;
  /** Whether a run is being started here, and was not seen yet. */
  readonly starting: boolean;
  /** All folders in their order; empty where there is only one. */
  readonly folders: readonly FolderLine[];
  /** False while nobody would carry out an order: no trust, or no server. */
  readonly canAct: boolean;
  readonly notice?: Notice;
  /** The way to a first loop; none where there is a loop already. */
  readonly firstUse?: FirstUse;
}

/** Host to page. */
export type ToPage =
  | { readonly type: "snapshot"; readonly snapshot: LoopSnapshot }
  | {
      readonly type: "messages";
      readonly workspace: string;
      readonly run: string;
      readonly messages: readonly Message[];
    };

/** Page to host. */
export type FromPage =
  /** It listens; `still` where the user prefers reduced motion, which only a page can report. */
  | { readonly type: "ready"; readonly reducedMotion: boolean }
  | {
      readonly type: "act";
      readonly workspace: string;
      readonly verb: Verb;
      readonly arguments: Readonly<Record<string, unknown>>;
    }
  | { readonly type: "command"; readonly command: PageCommand }
  /** Show another folder. */
  | { readonly type: "show"; readonly workspace: string }
  /** Open the file of this claim, which was shown. */
  | { readonly type: "claim"; readonly key: string }
  /** Set up and start the first loop. */
  | { readonly type: "begin"; readonly workspace: string; readonly described: Described };

/** What the page sent, or undefined where it is nothing that a page may send. */
export function readFromPage(value: unknown): FromPage | undefined {
  if (!isRecord(value)) {
    return undefined;
  }
  switch (value["type"]) {
    case "ready":
      return { type: "ready", reducedMotion: value["reducedMotion"] === true };
    case "act": {
      const { workspace, verb, arguments: given } = value;
      const known = VERBS.find((each) => each === verb);
      if (typeof workspace !== "string" || known === undefined || !isRecord(given)) {
        return undefined;
      }
      return { type: "act", workspace, verb: known, arguments: given };
    }
    case "command": {
      const command = PAGE_COMMANDS.find((each) => each === value["command"]);
      return command === undefined ? undefined : { type: "command", command };
    }
    case "show": {
      const { workspace } = value;
      return typeof workspace === "string" ? { type: "show", workspace } : undefined;
    }
    case "claim": {
      const { key } = value;
      return typeof key === "string" ? { type: "claim", key } : undefined;
    }
    case "begin": {
      const { workspace } = value;
      const described = readDescribed(value["described"]);
      return typeof workspace !== "string" || described === undefined
        ? undefined
        : { type: "begin", workspace, described };
    }
    default:
      return undefined;
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
