/**
 * The page around the Loop view: what may run in it, and the names of its two files.
 *
 * It must never hold anything of a run: that comes by messages and is written as text.
 */

/** What the host knows of its webview. */
export interface PageSources {
  /** `webview.cspSource`. */
  readonly cspSource: string;
  /** New for each page: letters and digits. */
  readonly nonce: string;
  /** `asWebviewUri` of media/loop.js. */
  readonly scriptUri: string;
  /** `asWebviewUri` of media/loop.css. */
  readonly styleUri: string;
  /** `vscode.env.language`. */
  readonly language: string;
  /** The translated words by those that the code has; empty where nothing is translated. */
  readonly words: Readonly<Record<string, string>>;
}

/** The page of the dashboard, under the same policy. */
export function dashboardHtml(sources: PageSources): string {
  const words = attribute(JSON.stringify(sources.words));
  const body = `<main>
      <div class="dash" id="dashboard" data-form="editor" data-words="${words}"></div>
    </main>`;
  return html(sources, "Ralph Dashboard", body);
}

/** The page of the Loop view; the strictest policy under which it can be drawn. */
export function loopHtml(sources: PageSources): string {
  const words = attribute(JSON.stringify(sources.words));
  const body = `<main id="loop" aria-label="Ralph Loop" data-words="${words}"></main>
    <p id="announcer" class="unseen" role="status" aria-live="polite"></p>`;
  return html(sources, "Ralph Loop", body);
}

function html(sources: PageSources, title: string, body: string): string {
  const { cspSource, nonce, scriptUri, styleUri, language } = sources;
  const policy = [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `style-src ${cspSource}`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  return `<!DOCTYPE html>
<html lang="${attribute(language)}">
  <head>
    <meta charset="utf-8" />
    <meta http-equiv="Content-Security-Policy" content="${attribute(policy)}" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>${title}</title>
    <link rel="stylesheet" href="${attribute(styleUri)}" />
  </head>
  <body class="vscode-body">
    ${body}
    <script nonce="${attribute(nonce)}" src="${attribute(scriptUri)}"></script>
  </body>
</html>
`;
}

function attribute(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll('"', "&quot;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;");
}
