/** package.json against the code: what one names, the other has. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, test } from "vitest";

import { DRAFT_COMMAND_IDS, FOLDER_NEEDS, WINDOW_COMMAND_IDS } from "../src/commands/ids";
import { NOTICE_KINDS } from "../src/notifications/notices";
import { contextKeys } from "../src/state/contextKeys";
import { emptySnapshot } from "../src/state/snapshot";

const client = dirname(dirname(fileURLToPath(import.meta.url)));

interface Command {
  readonly command: string;
  readonly title: string;
  readonly category?: string;
  readonly enablement?: string;
}

interface Manifest {
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
    readonly viewsWelcome: readonly { readonly contents: string; readonly when: string }[];
  };
}

function read(path: string): string {
  return readFileSync(join(client, path), "utf8");
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
      DRAFT_COMMAND_IDS.map((id) => ({ command: `ralphLoop.${id}`, when: "false" })),
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
      assert.ok(short === "trace.server" || source.includes(`"${short}"`), name);
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
    assert.match(event, /^(?:workspaceContains:[^*]+|onFileSystem:ralph-log)$/);
  }
});
