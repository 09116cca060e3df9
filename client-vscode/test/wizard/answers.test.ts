/** What is kept of the wizard's answers, and what goes to the server. */

import assert from "node:assert/strict";
import { describe, test } from "vitest";

import {
  freshAnswers,
  joinCommand,
  proposeParams,
  readKept,
  setupParams,
  splitCommand,
  toStored,
} from "../../src/wizard/answers";
import { answers, choices, item, NO_WISHES } from "./samples";

describe("the first answers", () => {
  test("are the server's", () => {
    const given = choices({ profile: "spec" });
    const fresh = freshAnswers(given, NO_WISHES);
    assert.deepEqual(
      [fresh.profile, fresh.agent, fresh.maxIterations, fresh.timeout, fresh.maxCostUsd],
      ["spec", "claude", 20, 30, undefined],
    );
    assert.equal(freshAnswers(choices(), NO_WISHES).profile, "fixplan");
  });

  test("are the settings' where those can be chosen", () => {
    const fresh = freshAnswers(choices(), { profile: "spec", agent: "demo" });
    assert.deepEqual([fresh.profile, fresh.agent], ["spec", "demo"]);
    const other = freshAnswers(choices(), { profile: "beads", agent: "nobody" });
    assert.deepEqual([other.profile, other.agent], ["fixplan", "claude"]);
  });
});

describe("what was kept", () => {
  test("comes back as it was, through the window's storage", () => {
    const kept = {
      step: "items",
      answers: answers({
        ...{ profile: "spec", template: "bug-fix", description: "a\nb", completionPhrase: "DONE" },
        ...{ agent: "command", agentCommand: ["sh", "x y"], maxIterations: 3, timeout: 10 },
        ...{ maxCostUsd: 4.5, source: "write", plan: "p.md" },
        items: [item(0, { isTicked: false, detail: "d" }), item(1, { priority: "P0" })],
      }),
    };
    const stored: unknown = JSON.parse(JSON.stringify(toStored({ ...kept, step: "items" })));
    assert.deepEqual(readKept(stored, choices(), NO_WISHES), kept);
  });

  test("is as new where it cannot be read", () => {
    const fresh = { step: "profile", answers: answers() };
    for (const saved of [undefined, null, 7, "x", [], { step: "gone", answers: 3 }]) {
      assert.deepEqual(readKept(saved, choices(), NO_WISHES), fresh);
    }
    const odd = {
      ...{ profile: 1, template: "gone", description: 2, completionPhrase: [], agent: "gone" },
      ...{ agentCommand: [1], maxIterations: -1, timeout: "x", source: "gone", plan: 1 },
      items: [7],
    };
    const read = readKept({ step: "launch", answers: odd }, choices(), NO_WISHES);
    assert.equal(read.step, "launch");
    assert.deepEqual(read.answers, answers({ items: [item(0, { title: "" })] }));
  });

  test("keeps that no budget was wanted", () => {
    const given = choices({ defaults: { ...choices().defaults, maxCostUsd: 5 } });
    assert.equal(readKept({ answers: {} }, given, NO_WISHES).answers.maxCostUsd, 5);
    const without = toStored({ step: "limits", answers: answers({ maxCostUsd: undefined }) });
    const stored: unknown = JSON.parse(JSON.stringify(without));
    assert.equal(readKept(stored, given, NO_WISHES).answers.maxCostUsd, undefined);
  });
});

test("an agent is asked with what was said so far, and what was not said is left out", () => {
  const asked = answers({ description: "d", template: "bug-fix", agentCommand: ["sh"] });
  assert.deepEqual(proposeParams({ ...asked, agent: "command" }, "w"), {
    ...{ workspace: "w", description: "d", profile: "fixplan", template: "bug-fix" },
    agentCommand: ["sh"],
  });
  assert.deepEqual(proposeParams(answers({ description: "d" }), "w"), {
    ...{ workspace: "w", description: "d", profile: "fixplan", agent: "claude" },
  });
});

test("new items go into the plan that is there, with the budget in dollars", () => {
  const given = choices({ existingPlan: "PLAN.md" });
  const asked = answers({ source: "write", items: [item(0)], maxCostUsd: 5 });
  const params = setupParams(asked, given, "w", { dryRun: true });
  assert.equal(params.existingPlan, "PLAN.md");
  assert.equal(params.maxCostUsd, 5);
  assert.deepEqual(params.items, [{ title: "Item 0", priority: "P1", detail: "" }]);
});

test.each([
  ["", []],
  ["agent", ["agent"]],
  ["  sh   agent.sh ", ["sh", "agent.sh"]],
  [`sh "my agent.sh" 'it"s'`, ["sh", "my agent.sh", 'it"s']],
  [`--name="a b" ''`, ["--name=a b", ""]],
])("the command line %j", (line, words) => {
  assert.deepEqual(splitCommand(line), words);
  assert.deepEqual(splitCommand(joinCommand(words)), words);
});
