/** How the panel looks: in every theme, in a narrow side bar, without movement; and at the end. */

import assert from "node:assert/strict";

import { commits, reports, says } from "../agent.mjs";

const THEMES = [
    ["Default Dark Modern", "vs-dark"],
    ["Default High Contrast", "hc-black"],
    ["Default High Contrast Light", "hc-light"],
];

export const steps = [
    ...THEMES.map(([theme, kind]) => [
        `the panel can be read in ${theme}`,
        async ({ editor, server }) => {
            server.set("workbench.colorTheme", theme);
            await editor.themed(kind);
            await editor.reads(editor.webview.locator(".count"), "6 / 20");
            assert.deepEqual(await editor.violations(), []);
            await editor.picture(`20-${theme.toLowerCase().replaceAll(" ", "-")}`);
        },
    ]),
    [
        "nothing moves where a person wants nothing to move",
        async (world) => {
            const { editor, server } = world;
            const spins = world.status.locator(".codicon-modifier-spin");
            await spins.waitFor({ state: "detached" });
            assert.deepEqual(await moving(editor), []);
            server.set("workbench.reduceMotion", "off");
            await spins.waitFor();
            server.set("workbench.reduceMotion", "on");
            await spins.waitFor({ state: "detached" });
        },
    ],
    [
        "at 220 pixels nothing is cut off, also of words that are 40 % longer",
        async ({ editor, server }) => {
            server.set("workbench.colorTheme", "Default Light Modern");
            await editor.themed("vs");
            await editor.sideBar(220);
            assert.deepEqual(await editor.webview.locator("body").evaluate(cutOff), []);
            await editor.picture("21-narrow");
            await editor.sideBar(340);
        },
    ],
    [
        "the run completes, and says so",
        async (world) => {
            const { editor, parser } = world;
            await parser.agent.does(
                6,
                commits(
                    "Describe the cache",
                    "manual.md",
                    "# The cache",
                    "Describe the cache in the manual",
                ),
                says("All tasks are complete."),
                reports({
                    STATUS: "COMPLETE",
                    TASKS_COMPLETED_THIS_LOOP: 1,
                    FILES_MODIFIED: 2,
                    WORK_TYPE: "DOCUMENTATION",
                    EXIT_SIGNAL: true,
                }),
            );
            const ended = await parser.journal.event("runEnded");
            assert.equal(ended.reason, "complete", ended.message);
            await editor.reads(editor.webview.locator(".headline"), /complete/i);
            await editor.reads(world.status, /complete/i);
            await editor.reads(editor.pane("Plan"), "4/4");
            await editor.lens("Start another run").waitFor();
            await editor.lens("Pause").waitFor({ state: "detached" });
            assert.deepEqual(await editor.iterations(6), ["#6", "#5", "#4", "#3", "#2", "#1"]);
            await editor.picture("22-complete");
        },
    ],
];

/** What moves by itself in the Loop view. */
async function moving(editor) {
    return await editor.webview.locator("body").evaluate(() =>
        document
            .getAnimations()
            .filter(({ playState }) => playState === "running")
            .map(({ effect }) => effect.target.className),
    );
}

/** What goes over the right edge: as it is, and with texts as long as a translation may be. */
function cutOff(body) {
    const tooWide = () =>
        [...body.querySelectorAll("*")]
            .filter((each) => each.getBoundingClientRect().right > window.innerWidth + 1)
            .map((each) => each.className);
    const found = tooWide();
    const walker = document.createTreeWalker(body, NodeFilter.SHOW_TEXT);
    const texts = [];
    while (walker.nextNode()) {
        texts.push([walker.currentNode, walker.currentNode.data]);
    }
    for (const [node, text] of texts) {
        node.data = `${text} ${text.slice(0, Math.ceil(text.length * 0.4))}`;
    }
    found.push(...tooWide());
    for (const [node, text] of texts) {
        node.data = text;
    }
    return found;
}
