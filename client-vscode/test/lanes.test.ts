/** The rows of lanes, what can be done with them, and the answer that one of them gets. */

import assert from "node:assert/strict";
import { describe, test } from "vitest";

import { matterOfLane, stillAsks, wantedOf } from "../src/answer/threadModel";
import type { LaneRow } from "../src/generated/protocol";
import { contextKeys } from "../src/state/contextKeys";
import { emptySnapshot, type FolderSnapshot } from "../src/state/snapshot";
import { laneNodes, lanesSummary } from "../src/trees/lanes";
import { laneOffers } from "../src/trees/offers";
import { folder, lane, panel, question, state } from "./samples";

const asking: Partial<LaneRow> = {
  lane: 2,
  task: { id: "t2", title: "Choose a store" },
  question: "SQLite or Postgres?",
  options: ["SQLite", "Postgres"],
  words: "asks: SQLite or Postgres?",
};

function withLanes(...rows: readonly LaneRow[]): FolderSnapshot {
  const words = "2 lanes: 1 working, 1 asking you · 1 of 4 merged";
  const lanes = { run: "r1", branch: "ralph/session-r1", most: 2, merged: 1, of: 4, words, rows };
  const asked = question({ key: "r1 1 q", lane: 1, task: "t1" });
  return { ...folder(), state: state({ panel: panel({ lanes, question: asked }) }) };
}

/** A lane whose run has not begun. */
function beginning(row: LaneRow): LaneRow {
  return Object.fromEntries(Object.entries(row).filter(([key]) => key !== "run")) as LaneRow;
}

describe("lanes", () => {
  test("are rows with task, number and state", () => {
    const parked = lane({ state: "parked", words: "parked: conflict", conflicts: ["a.txt"] });
    const nodes = laneNodes(withLanes(lane(), lane(asking), parked));
    assert.deepEqual(
      nodes.map(({ label, description, icon }) => [label, description, icon?.name]),
      [
        ["Write the parser", "lane 1 · works", "sync"],
        ["Choose a store", "lane 2 · asks: SQLite or Postgres?", "question"],
        ["Write the parser", "lane 1 · parked: conflict", "warning"],
      ],
    );
    assert.match(nodes[2]?.tooltip ?? "", /Conflicts in a\.txt/);
    assert.equal(nodes[1]?.spoken, "Choose a store, lane 2, asks: SQLite or Postgres?");
  });

  test("have an icon in each state", () => {
    const icons = (["working", "queued", "merging", "merged", "parked", "dropped"] as const).map(
      (each) => laneNodes(withLanes(lane({ state: each })))[0]?.icon?.name,
    );
    assert.deepEqual(icons, [...["sync", "clock", "git-merge", "pass", "warning", "circle-slash"]]);
    const repairs = lane({ problem: "conflict", words: "resolves conflicts" });
    assert.equal(laneNodes(withLanes(repairs))[0]?.icon?.name, "git-merge");
  });

  test("keep their row while they move on", () => {
    const [before, after] = [lane(), lane({ state: "merged", words: "merged" })].map(
      (row) => laneNodes(withLanes(row))[0]?.id,
    );
    assert.equal(before, after);
  });

  test("are there in a parallel run alone", () => {
    assert.deepEqual(laneNodes({ ...folder(), state: state() }), []);
    assert.deepEqual(laneNodes(undefined), []);
    assert.equal(lanesSummary(undefined), "");
    assert.equal(lanesSummary(withLanes()), "2 lanes: 1 working, 1 asking you · 1 of 4 merged");
  });

  test("offer what can be done", () => {
    assert.deepEqual(laneOffers(lane()), ["folder", "log"]);
    assert.deepEqual(laneOffers(beginning(lane())), ["folder"]);
    assert.deepEqual(laneOffers(lane(asking)), ["answer", "folder", "log"]);
    const conflicts = ["a.txt"];
    assert.deepEqual(laneOffers(lane({ state: "parked", conflicts })), [
      ...["conflict", "folder", "log"],
    ]);
    assert.deepEqual(laneOffers(lane({ state: "merged", conflicts })), ["log"]);
    assert.deepEqual(laneOffers(lane({ state: "merged", kept: "notes.txt" })), ["folder", "log"]);
  });

  test("have a view once there is one", () => {
    const shown = (each: FolderSnapshot): unknown =>
      contextKeys({ ...emptySnapshot(true), folders: [each] }, String)["ralphLoop.hasLanes"];
    assert.equal(shown(withLanes(lane())), true);
    assert.equal(shown(withLanes()), false);
  });
});

describe("an answer", () => {
  test("goes to the lane that asks, whichever is shown first", () => {
    const shown = withLanes(lane(), lane(asking));
    const matter = matterOfLane(shown, lane(asking));
    assert.ok(matter !== undefined);
    assert.deepEqual([matter.task, matter.asker], ["t2", "Ralph · lane 2"]);
    assert.deepEqual(
      matter.options.map(({ answer }) => answer),
      ["SQLite", "Postgres"],
    );
    assert.equal(stillAsks(shown, matter), true);
    assert.equal(stillAsks(withLanes(lane()), matter), false);
    assert.equal(matterOfLane(shown, lane()), undefined);
  });

  test("in the plan names the task of the lane", () => {
    const { matter } = wantedOf(withLanes(lane()));
    assert.deepEqual([matter?.task, matter?.asker], ["t1", "Ralph · lane 1"]);
  });
});
