/** The headless browser in which the page of the editor is opened. */

import { createRequire } from "node:module";
import path from "node:path";

/** Start it, with one empty page. */
export async function openBrowser(driverModules, chromium) {
    const require = createRequire(path.join(driverModules, "index.js"));
    const browser = await require("playwright-core").chromium.launch({
        executablePath: chromium,
        headless: true,
        args: [
            ...["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"],
            ...["--disable-background-networking", "--disable-component-update"],
            "--disable-sync",
        ],
    });
    const context = await browser.newContext({ viewport: { width: 1400, height: 900 } });
    return { browser, page: await context.newPage() };
}
