import assert from "node:assert/strict";
import { describe, test } from "vitest";

import { loopHtml } from "../html";
import { readFromPage } from "../messages";

describe("what a page may send", () => {
  test("is a closed list", () => {
    const act = { type: "act", workspace: "w", verb: "answer", arguments: { run: "r" } };
    assert.deepEqual(readFromPage(act), act);
    assert.deepEqual(readFromPage({ type: "ready", reducedMotion: true, more: 1 }), {
      type: "ready",
      reducedMotion: true,
    });
    const command = { type: "command", command: "showOutput" };
    assert.deepEqual(readFromPage(command), command);
    const shows = { type: "show", workspace: "w" };
    assert.deepEqual(readFromPage(shows), shows);
  });

  for (const [name, value] of Object.entries({
    nothing: undefined,
    null: null,
    text: "ready",
    list: [],
    "an unknown type": { type: "eval" },
    "an unknown verb": { type: "act", workspace: "w", verb: "format", arguments: {} },
    "an inherited name": { type: "act", workspace: "w", verb: "toString", arguments: {} },
    "arguments that are no object": { type: "act", workspace: "w", verb: "stop", arguments: [] },
    "no folder to show": { type: "show" },
    "no folder": { type: "act", verb: "stop", arguments: {} },
    "another extension's command": { type: "command", command: "workbench.action.quit" },
  })) {
    test(`is not ${name}`, () => {
      assert.equal(readFromPage(value), undefined);
    });
  }
});

describe("the page around the view", () => {
  const html = loopHtml({
    cspSource: "https://*.vscode-cdn.net",
    nonce: "n0nce",
    scriptUri: "https://a/loop.js?a=1&b=2",
    styleUri: "https://a/loop.css",
    language: "de",
    words: { Details: 'Tat"sachen' },
  });

  test("allows its own script by a nonce, its own style, and nothing else", () => {
    const policy = /Content-Security-Policy" content="([^"]*)"/.exec(html)?.[1];
    assert.equal(
      policy,
      "default-src 'none'; script-src 'nonce-n0nce'; style-src https://*.vscode-cdn.net; " +
        "base-uri 'none'; form-action 'none'",
    );
    assert.match(html, /<script nonce="n0nce" src="https:\/\/a\/loop\.js\?a=1&amp;b=2"><\/script>/);
  });

  test("has no style and no script of its own in it", () => {
    assert.doesNotMatch(html, /style=|<style|onclick|javascript:/);
  });

  test("brings the words of the window's language, harmless in an attribute", () => {
    assert.match(html, /<html lang="de">/);
    assert.match(html, /data-words="\{&quot;Details&quot;:&quot;Tat\\&quot;sachen&quot;\}"/);
  });

  test("has the places that the page draws into", () => {
    assert.match(html, /<main id="loop"/);
    assert.match(html, /id="announcer"[^>]*aria-live="polite"/);
  });
});
