/**
 * Looks at the dashboard's page in a real browser, and prints what was seen as one JSON document.
 *
 * Standard input: `{driverModules, chromium, page, output}`. The page is a file; every request that
 * leaves it is listed. A picture of each look stays in the folder `output`.
 */

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const WIDTHS = [220, 480, 1024, 1600];
const LOOKS = {
    light: { colorScheme: "light" },
    dark: { colorScheme: "dark" },
    "light-contrast": { colorScheme: "light", forcedColors: "active" },
    "dark-contrast": { colorScheme: "dark", forcedColors: "active" },
};

const given = JSON.parse(readFileSync(0, "utf8"));
const require = createRequire(path.join(given.driverModules, "index.js"));
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const browser = await require("playwright-core").chromium.launch({
    executablePath: given.chromium,
    args: ["--no-sandbox", "--disable-gpu"],
});
const seen = { requests: [], errors: [], looks: [] };
const page = await browser.newPage({ viewport: { width: 1024, height: 900 } });
page.on("request", (request) => seen.requests.push(request.url().slice(0, 200)));
page.on("pageerror", (error) => seen.errors.push(String(error)));
page.on("console", (line) => line.type() === "error" && seen.errors.push(line.text()));
await page.goto(pathToFileURL(given.page).href);
await page.waitForSelector("[data-chart] canvas");

const picture = (name) =>
    page.screenshot({ path: path.join(given.output, `dashboard-${name}.png`), fullPage: true });

for (const [name, look] of Object.entries(LOOKS)) {
    await page.emulateMedia({ colorScheme: null, forcedColors: null, ...look });
    for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 900 });
        await settle();
        const wide = await page.evaluate(() => {
            const { scrollWidth, clientWidth } = document.documentElement;
            // What leaves its panel does not make the page wider: the panel cuts it off.
            const beyond = [...document.querySelectorAll(".panel, .chart, .card, [data-tile]")]
                .map((panel) => {
                    const { right } = panel.getBoundingClientRect();
                    const inside = [...panel.querySelectorAll("*")].filter(
                        (part) => part.closest(".scroll, [data-chart] .plot") === null,
                    );
                    return Math.max(...inside.map((part) => part.getBoundingClientRect().right)) - right;
                });
            return Math.max(scrollWidth - clientWidth, Math.ceil(Math.max(...beyond)));
        });
        // What takes seconds is asked of the two layouts: one column, and all of them.
        const broken = width === WIDTHS[0] || width === WIDTHS.at(-1) ? await violations() : [];
        seen.looks.push({ name, width, overflow: wide, violations: broken });
        await picture(`${name}-${width}`);
    }
}

// The figures as the page has them, before anything is chosen.
await page.emulateMedia({ colorScheme: "light", forcedColors: null });
await page.setViewportSize({ width: 1280, height: 700 });
await settle();
await page.screenshot({ path: path.join(given.output, "dashboard.png") });
seen.figures = await figures();
seen.rows = await page.locator("table [aria-rowindex]").count();

// By keyboard: what can be reached, a range, the values of a chart.
seen.focused = await tabThrough();
await page.getByRole("radio", { name: "All time" }).focus();
for (const days of [90, 30, 7]) {
    await page.keyboard.press("ArrowLeft");
    await page.waitForURL((url) => url.hash.includes(`days=${days}`));
}
await settle();
seen.chosen = { hash: new URL(page.url()).hash, figures: await figures() };
const chart = page.getByRole("slider").first();
await chart.focus();
await page.keyboard.press("End");
const last = await chart.getAttribute("aria-valuetext");
await page.keyboard.press("Home");
seen.values = { first: await chart.getAttribute("aria-valuetext"), last };

await page.emulateMedia({ media: "print" });
await settle();
seen.printed = {
    controls: await page.locator(".controls").isVisible(),
    headings: await page.locator("h2:visible").allTextContents(),
};
await page.pdf({ path: path.join(given.output, "dashboard.pdf"), format: "A4" });
await browser.close();
process.stdout.write(JSON.stringify(seen));

/** Two frames: charts are drawn again in the one after a change of size. */
function settle() {
    return page.evaluate(
        () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
    );
}

async function violations() {
    await page.evaluate(axe);
    const found = await page.evaluate(() =>
        globalThis.axe.run({ runOnly: ["wcag2a", "wcag2aa", "wcag21aa", "best-practice"] }),
    );
    return found.violations.map(({ id, nodes }) => `${id}: ${nodes[0].html.slice(0, 160)}`);
}

function figures() {
    return page.$$eval("[data-tile] dt", (names) =>
        Object.fromEntries(
            names.map((name) => [
                name.textContent,
                name.nextElementSibling.dataset.value ?? name.nextElementSibling.textContent,
            ]),
        ),
    );
}

/** The names of what the Tab key reaches, from the top of the page to its end. */
async function tabThrough() {
    const names = [];
    for (let n = 0; n < 80; n += 1) {
        await page.keyboard.press("Tab");
        const name = await page.evaluate(() => {
            const at = document.activeElement;
            return at === document.body ? null : (at.ariaLabel ?? at.labels?.[0]?.textContent ?? at.textContent).trim();
        });
        if (name === null) {
            break;
        }
        names.push(name);
    }
    return names;
}
