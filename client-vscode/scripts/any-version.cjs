/**
 * Replaces `semver` in the bundle, which the language client asks one thing alone: whether this
 * VS Code is new enough. The editor has seen to that by `engines` before it loads the extension,
 * and the answer would take 20 KB of what is read at every start.
 */

"use strict";

/** For `semver/functions/parse` and `semver/functions/satisfies` alike: it is, and it is enough. */
module.exports = (version) => version;
