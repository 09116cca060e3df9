/**
 * The page of the real VS Code in a headless browser, driven as a person drives it.
 *
 * Nothing here sleeps: it waits for an element, for two minutes at most, since a busy machine is
 * slow and not broken. It knows VS Code's own page, whose selectors stand in `places.mjs` and here; it
 * must never know what the loop under test should do: that is for the chapters.
 */

import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

import { openBrowser } from "./browser.mjs";
import { AT, ROW } from "./places.mjs";
import { allowTests } from "./server.mjs";
import { PATIENCE, within } from "./waiting.mjs";

/** Milliseconds after which one would look whether the palette is still there. */
const GLANCE = 10_000;

/** Whether it goes well; what goes wrong may be tried again. */
const isDone = (act) =>
    act().then(
        () => true,
        () => false,
    );

/** Whether the keyboard is in this; for the page itself. */
const holdsKeyboard = (place) => document.activeElement?.closest(place) !== null;

/** One page with the editor in it. */
export class Editor {
    /** @param {import("playwright-core").Page} page */
    constructor(page, pictures) {
        this.page = page;
        this.pictures = pictures;
        page.setDefaultTimeout(PATIENCE);
        /** What the page complained about; the webviews' complaints come here too. */
        this.complaints = [];
        page.on("console", (message) => {
            if (message.type() === "error") {
                this.complaints.push(message.text());
            }
        });
        page.on("pageerror", (error) => this.complaints.push(String(error)));
    }

    static async open(driverModules, chromium, pictures) {
        const { browser, page } = await openBrowser(driverModules, chromium);
        const editor = new Editor(page, pictures);
        editor.browser = browser;
        const require = createRequire(path.join(driverModules, "index.js"));
        editor.axe = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
        return editor;
    }

    /** Leave what is open and go to another address; the page before is gone then. */
    async goto(address) {
        // Not in the same document: only what stands behind the `?` may differ.
        await this.page.goto("about:blank");
        await this.page.goto(address, { waitUntil: "domcontentloaded" });
        await this.page.locator(AT.workbench).waitFor();
    }

    /**
     * Open a workspace of several folders with a file of one of them. VS Code on the web may open
     * a workspace that it never saw as one without folders, and not look again: one loads the
     * window anew then.
     */
    async openWorkspace(address, folder) {
        await this.goto(address);
        await this.inFolder(folder);
    }

    /** Load the window of a workspace again, with a file of one of its folders open. */
    async reloadWorkspace(folder) {
        await this.reload();
        await this.inFolder(folder);
    }

    /** Wait until the document that is open is in this folder of the workspace. */
    async inFolder(folder) {
        const isThere = () =>
            this.page.waitForFunction(
                ([at, name]) => document.querySelector(at)?.textContent.trim() === name,
                [AT.breadcrumb, folder],
                { timeout: 2 * GLANCE },
            );
        const until = Date.now() + PATIENCE;
        while (!(await isDone(isThere))) {
            if (Date.now() > until) {
                throw new Error(`the folder "${folder}" is not in the workspace that was opened`);
            }
            this.complaints.push("a workspace without folders was loaded anew");
            await this.reload();
        }
    }

    /** Load the window again, as its own command does. */
    async reload() {
        await this.page.reload({ waitUntil: "domcontentloaded" });
        await this.page.locator(AT.workbench).waitFor();
    }

    /**
     * Run tests in the extension host of a page of their own; the number of those that failed.
     *
     * What they print is handed to `hear`, a line at a time.
     */
    async runTests(address, hear) {
        const page = await this.page.context().newPage();
        try {
            const ended = new Promise((resolve) => {
                void page.exposeFunction("codeAutomationExit", resolve);
            });
            await page.exposeFunction("codeAutomationLog", (_, words) => hear(words.join(" ")));
            await page.addInitScript(allowTests);
            await page.goto(address, { waitUntil: "domcontentloaded" });
            return await within(3 * PATIENCE, ended, "the tests in the extension host");
        } finally {
            await page.close();
        }
    }

    /**
     * Run a command from the palette, by its title. The palette lists what can be run at the moment
     * it opens, and a busy window may close it again: then it is opened once more, as one would.
     */
    async command(title) {
        const input = this.page.locator(AT.quickInput).first();
        const until = Date.now() + PATIENCE;
        do {
            await this.press("F1");
            const isListed = await isDone(async () => {
                await input.waitFor({ timeout: GLANCE });
                await input.fill(`>${title}`, { timeout: GLANCE });
                await this.row(title).waitFor({ timeout: GLANCE });
            });
            if (isListed) {
                await this.press("Enter");
                return;
            }
            await this.press("Escape");
        } while (Date.now() < until);
        throw new Error(`the palette does not list "${title}"`);
    }

    async press(...keys) {
        for (const key of keys) {
            await this.page.keyboard.press(key);
        }
    }

    /** Press Tab until the keyboard is on this, or has left the place in which it is. */
    async #tabsTo(locator, place) {
        await locator.waitFor();
        const reached = locator.and(this.page.locator(":focus"));
        for (let pressed = 0; pressed < 10; pressed += 1) {
            if (!(await this.page.evaluate(holdsKeyboard, place))) {
                return false;
            }
            await this.press("Tab");
            if (await isDone(() => reached.waitFor({ timeout: 2000 }))) {
                return true;
            }
        }
        return false;
    }

    async type(text) {
        await this.page.keyboard.type(text);
    }

    /** Wait until the keyboard is in the document that is open. */
    async inEditor() {
        await this.page.locator(AT.focusedEditor).waitFor();
    }

    /** Put the cursor at the end of the document that is open. */
    async toEnd() {
        await this.page.locator(AT.line).first().click();
        await this.press("ControlOrMeta+End");
    }

    async save() {
        await this.press("ControlOrMeta+s");
    }

    /** A row of the quick pick that is open. */
    row(text) {
        return this.page.locator(AT.quickRows, { hasText: text }).first();
    }

    get quickTitle() {
        return this.page.locator(AT.quickTitle);
    }

    get quickMessage() {
        return this.page.locator(AT.quickMessage);
    }

    get quickInput() {
        return this.page.locator(AT.quickInput).first();
    }

    /** Press a button at the end of a row; it is there while the pointer is on the row. */
    async pressInRow(text, label) {
        await this.row(text).hover();
        await this.row(text).locator(`.action-label[aria-label="${label}"]`).click();
    }

    /** Wait until what was typed was taken, and there is room for more. */
    async quickIsEmpty() {
        await this.page.waitForFunction(
            (at) => document.querySelector(at)?.value === "",
            AT.quickField,
        );
    }

    lens(text) {
        return this.page.locator(AT.lens, { hasText: text }).first();
    }

    line(text) {
        return this.page.locator(AT.line, { hasText: text }).first();
    }

    get squiggle() {
        return this.page.locator(AT.squiggle).first();
    }

    get hover() {
        return this.page.locator(AT.hover);
    }

    get breadcrumbs() {
        return this.page.locator(AT.breadcrumbs);
    }

    get problems() {
        return this.page.locator(AT.problems);
    }

    /** Show our views by a click on their icon, and wait for one of them. */
    async openViews(shown = this.webview.locator("main")) {
        await this.page.locator(AT.ourIcon).click();
        await shown.waitFor();
    }

    status(id) {
        return this.page.locator(`.statusbar-item[id="${id}"]`);
    }

    get sourceControl() {
        return this.page.locator(AT.sourceControl).first();
    }

    get badge() {
        return this.page.locator(AT.badge);
    }

    get panel() {
        return this.page.locator(AT.panel);
    }

    /** A part of the side bar, by its title. */
    pane(title) {
        const header = this.page.locator(`.pane-header[aria-label^="${title}"]`);
        return this.page.locator(AT.pane, { has: header });
    }

    /** The rows of a tree, as they read. */
    rows(title) {
        return this.pane(title).locator(ROW);
    }

    /** The numbers of the iterations that are listed, from the top, once there are so many. */
    async iterations(least) {
        const rows = this.rows("Iterations");
        await rows.nth(least - 1).waitFor();
        const words = await rows.locator(".label-description").allTextContents();
        return words.map((text) => text.split(" ")[0]);
    }

    /** Wait until the keyboard is in a tree. */
    async inTree(title) {
        await this.pane(title).locator(".monaco-list:focus").waitFor();
    }

    /** The row of a tree on which the arrows stand. */
    focusedRow(title) {
        return this.rows(title).and(this.page.locator(".focused"));
    }

    /** Walk down a tree until its keyboard is on this row: one that is just drawn again takes no key. */
    async walksDownTo(title, pattern) {
        const reached = this.focusedRow(title).filter({ hasText: pattern }).first();
        for (let pressed = 0; pressed < 10; pressed += 1) {
            await this.press("ArrowDown");
            try {
                await reached.waitFor({ timeout: 3000 });
                return;
            } catch {
                await this.press("Home");
            }
        }
        await reached.waitFor();
    }

    /** The page inside a webview view; there is one of ours. */
    get webview() {
        return this.page.frameLocator(AT.webview).frameLocator(AT.webviewPage);
    }

    /** The tab of an editor, by its title. */
    tab(title) {
        return this.page.locator(AT.tab, { hasText: title }).first();
    }

    /** An entry of the menu that is open. */
    menuItem(title) {
        return this.page.locator(AT.menuItem, { hasText: title }).first();
    }

    /** A button of the question on top of the window. */
    dialogButton(title) {
        return this.page.locator(AT.dialogButton, { hasText: title }).first();
    }

    toast(text) {
        return this.page.locator(AT.toasts, { hasText: text }).first();
    }

    get toasts() {
        return this.page.locator(AT.toasts);
    }

    /** The button of a notification. */
    async takes(notification, button) {
        await this.toast(notification).locator(".monaco-text-button", { hasText: button }).click();
    }

    /** Wait until a theme of this kind is drawn: `vs`, `vs-dark`, `hc-black` or `hc-light`. */
    async themed(kind) {
        await this.page.locator(`${AT.workbench}.${kind}`).waitFor();
    }

    /** Make the side bar as wide as this. */
    async sideBar(width) {
        const box = await this.page.locator(AT.sideBar).boundingBox();
        const { mouse } = this.page;
        await mouse.move(box.x + box.width, box.y + 200);
        await mouse.down();
        await mouse.move(box.x + width, box.y + 200, { steps: 5 });
        await mouse.up();
    }

    /** The mark of an open thread beside its line. */
    get openGlyph() {
        return this.page.locator(AT.openGlyph).first();
    }

    get thread() {
        return this.page.locator(AT.thread);
    }

    /** The headline of the thread that is open. */
    get threadHead() {
        return this.page.locator(AT.threadHead);
    }

    /** A link in the thread that is open. */
    threadLink(text) {
        return this.thread.locator("a", { hasText: text }).first();
    }

    /** A button of a draft. */
    threadButton(text) {
        return this.page.locator(AT.threadButton, { hasText: text }).first();
    }

    /**
     * Go to the next thread below the first line, by keys, and with Tab to a link in it. Where the
     * window was still busy with what was done before, the keys go there or the document takes the
     * keyboard back, and one begins again.
     */
    async toLinkBelowTop(link) {
        const until = Date.now() + PATIENCE;
        do {
            await this.press("ControlOrMeta+Home", "Alt+F9");
            const options = { timeout: GLANCE };
            const isThere = () => this.page.waitForFunction(holdsKeyboard, AT.thread, options);
            if ((await isDone(isThere)) && (await this.#tabsTo(link, AT.thread))) {
                return;
            }
        } while (Date.now() < until);
        throw new Error(`Alt+F9 and Tab did not lead to ${link}`);
    }

    /** Wait until it is in a draft there. */
    async inDraft() {
        await this.page.waitForFunction(holdsKeyboard, AT.draft);
    }

    /** Whether it is now. */
    async isInDraft() {
        return await this.page.evaluate(holdsKeyboard, AT.draft);
    }

    /** Wait until this stands in the draft. */
    async readsDraft(text) {
        await this.reads(this.page.locator(AT.threadText), text);
    }

    /** Open the thread beside a line and read it; one that was just answered folds by itself. */
    async readsThread(...words) {
        const widget = words.reduce(
            (found, hasText) => found.filter({ hasText }),
            this.page.locator(AT.thread),
        );
        const end = Date.now() + PATIENCE;
        for (;;) {
            await this.page.locator(AT.glyph).first().click();
            try {
                await widget.waitFor({ timeout: 3000 });
                return;
            } catch (error) {
                if (Date.now() > end) {
                    throw error;
                }
            }
        }
    }

    /** Wait until the text of an element fits. */
    async reads(locator, pattern) {
        await locator.filter({ hasText: pattern }).first().waitFor();
    }

    /** Wait until all of an element of our view can be seen without scrolling. */
    async isSeen(locator) {
        const inSight = (element) => {
            const { top, bottom } = element.getBoundingClientRect();
            return top >= 0 && bottom <= window.innerHeight;
        };
        const until = Date.now() + PATIENCE;
        while (!(await locator.evaluate(inSight))) {
            if (Date.now() > until) {
                throw new Error(`${locator} is out of sight`);
            }
            await locator.evaluate(() => new Promise(requestAnimationFrame));
        }
    }

    /** What keeps a person who cannot see well from using our view, as axe knows it. */
    async violations() {
        const frame = await (await this.webview.locator("body").elementHandle()).ownerFrame();
        await frame.evaluate(this.axe);
        const { violations } = await frame.evaluate(() =>
            globalThis.axe.run(document.body, {
                runOnly: ["wcag2a", "wcag2aa", "wcag21aa"],
                // The page has no background of its own: axe cannot know what is behind it.
                rules: { "color-contrast": { enabled: false } },
            }),
        );
        return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join()}`);
    }

    /** Begin to watch; the epochs in milliseconds at which lens and badge first have these words. */
    async watch(lens, badge) {
        await this.page.evaluate(
            ([lensAt, lensHas, badgeAt, badgeHas]) => {
                const seen = {};
                const has = (selector, words) =>
                    [...document.querySelectorAll(selector)].some((each) =>
                        each.textContent.toLowerCase().includes(words),
                    );
                const look = () => {
                    if (has(lensAt, lensHas)) {
                        seen.lens ??= Date.now();
                    }
                    if (has(badgeAt, badgeHas)) {
                        seen.badge ??= Date.now();
                    }
                };
                const all = { childList: true, subtree: true, characterData: true };
                new MutationObserver(look).observe(document.body, all);
                window.seenByTests = seen;
            },
            [AT.lens, lens, AT.badge, badge],
        );
        return async () => {
            const both = () => "lens" in window.seenByTests && "badge" in window.seenByTests;
            await this.page.waitForFunction(both);
            return await this.page.evaluate(() => window.seenByTests);
        };
    }

    /** The field of a setting in the Settings of one of several folders. */
    async settingOf(folder, id) {
        await this.command("Preferences: Open Folder Settings");
        await this.row(folder).click();
        await this.page.locator(AT.settingsSearch).click();
        await this.type(`@id:${id}`);
        return this.page.locator(`${AT.setting}[data-key="${id}"] input`);
    }

    async picture(name) {
        const file = path.join(this.pictures, `${name}.png`);
        // What lies under the pointer would be drawn in another way, or with words over it.
        await this.page.mouse.move(900, 780);
        // A busy window may leave a hover where it is; that is no reason to have no picture.
        const hover = this.page.locator(AT.workbenchHover);
        await isDone(() => hover.waitFor({ state: "detached", timeout: GLANCE }));
        await this.page.screenshot({ path: file });
        return file;
    }

    async close() {
        await this.browser.close();
    }
}
