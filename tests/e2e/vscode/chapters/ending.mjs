/** What must not have happened in any chapter. */

import assert from "node:assert/strict";

export const steps = [
    [
        "nothing went wrong unseen",
        ({ editor, server }) => {
            const ours = editor.complaints.filter((text) =>
                /Content Security Policy|ralph-loop\.ralph-loop|ralphLoop/.test(text),
            );
            assert.deepEqual(ours, []);
            const logs = server.logs();
            assert.doesNotMatch(logs, /command 'ralph\.\w+' already exists/);
            assert.doesNotMatch(logs, /Traceback \(most recent call last\)/);
        },
    ],
];
