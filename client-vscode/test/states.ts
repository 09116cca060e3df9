/**
 * Every state of the loop and of the window, with all that the user should see of each (docs/rules.md#panel).
 *
 * What the loop itself reports is what the server makes of it: its tests keep that in
 * tests/golden/states. What is expected is here once, for the view, the bar and the badge.
 */

import type { ClaimsResult } from "../src/generated/protocol";
import type { FolderSnapshot } from "../src/state/snapshot";
import type { StatusModel } from "../src/status/statusItem";
import { folderIn, type Expected, type Sample } from "./expected";
import { PARSER, snapshot, state, unknownFolder } from "./samples";

const ALL = ["loop", "plan", "iterations"];
/** Once a run has ended. */
const WITH_RUNS = [...ALL, "runs"];

function at(name: string, expected: Omit<Expected, "views"> & Partial<Expected>): Sample {
  return {
    name,
    snapshot: snapshot([folderIn(name)]),
    expected: { views: /^ended|^engine-gone/.test(name) ? WITH_RUNS : ALL, ...expected },
  };
}

const show = (
  text: string,
  background?: "error" | "warning",
): NonNullable<Expected["status"]> & { click: StatusModel["command"] } => ({
  text,
  ...(background === undefined ? {} : { background }),
  click: "show",
});

const PAUSE = ["Pause", "Stop after this iteration"];
const LOG = "Show log";

const OF_THE_LOOP: readonly Sample[] = [
  at("idle", {
    views: ["loop", "plan"],
    status: show("$(sync-ignored) Ralph"),
    headline: "No loop has run here",
    cards: [],
    buttons: ["Start loop"],
  }),
  at("starting", {
    status: show("$(sync~spin) Ralph 0/20"),
    headline: "Starting",
    cards: [],
    buttons: PAUSE,
  }),
  at("running", {
    status: show("$(sync~spin) Ralph 3/20"),
    headline: "Running",
    cards: [],
    buttons: PAUSE,
  }),
  at("pausing", {
    status: show("$(sync~spin) Ralph 3/20"),
    headline: "Pausing after this iteration",
    cards: [],
    buttons: ["Cancel the pause", "Stop after this iteration"],
  }),
  at("paused", {
    status: show("$(debug-pause) Ralph paused"),
    headline: "Paused after iteration 3",
    cards: [{ title: "Paused", tone: "warning", buttons: ["Resume", "Stop"] }],
  }),
  at("review", {
    status: show("$(debug-pause) Ralph review"),
    badge: 1,
    headline: "Waiting for your review",
    cards: [
      {
        title: "Review",
        tone: "warning",
        text: /^3 iterations of this run are done\. Look at the work; /,
        buttons: ["Approve and continue", "Stop", LOG],
      },
    ],
  }),
  at("stopping", {
    status: show("$(sync~spin) Ralph stopping"),
    headline: "Stopping after this iteration",
    cards: [{ title: "Stopping after this iteration", tone: "plain", buttons: ["Stop now"] }],
  }),
  at("asks", {
    status: { text: "$(question) Ralph asks", background: "warning", click: "answer" },
    badge: 1,
    headline: "Waiting for your answer",
    cards: [
      {
        title: "Ralph asks (iteration 3)",
        tone: "warning",
        text: /^Where is VAT rounded\?/,
        buttons: ["(a) on each line", "(b) on the total", "Answer…", "Open decide.txt"],
      },
    ],
    buttons: ["Reset breaker", "Stop"],
  }),
  at("half-open", {
    status: show("$(warning) Ralph 3/20", "warning"),
    headline: "Running",
    cards: [
      {
        title: "No progress (2 of 3)",
        tone: "warning",
        text: /^Breaker half-open: 2 iterations without progress; opens at 3\nlast error: /,
        buttons: ["Reset breaker", LOG],
      },
    ],
    buttons: PAUSE,
  }),
  at("breaker-open", {
    status: show("$(error) Ralph: breaker open", "error"),
    badge: 1,
    headline: "Breaker open",
    cards: [
      {
        title: "Breaker open",
        tone: "bad",
        when: /^Since .*\d\d:15.* \(.*\)$/u,
        text: /^3 iterations without progress\nin a row: 3 of 3 iterations .*\nlast error: /,
        buttons: ["Reset breaker", LOG],
      },
    ],
    buttons: ["Stop"],
  }),
  at("blocked", {
    status: show("$(circle-slash) Ralph blocked", "warning"),
    badge: 1,
    headline: "Blocked",
    cards: [
      {
        title: "Blocked (iteration 3)",
        tone: "bad",
        text: /^The merchant account is missing$/,
        buttons: ["Mark blocker as resolved", "Open blocked.txt"],
      },
    ],
    buttons: ["Stop"],
  }),
  at("limit-wait", {
    status: show("$(clock) Ralph until 17:00"),
    headline: "Waiting for the usage limit until 17:00",
    cards: [
      {
        title: "Waiting for the usage limit",
        tone: "plain",
        when: /^Continues at 17:00 \(in 5 ?h\S*\)$/,
        text: /does not count/,
        buttons: ["Continue now", ...PAUSE],
      },
    ],
  }),
  at("ended-complete", {
    status: show("$(pass) Ralph: complete"),
    headline: "Complete (code 0)",
    cards: [
      {
        title: "Complete (code 0)",
        tone: "good",
        text: /^all 5 tasks are done\n1 iteration · 6m 0s · /,
        buttons: ["Start another run", LOG],
      },
    ],
  }),
  at("ended-limit", {
    status: show("$(stop-circle) Ralph: limit"),
    headline: "Limit (code 1)",
    cards: [{ title: "Limit (code 1)", tone: "plain", buttons: ["Start loop", LOG] }],
  }),
  at("ended-blocked", {
    status: show("$(circle-slash) Ralph blocked", "warning"),
    badge: 1,
    headline: "Blocked",
    cards: [
      {
        title: "Blocked (iteration 3)",
        tone: "bad",
        buttons: ["Mark blocker as resolved and continue", "Open blocked.txt"],
      },
    ],
    buttons: ["Start loop"],
  }),
  at("ended-decide", {
    status: { text: "$(question) Ralph asks", background: "warning", click: "answer" },
    badge: 1,
    headline: "Waiting for your answer",
    cards: [
      {
        title: "Ralph asks (iteration 3)",
        tone: "warning",
        buttons: [
          "(a) on each line",
          "(b) on the total",
          "Answer and continue…",
          "Open decide.txt",
        ],
      },
    ],
    buttons: ["Start loop"],
  }),
  at("ended-stuck", {
    status: show("$(error) Ralph: breaker open", "error"),
    badge: 1,
    headline: "Breaker open",
    cards: [
      {
        title: "Breaker open",
        tone: "bad",
        when: /^Since /,
        buttons: ["Reset breaker and continue", LOG],
      },
    ],
    buttons: ["Start loop"],
  }),
  at("ended-fatal", {
    status: show("$(error) Ralph: fatal"),
    headline: "Fatal (code 5)",
    cards: [
      {
        title: "Fatal (code 5)",
        tone: "bad",
        text: /^the agent crashed three times in a row\n/,
        buttons: ["Resume run", "Start loop", LOG],
      },
    ],
  }),
  at("ended-stopped", {
    status: show("$(stop-circle) Ralph: stopped"),
    headline: "Stopped (code 130)",
    cards: [
      { title: "Stopped (code 130)", tone: "plain", buttons: ["Resume run", "Start loop", LOG] },
    ],
  }),
  at("engine-gone", {
    status: show("$(debug-disconnect) Ralph: engine gone", "error"),
    badge: 1,
    headline: "Engine gone",
    cards: [
      {
        title: "Engine gone",
        tone: "bad",
        when: /^Last event at .*\d\d:11.* \(.*\)$/u,
        text: /\(pid 4711\) is gone/,
        buttons: ["Resume run", "Start loop", LOG],
      },
    ],
  }),
];

/** A folder in which there is neither a plan nor a run. */
function bareFolder(): FolderSnapshot {
  const folder = folderIn("idle");
  const told = folder.state ?? state();
  return { ...folder, state: { ...told, plan: { path: "", tasks: [], problems: [] } } };
}

const RUNNING = folderIn("running");

const CLAIMS: ClaimsResult = {
  allowed: false,
  digest: "0".repeat(64),
  claims: [
    {
      ...{ key: "agent.sh", text: "#!/bin/sh\nmake\n", cut: false, path: "agent.sh" },
      ...{ allowed: false, notCovered: ["make"] },
    },
  ],
};

const OF_THE_WINDOW: readonly Sample[] = [
  {
    name: "no folder",
    snapshot: snapshot([]),
    expected: {
      views: ["loop"],
      status: undefined,
      headline: "",
      cards: [
        { title: "No folder is open", tone: "plain", buttons: ["Open Folder", "Try the Demo"] },
      ],
    },
  },
  {
    name: "nothing set up",
    snapshot: snapshot([bareFolder()]),
    expected: {
      views: ["loop"],
      first: { hint: "", ready: true },
      status: undefined,
      headline: "",
      cards: [],
    },
  },
  {
    name: "not a repository",
    snapshot: snapshot([
      { ...unknownFolder(), problem: { code: "workspace-missing", text: "no work tree" } },
    ]),
    expected: {
      views: ["loop"],
      first: { hint: "", ready: false },
      status: undefined,
      headline: "",
      cards: [
        {
          title: "This folder is not a git repository yet",
          tone: "plain",
          buttons: ["Initialize Repository"],
        },
      ],
    },
  },
  {
    name: "commands that are not approved",
    snapshot: snapshot([folderIn("idle")], {
      refusal: { uri: PARSER, code: "not-allowed", text: "Run ralph allow", claims: CLAIMS },
    }),
    expected: {
      views: ["loop", "plan"],
      status: show("$(warning) Ralph needs you", "warning"),
      badge: 1,
      headline: "No loop has run here",
      cards: [
        {
          title: "This repository wants to run a command you haven't approved",
          tone: "warning",
          text: /^A repository's own commands run only after you have seen them\./,
          buttons: ["agent.sh", "Allow and Start", "Not Now"],
        },
      ],
      buttons: [],
    },
  },
  {
    name: "an agent that is not there",
    snapshot: snapshot([folderIn("idle")], {
      refusal: { uri: PARSER, code: "agent-unavailable", text: "Claude was not found on PATH" },
    }),
    expected: {
      views: ["loop", "plan"],
      status: show("$(warning) Ralph needs you", "warning"),
      badge: 1,
      headline: "No loop has run here",
      cards: [
        {
          title: "The agent was not found",
          tone: "warning",
          text: /^Claude was not found on PATH$/,
          buttons: ["Start With…", "Open Configuration", "Try Again", "Not Now"],
        },
      ],
      buttons: [],
    },
  },
  {
    name: "git is not there",
    snapshot: snapshot([
      { ...unknownFolder(), problem: { code: "git-missing", text: "Install git" } },
    ]),
    expected: {
      views: ["loop"],
      status: show("$(warning) Ralph needs you", "warning"),
      badge: 1,
      headline: "",
      cards: [
        {
          title: "git was not found",
          tone: "warning",
          text: /^Install git$/,
          buttons: ["Get git"],
        },
      ],
    },
  },
  ...(
    [
      [
        "uncommitted changes",
        "uncommitted-changes",
        "Uncommitted changes are in the way",
        "Show Changes",
      ],
      ["no plan", "plan-missing", "There is no plan yet", "Set Up a Loop…", "Write a Plan"],
    ] as const
  ).map(([name, code, title, ...buttons]): Sample => ({
    name,
    snapshot: snapshot([folderIn("idle")], { refusal: { uri: PARSER, code, text: "What to do" } }),
    expected: {
      views: ["loop", "plan"],
      status: show("$(warning) Ralph needs you", "warning"),
      badge: 1,
      headline: "No loop has run here",
      cards: [
        {
          title,
          tone: "warning",
          text: /^What to do$/,
          buttons: [...buttons, ...(code === "plan-missing" ? [] : ["Try Again"]), "Not Now"],
        },
      ],
      buttons: code === "plan-missing" ? ["Start loop"] : [],
    },
  })),
  {
    name: "not trusted",
    snapshot: snapshot([RUNNING], { trusted: false }),
    expected: {
      views: ALL,
      status: show("$(sync~spin) Ralph 3/20"),
      headline: "Running",
      cards: [{ title: "Restricted mode", tone: "plain", buttons: ["Manage Trust"] }],
      buttons: PAUSE,
    },
  },
  {
    name: "not trusted, nothing set up",
    snapshot: snapshot([bareFolder()], { trusted: false }),
    expected: {
      views: ["loop"],
      status: undefined,
      headline: "",
      cards: [{ title: "Restricted mode", tone: "plain", buttons: ["Manage Trust"] }],
    },
  },
  {
    name: "installing",
    snapshot: snapshot([unknownFolder()], {
      server: { kind: "installing", step: "creating an environment with Python 3.12" },
    }),
    expected: {
      views: ["loop"],
      first: { hint: "", ready: false },
      status: { text: "$(sync~spin) Ralph: setting up", click: "showOutput" },
      headline: "",
      cards: [
        {
          title: "One-time setup",
          tone: "active",
          text: /^Creating an environment with Python 3\.12…$/,
          buttons: ["Show Output"],
        },
      ],
    },
  },
  {
    name: "server not set up yet",
    snapshot: snapshot([unknownFolder()], {
      server: { kind: "missing", why: "It is installed once.", remedy: "install" },
    }),
    expected: {
      views: ["loop"],
      first: { hint: "", ready: false },
      status: undefined,
      headline: "",
      cards: [
        {
          title: "One-time setup",
          tone: "plain",
          text: /^It is installed once\.$/,
          buttons: ["Set Up", "Other Ways…"],
        },
      ],
    },
  },
  {
    name: "a set-up that failed",
    snapshot: snapshot([unknownFolder()], {
      server: { kind: "missing", why: "The disk is full.", remedy: "install", attempted: true },
    }),
    expected: {
      views: ["loop"],
      first: { hint: "", ready: false },
      status: show("$(error) Ralph: no server", "error"),
      badge: 1,
      headline: "",
      cards: [
        {
          title: "Setup did not finish",
          tone: "bad",
          text: /^The disk is full\.$/,
          buttons: ["Set Up", "Other Ways…"],
        },
      ],
    },
  },
  {
    name: "server failed while a loop runs",
    snapshot: snapshot([RUNNING], { server: { kind: "failed", why: "it stopped" } }),
    expected: {
      views: ALL,
      status: show("$(error) Ralph: no server", "error"),
      badge: 1,
      headline: "Running",
      cards: [
        {
          title: "Server stopped",
          tone: "bad",
          when: /^Last update at 12:00 \(now\)$/,
          text: /continues without it/,
          buttons: ["Restart Server", "Show Output"],
        },
      ],
      buttons: PAUSE,
    },
  },
];

export const SAMPLES: readonly Sample[] = [...OF_THE_WINDOW, ...OF_THE_LOOP];
