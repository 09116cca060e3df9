/** The tree of runs: what lives anywhere, the runs of a folder, and the iterations of each. */

import assert from "node:assert/strict";
import { describe, test } from "vitest";

import type { KeptRun } from "../src/generated/protocol";
import { endWords, runNodes, type History, type Page } from "../src/history/model";
import { byId, changedRows, childrenOf, type Node } from "../src/trees/nodes";
import { anywhere, folder, iteration, panel, PARSER, RUN, state } from "./samples";

const NOW = new Date(2026, 0, 31, 18, 0).getTime();
const EARLIER = "20260130T120000Z-00ff";

function kept(changes: Partial<KeptRun> = {}): KeptRun {
  return {
    ...{ key: EARLIER, name: EARLIER, iterations: 12, clean: 11, seconds: 2843, files: 9 },
    ...{ commits: 11, tasksDone: 3, estimated: false, withoutCost: 0, validations: 0 },
    ...{ failedValidations: 0, opens: 0, isDone: false, end: "complete", answers: 0, resets: 0 },
    ...{ edits: 0, tasks: ["Write the parser"], pruned: false, costUsd: 3.2 },
    startedAt: new Date(2026, 0, 31, 12, 0).toISOString(),
    ...changes,
  };
}

function history(
  runs: readonly KeptRun[],
  pages: readonly (readonly [string, Page])[] = [],
): History {
  return { runs, pages: new Map(pages) };
}

function outline(nodes: readonly Node[]): readonly unknown[] {
  return nodes.map((node) => {
    const inner = childrenOf(node);
    const line = `${node.label}|${node.description}`;
    return inner.length === 0 ? line : [line, outline(inner)];
  });
}

describe("the tree of runs", () => {
  test("has nothing before the server has answered", () => {
    assert.deepEqual(runNodes(folder(), undefined, [], NOW), []);
    assert.deepEqual(runNodes(undefined, history([kept()]), [], NOW), []);
  });

  test("has what lives or waits anywhere on top, then the runs, closed until they are opened", () => {
    const waits = anywhere({
      ...{ workspace: "C:\\work\\bills", live: false, needs: "an answer", iteration: 1 },
    });
    const nodes = runNodes(folder(), history([kept()]), [anywhere(), waits], NOW);
    assert.deepEqual(outline(nodes), [
      ["Live and waiting|2", ["letters|#3/20 · the agent works", "bills|#1/20 · an answer"]],
      ["12:00 PM|complete · 3 tasks · 12 iterations · 47m 23s · $3.20", ["Loading…|"]],
    ]);
    assert.deepEqual(
      [...byId(nodes).values()].map(({ icon }) => icon?.name),
      [undefined, "sync", "bell-dot", "pass", undefined],
    );
  });

  test("names a lane of a fleet by its task", () => {
    const lane = anywhere({ workspace: "/state/fleet/lanes/RUN/api--T1-1", fleetTask: "api#T1" });
    assert.deepEqual(outline(runNodes(undefined, undefined, [lane], NOW)), [
      ["Live and waiting|1", ["api#T1|#3/20 · the agent works"]],
    ]);
  });

  test("names a task of a fleet that asks by its title and question, as it is no run now", () => {
    const asks = anywhere({
      ...{ workspace: "/srv/api", fleetTask: "api#T1", fleetState: "asking", live: false },
      ...{ activity: "In euros?", needs: "asks: In euros?", iteration: 0 },
      task: { id: "T1", title: "Show the total" },
    });
    assert.deepEqual(outline(runNodes(undefined, undefined, [asks], NOW)), [
      ["Live and waiting|1", ["api#T1|Show the total · asks: In euros?"]],
    ]);
  });

  test("has what waits elsewhere although no run ended here, or no folder is shown", () => {
    for (const [shown, known] of [
      [folder(), history([])],
      [undefined, undefined],
    ] as const) {
      const nodes = runNodes(shown, known, [anywhere()], NOW);
      assert.deepEqual(outline(nodes), [
        ["Live and waiting|1", ["letters|#3/20 · the agent works"]],
      ]);
    }
  });

  test("says of a run aloud when it was, how it ended and what it took", () => {
    const run = kept({ end: "limit", tasksDone: 1, iterations: 1, pruned: true, estimated: true });
    const [node] = runNodes(folder(), history([run]), [], NOW);
    assert.equal(
      node?.spoken,
      "12:00 PM, limit reached, Write the parser, 1 iteration, 47 minutes 23 seconds, ≈$3.20, its output was deleted",
    );
    assert.match(
      node.tooltip,
      /^Run 20260130T120000Z-00ff\n[^]*its output was deleted\n• Write the parser$/,
    );
  });

  test("has the iterations of a run that was opened, and the way to those before", () => {
    const rows = [iteration({ iteration: 9, task: "A", outcome: "progress" })];
    const [node] = runNodes(folder(), history([kept()], [[EARLIER, { rows, older: 8 }]]), [], NOW);
    assert.ok(node !== undefined);
    const [first, more] = childrenOf(node);
    assert.deepEqual([first?.kind, first?.label], ["iteration", "A"]);
    assert.ok(first?.kind === "iteration" && more?.kind === "more");
    assert.equal(first.run, EARLIER);
    assert.deepEqual([more.before, more.run, more.description], [9, EARLIER, "8 older iterations"]);
  });

  test("has of the newest run what is reported anyway, continued by what was asked for", () => {
    const reported = [iteration({ iteration: 4 }), iteration({ iteration: 3 })];
    const live = { ...folder(), state: state({ panel: panel({ rows: reported }) }) };
    const runs = [kept({ key: RUN, end: "running" })];
    const starts = (pages: readonly (readonly [string, Page])[]): readonly unknown[] => {
      const [node] = runNodes(live, history(runs, pages), [], NOW);
      return node === undefined
        ? []
        : childrenOf(node).map((child) =>
            child.kind === "iteration" ? child.row.start : child.kind,
          );
    };
    assert.deepEqual(starts([]), [4, 3, "more"]);
    const earlier = { rows: [iteration({ iteration: 2 }), iteration({ iteration: 1 })], older: 0 };
    assert.deepEqual(starts([[RUN, earlier]]), [4, 3, 2, 1]);
  });

  test("draws again only the run whose iterations came", () => {
    const runs = [kept({ key: RUN }), kept()];
    const other = { ...folder(), state: undefined };
    const before = runNodes(other, history(runs), [], NOW);
    const page = { rows: [iteration()], older: 0 };
    const after = runNodes(other, history(runs, [[EARLIER, page]]), [], NOW);
    assert.deepEqual(changedRows(before, after), {
      kind: "rows",
      ids: [`${PARSER}#runs:${EARLIER}`],
    });
  });

  test("has a word and a shape for each way in which a run may be", () => {
    const ends = [
      ...["complete", "limit", "blocked", "decide", "stuck", "fatal", "stopped"],
      ...["running", "parked", "crashed"],
    ];
    const nodes = runNodes(folder(), history(ends.map((end) => kept({ key: end, end }))), [], NOW);
    assert.equal(new Set(nodes.map(({ icon }) => icon?.name)).size, ends.length);
    assert.equal(new Set(ends.map(endWords)).size, ends.length);
    assert.equal(endWords("later"), "later");
  });
});
