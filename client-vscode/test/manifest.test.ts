/** package.json against the code: what one names, the other has. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, test } from "vitest";

import {
  DRAFT_COMMAND_IDS,
  OPTION_COMMAND_IDS,
  FOLDER_NEEDS,
  LANE_COMMAND_IDS,
  ROW_COMMAND_IDS,
  WINDOW_COMMAND_IDS,
} from "../src/commands/ids";
import {
  LOOP_SETTINGS,
  TASK_STATES,
  type IterationRow,
  type TaskRow,
} from "../src/generated/protocol";
import { NOTICE_KINDS } from "../src/notifications/notices";
import { contextKeys } from "../src/state/contextKeys";
import { emptySnapshot, type FolderSnapshot } from "../src/state/snapshot";
import { iterationNodes } from "../src/trees/iterations";
import { byId } from "../src/trees/nodes";
import { ITERATION_OFFERS, LANE_OFFERS, TASK_OFFERS } from "../src/trees/offers";
import { planNodes } from "../src/trees/plan";
import { folder, iteration, panel, state, task } from "./samples";

const client = dirname(dirname(fileURLToPath(import.meta.url)));

interface Command {
  readonly command: string;
  readonly title: string;
  readonly category?: string;
  readonly enablement?: string;
}

interface Manifest {
  readonly name: string;
  readonly publisher: string;
  readonly icon: string;
  readonly version: string;
  readonly description: string;
  readonly activationEvents: readonly string[];
  readonly contributes: {
    readonly commands: readonly Command[];
    readonly configuration: readonly {
      readonly properties: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
    }[];
    readonly menus: Readonly<
      Record<string, readonly { readonly command: string; readonly when?: string }[]>
    >;
    readonly keybindings: readonly { readonly command: string; readonly when: string }[];
    readonly views: Readonly<
      Record<string, readonly { readonly id: string; readonly when?: string }[]>
    >;
    readonly walkthroughs: readonly {
      readonly id: string;
      readonly steps: readonly {
        readonly id: string;
        readonly title: string;
        readonly description: string;
        readonly media: { readonly svg: string; readonly altText: string };
        readonly completionEvents: readonly string[];
      }[];
    }[];
    readonly viewsWelcome: readonly { readonly contents: string; readonly when: string }[];
  };
}

function read(path: string): string {
  return readFileSync(join(client, path), "utf8");
}

/** The words behind a key such as `%welcome.1%`. */
function nls(key: string): string {
  return words[key.replaceAll("%", "")] ?? "";
}

const text = read("package.json");
const manifest = JSON.parse(text) as Manifest;
const words = JSON.parse(read("package.nls.json")) as Readonly<Record<string, string>>;
const { contributes } = manifest;
const ids = [...Object.keys(FOLDER_NEEDS), ...WINDOW_COMMAND_IDS].map((id) => `ralphLoop.${id}`);

describe("commands", () => {
  test("of the manifest are those of the table", () => {
    const named = contributes.commands.map(({ command }) => command);
    assert.deepEqual([...named].sort(), [...ids].sort());
  });

  test("stand in the palette as Ralph's, all but a draft's own buttons", () => {
    assert.ok(contributes.commands.every(({ category }) => category === "Ralph"));
    assert.deepEqual(
      contributes.menus["commandPalette"],
      [...OPTION_COMMAND_IDS, ...DRAFT_COMMAND_IDS].map((id) => ({
        command: `ralphLoop.${id}`,
        when: "false",
      })),
    );
  });

  test.each([
    ["ralphLoop.startLoop", "Start Loop"],
    ["ralphLoop.stopAfterIteration", "Stop After This Iteration"],
    ["ralphLoop.resetBreaker", "Reset Breaker"],
    ["ralphLoop.answer", "Answer Question…"],
  ])("%s reads %s", (id, title) => {
    const { title: key = "" } = contributes.commands.find(({ command }) => command === id) ?? {};
    assert.equal(words[key.replaceAll("%", "")], title);
  });

  test("that are in menus and on keys exist", () => {
    const used = [...Object.values(contributes.menus).flat(), ...contributes.keybindings];
    for (const { command } of used) {
      assert.ok(ids.includes(command), command);
    }
  });

  test("do not belong to others", () => {
    assert.equal(/"ralph\.[a-z]/i.test(text), false);
  });

  test("have one key in all", () => {
    assert.equal(contributes.keybindings.length, 1);
  });

  test("can be called before anything is known, and while the server is down", () => {
    for (const { command, enablement } of contributes.commands) {
      const needsFolder = command.slice("ralphLoop.".length) in FOLDER_NEEDS;
      if (needsFolder && enablement !== undefined) {
        assert.match(enablement, /\|\| ralphLoop\.server != ok/, command);
      }
    }
  });
});

describe("rows", () => {
  interface Item {
    readonly command: string;
    readonly when: string;
    readonly group: string;
  }
  const items = (contributes.menus["view/item/context"] ?? []) as readonly Item[];
  const folders = (tasks: readonly TaskRow[], rows: readonly IterationRow[]): FolderSnapshot => {
    const { plan } = state();
    return { ...folder(), state: state({ plan: { ...plan, tasks }, panel: panel({ rows }) }) };
  };

  /** Commands of a row's menu, or those that are on the row itself. */
  function shown(view: string, context: string, inline: boolean): readonly string[] {
    return items
      .filter(({ when, group }) => {
        const [, ofView, pattern] = /^view == (\S+) && viewItem =~ \/(.+)\/$/.exec(when) ?? [];
        const matches = ofView === view && new RegExp(pattern ?? "^$").test(context);
        return matches && group.startsWith("inline") === inline;
      })
      .map(({ command }) => command.slice("ralphLoop.".length));
  }

  const states: readonly Partial<TaskRow>[] = [
    {},
    ...TASK_STATES.map((each) => ({ state: each, iteration: 1, attempts: 1, commit: "abc" })),
    { asks: true, blocks: true, inWork: true },
    { asks: true },
    { blocks: true },
    { skipped: true },
  ];
  const tasks = planNodes(
    folders(
      states.map((each, n) => task({ id: `${n}`, ...each })),
      [],
    ),
  );

  test("have two actions on themselves at most", () => {
    for (const { context } of byId(tasks).values()) {
      assert.ok(shown("ralphLoop.plan", context, true).length <= 2, context);
    }
  });

  test("have in their menu what can be done with them", () => {
    const menu = (changes: Partial<TaskRow>): readonly string[] => {
      const [group] = planNodes(folders([task(changes)], []));
      const node = group?.kind === "group" ? group.children[0] : undefined;
      return shown("ralphLoop.plan", node?.context ?? "", false);
    };
    assert.deepEqual(menu({}), ["runTask", "skipTask", "blockTask"]);
    assert.deepEqual(menu({ state: "blocked" }), ["resetTask", "unblockTask"]);
    assert.deepEqual(menu({ state: "done", iteration: 1, commit: "abc" }), [
      "showLog",
      "openCommit",
    ]);
    assert.deepEqual(menu({ asks: true, attempts: 1, iteration: 1 }), [
      ...["runTask", "skipTask", "resetTask", "answer", "blockTask", "showLog"],
    ]);
    const row = iteration({ changes: true, commit: "abc", canRollBack: true });
    const [node] = iterationNodes(folders([], [row]));
    for (const view of ["ralphLoop.iterations", "ralphLoop.runs"]) {
      assert.deepEqual(shown(view, node?.context ?? "", true), ["showChanges"]);
      assert.deepEqual(shown(view, node?.context ?? "", false), [
        ...["showDetails", "showLog", "showChanges", "openCommit", "rollback"],
      ]);
    }
    assert.deepEqual(shown("ralphLoop.runs", "run", true), ["showReport"]);
    assert.deepEqual(shown("ralphLoop.runs", "run", false), ["showReport"]);
    assert.deepEqual(shown("ralphLoop.runs", "anywhere", false), []);
  });

  test("are asked for offers that there are", () => {
    const offers = new Set<string>([...TASK_OFFERS, ...ITERATION_OFFERS, ...LANE_OFFERS]);
    const asked = items.flatMap(({ when }) => [...when.matchAll(/can:(\w+)/g)].map(([, o]) => o));
    assert.deepEqual(new Set(asked), offers);
  });

  test("have a roll back apart from all else", () => {
    const groups = items.filter(({ group }) => group.startsWith("9_undo"));
    assert.deepEqual(
      new Set(groups.map(({ command }) => command)),
      new Set(["ralphLoop.rollback"]),
    );
  });

  test("are asked for by the palette, which has every command of theirs", () => {
    for (const id of [...ROW_COMMAND_IDS, ...LANE_COMMAND_IDS]) {
      assert.ok(id in FOLDER_NEEDS, id);
      assert.ok(!contributes.menus["commandPalette"]?.some(({ command }) => command.endsWith(id)));
    }
  });
});

test("every context key that is asked about is set", () => {
  const set = new Set(Object.keys(contextKeys(emptySnapshot(true), String)));
  const clauses = [
    ...contributes.commands.map(({ enablement }) => enablement ?? ""),
    ...Object.values(contributes.menus)
      .flat()
      .map(({ when }) => when ?? ""),
    ...contributes.keybindings.map(({ when }) => when),
    ...Object.values(contributes.views)
      .flat()
      .map(({ when }) => when ?? ""),
    ...contributes.viewsWelcome.map(({ when }) => when),
  ].map((clause) => clause.replaceAll(/(?:view|commentController) == \S+/g, ""));
  const asked = clauses.flatMap((clause) => clause.match(/ralphLoop\.[\w.]+/g) ?? []);
  assert.deepEqual(
    asked.filter((key) => !set.has(key)),
    [],
  );
});

describe("settings", () => {
  const properties = Object.assign(
    {},
    ...contributes.configuration.map((block) => block.properties),
  ) as Readonly<Record<string, Readonly<Record<string, unknown>>>>;

  test("have a scope, a default and words", () => {
    for (const [name, setting] of Object.entries(properties)) {
      assert.ok("scope" in setting && "default" in setting, name);
      assert.ok("description" in setting || "markdownDescription" in setting, name);
    }
  });

  test("are all read somewhere", () => {
    const source = read("src/settings.ts");
    for (const name of Object.keys(properties)) {
      const short = name.slice("ralphLoop.".length);
      // Those of the loop are read by their table.
      assert.ok(
        short === "trace.server" || name in LOOP_SETTINGS || source.includes(`"${short}"`),
        name,
      );
    }
  });

  test("that name a program cannot be set by a folder", () => {
    assert.equal(properties["ralphLoop.server.path"]?.["scope"], "machine");
    assert.equal(properties["ralphLoop.server.python"]?.["scope"], "machine");
  });

  test("are not one within the other, or the editor reads only one of the two", () => {
    const names = Object.keys(properties);
    const within = names.filter((name) => names.some((other) => name.startsWith(`${other}.`)));
    assert.deepEqual(within, []);
  });

  test("list every kind of notification", () => {
    const { items } = properties["ralphLoop.notifications.except"] ?? {};
    assert.deepEqual((items as { enum: unknown }).enum, NOTICE_KINDS);
  });
});

describe("the walkthrough", () => {
  const [walkthrough, ...others] = contributes.walkthroughs;
  const steps = walkthrough?.steps ?? [];

  test("is the one that its command opens", () => {
    assert.deepEqual(others, []);
    const name = `${manifest.publisher}.${manifest.name}#${walkthrough?.id ?? ""}`;
    assert.ok(read("src/commands/table.ts").includes(`"${name}"`), name);
  });

  test("goes from the demo to the end of a run", () => {
    assert.deepEqual(
      steps.map(({ id }) => id),
      ["demo", "setup", "run", "answer", "end"],
    );
  });

  test.each(steps)("$id: its commands and keys are ours, and it can be completed", (step) => {
    const { description, completionEvents } = step;
    const links = [...nls(description).matchAll(/\(command:([\w.]+)\)/g)].map(([, id]) => id);
    const onCommand = completionEvents.flatMap(
      (event) => /^onCommand:(.+)$/.exec(event)?.[1] ?? [],
    );
    assert.equal(links.length, 1);
    for (const id of [...links, ...onCommand]) {
      assert.ok(id === "ralphLoop.loop.focus" || ids.includes(id ?? ""), id);
    }
    const keys = completionEvents.flatMap((event) => /^onContext:([\w.]+)/.exec(event)?.[1] ?? []);
    const known = Object.keys(contextKeys(emptySnapshot(true), String));
    assert.ok(keys.every((key) => known.includes(key)));
    assert.ok(completionEvents.length > 0);
  });

  test.each(steps)("$id: its picture follows the theme, and is told in words", ({ media }) => {
    const svg = read(media.svg);
    assert.match(svg, /var\(--vscode-[\w-]+, #[0-9a-f]{6}\)/);
    // Each colour is the theme's, with one to fall back on.
    assert.deepEqual(svg.match(/(?:fill|stroke)="(?!none|var\()[^"]+"/g), null);
    assert.equal(/<(?:script|style|image|foreignObject)|href=/.test(svg), false);
    assert.ok(nls(media.altText).length > 20);
  });
});

describe("icons", () => {
  test("the extension's is a PNG of 128 by 128, made of what lies beside it", () => {
    const png = readFileSync(join(client, manifest.icon));
    assert.equal(png.subarray(1, 4).toString("latin1"), "PNG");
    assert.deepEqual([png.readUInt32BE(16), png.readUInt32BE(20)], [128, 128]);
    const source = createHash("sha256").update(read("media/extension-icon.svg")).digest("hex");
    assert.ok(png.includes(`Source\0${source}`), "out of date: node scripts/icon.mjs");
  });

  test("the container's takes the colour of the bar that it stands in", () => {
    const svg = read("media/icon.svg");
    assert.match(svg, /viewBox="0 0 24 24"/);
    assert.match(svg, /stroke="currentColor"/);
    assert.equal(/#[0-9a-f]{3}/i.test(svg), false);
  });
});

describe("words", () => {
  const used = [...text.matchAll(/%([\w.]+)%/g)].map(([, key]) => key);

  test("that are used are there", () => {
    for (const key of used) {
      assert.ok(key !== undefined && key in words, key);
    }
  });

  test("that are there are used", () => {
    for (const key of Object.keys(words)) {
      assert.ok(used.includes(key), key);
    }
  });
});

test("the version is the server's", () => {
  const source = read("../server/ralph_ls/__init__.py");
  assert.equal(/^__version__ = "(.+)"$/m.exec(source)?.[1], manifest.version);
});

test("it starts only where there may be a loop", () => {
  for (const event of manifest.activationEvents) {
    assert.match(
      event,
      /^(?:workspaceContains:[^*]+|onFileSystem:ralph-(?:log|text|draft)|onWebviewPanel:ralphLoop\.dashboard)$/,
    );
  }
});
