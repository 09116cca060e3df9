/** The trees, before and while a run writes the plan many times a second. */

const assert = require("node:assert/strict");

const vscode = require("vscode");

const TASKS = 60;

/** Refreshes of a tree in a second. */
const MOST = 4;

/** Seconds that are looked at together: on a busy machine one that is late comes close to the next. */
const TOGETHER = 3;

exports.tests = [
    [
        "the plan is a tree of groups and tasks, each with an id and words for a screen reader",
        async ({ recorder }) => {
            const { provider } = recorder.trees.get("ralphLoop.plan");
            const [group] = await recorder.until(() => filled(provider.getChildren()), "rows");
            assert.equal(provider.getTreeItem(group).label, "Many");
            const tasks = provider.getChildren(group);
            assert.equal(tasks.length, TASKS);
            const items = tasks.map((task) => provider.getTreeItem(task));
            assert.equal(new Set(items.map(({ id }) => id)).size, TASKS);
            for (const item of items) {
                assert.match(item.accessibilityInformation.label, /Task \d+/);
                assert.ok(item.iconPath instanceof vscode.ThemeIcon, item.label);
                assert.equal(provider.getParent(item.id), group);
            }
        },
    ],
    [
        "while events pour in, no tree is drawn more than four times a second",
        async ({ recorder, measured }) => {
            const { context, trees } = recorder;
            await recorder.commands.get("ralphLoop.startLoop")();
            await recorder.until(() => context.get("ralphLoop.questionWaiting"), "the question");
            for (const [id, { refreshes }] of trees) {
                const most = mostTogether(refreshes.map(({ at }) => at));
                measured(`refreshes of ${id} a second, at most`, most / TOGETHER);
                // The first and the last of these seconds may each have their own beginning.
                assert.ok(most <= MOST * TOGETHER + 1, `${id}: ${most} in ${TOGETHER} s`);
            }
        },
    ],
    [
        "what did not change keeps its row: the tree is drawn whole as its one heading is finished",
        ({ recorder }) => {
            const { refreshes } = recorder.trees.get("ralphLoop.plan");
            const first = refreshes.findIndex(({ changed }) => changed !== undefined);
            assert.ok(first >= 0, "no row was ever drawn alone");
            const whole = refreshes.slice(first).filter(({ changed }) => changed === undefined);
            assert.ok(whole.length <= 1, JSON.stringify(whole));
        },
    ],
    [
        "all tasks are done in the tree, and the iteration has its row",
        async ({ recorder }) => {
            const plan = recorder.trees.get("ralphLoop.plan");
            await recorder.until(() => plan.view.description === `${TASKS}/${TASKS}`, "all done");
            const { provider } = recorder.trees.get("ralphLoop.iterations");
            const [row] = await recorder.until(() => filled(provider.getChildren()), "a row");
            assert.match(provider.getTreeItem(row).description, /^#1 /);
        },
    ],
];

function filled(rows) {
    return rows.length > 0 && rows;
}

/** The largest number of these times that lie so close together. */
function mostTogether(times) {
    const length = TOGETHER * 1000;
    return Math.max(
        0,
        ...times.map((from) => times.filter((at) => at >= from && at < from + length).length),
    );
}
