/** The editor is started, with our extension and somebody else's in it. */

import { Editor } from "../driver.mjs";

export const steps = [
    [
        "the extension is installed from its VSIX, beside one that owns ralph.start",
        async (world) => {
            const { server, known } = world;
            server.install(...known.archives);
            await server.start();
            world.editor = await Editor.open(known.driverModules, known.chromium, known.output);
        },
    ],
];
