/** The comment thread of a question, from its arrival to its answer. */

const assert = require("node:assert/strict");

const vscode = require("vscode");

exports.tests = [
    [
        "a question is a folded, open thread in the plan, which nobody can reply to beside a draft",
        async ({ recorder }) => {
            const thread = await recorder.until(() => [...recorder.threads][0], "a thread");
            assert.equal(thread.uri.path.split("/").at(-1), "@fix_plan.md");
            assert.equal(thread.contextValue, "question open");
            assert.equal(thread.label, "Decision needed");
            assert.equal(thread.canReply, false);
            assert.equal(thread.state, vscode.CommentThreadState.Unresolved);
            assert.equal(thread.collapsibleState, vscode.CommentThreadCollapsibleState.Collapsed);
            const [{ author, body }] = thread.comments;
            assert.equal(author.name, "Ralph · iteration 1");
            assert.match(body.value, /Which ink\?/);
            assert.match(body.value, /\[\(a\) Black\]\(command:ralphLoop\.takeOption1\)/);
            assert.match(body.value, /\[\(b\) Blue\]\(command:ralphLoop\.takeOption2\)/);
        },
    ],
    [
        "only these commands may be called by a link in it",
        ({ recorder }) => {
            const [thread] = recorder.threads;
            const { isTrusted } = thread.comments[0].body;
            assert.deepEqual(isTrusted, {
                enabledCommands: [
                    "ralphLoop.answer",
                    "ralphLoop.resolveBlocked",
                    ...[1, 2, 3, 4, 5, 6].map((number) => `ralphLoop.takeOption${number}`),
                ],
            });
        },
    ],
    [
        "the setting that wants no threads brings the question on top",
        async ({ recorder }) => {
            const section = vscode.workspace.getConfiguration("ralphLoop");
            await section.update("answer.surface", "quickPick", true);
            try {
                await openPlan();
                const before = recorder.quickPicks.length;
                const asked = recorder.commands.get("ralphLoop.answer")();
                const pick = await recorder.until(() => recorder.quickPicks[before], "a pick");
                assert.match(pick.title, /Which ink\?/);
                assert.deepEqual(
                    pick.items.map(({ label }) => label),
                    ["(a) Black", "(b) Blue"],
                );
                pick.hide();
                await asked;
            } finally {
                await section.update("answer.surface", undefined, true);
            }
        },
    ],
    [
        "from the plan it is answered in a draft, and what was put aside is there again",
        async ({ recorder }) => {
            const [thread] = recorder.threads;
            const draft = await drafting(recorder, thread);
            assert.equal(draft.mode, vscode.CommentMode.Editing);
            assert.equal(draft.contextValue, "draft");
            draft.body = "Bl";
            await recorder.commands.get("ralphLoop.answerNotNow")(draft);
            assert.equal(thread.comments.length, 1);
            assert.equal(thread.collapsibleState, vscode.CommentThreadCollapsibleState.Collapsed);
            const again = await drafting(recorder, thread);
            assert.equal(again.body, "Bl");
            again.body = "Black";
            await recorder.commands.get("ralphLoop.sendAnswer")(again);
            await recorder.until(() => thread.label.startsWith("Answered in"), "the answer");
            assert.equal(thread.state, vscode.CommentThreadState.Resolved);
            assert.equal(thread.contextValue, "question settled");
            const [, answer] = thread.comments;
            assert.equal(answer.body.value, "Black");
        },
    ],
    [
        "the run goes on with it, to its end",
        async ({ recorder }) => {
            const { context } = recorder;
            // They are set one after the other.
            const isOver = () =>
                context.get("ralphLoop.state") === "complete" &&
                context.get("ralphLoop.live") === false &&
                context.get("ralphLoop.questionWaiting") === false;
            await recorder.until(isOver, "the end");
        },
    ],
];

async function openPlan() {
    const [{ uri }] = vscode.workspace.workspaceFolders;
    await vscode.window.showTextDocument(vscode.Uri.joinPath(uri, "@fix_plan.md"));
}

/** The draft that answering from the plan opens. */
async function drafting(recorder, thread) {
    await openPlan();
    await recorder.commands.get("ralphLoop.answer")();
    assert.equal(thread.collapsibleState, vscode.CommentThreadCollapsibleState.Expanded);
    return thread.comments.at(-1);
}
