/** Where things are on VS Code's own page: a new version of it changes these selectors alone. */

export const ROW = ".monaco-list-row";
const QUICK = ".quick-input-widget:visible";
const THREAD = ".review-widget";
const OUR_ICON = 'a.action-label[aria-label^="Ralph Loop"]';

/** Where they are. */
export const AT = {
    workbench: ".monaco-workbench",
    ourIcon: `.activitybar ${OUR_ICON}`,
    // Every icon has one, which is hidden while it says nothing.
    badge: `.activitybar .action-item:has(${OUR_ICON}) .badge`,
    sideBar: ".part.sidebar",
    panel: ".part.panel",
    pane: ".sidebar .pane",
    lens: ".codelens-decoration a",
    line: ".editor-instance .view-line",
    focusedEditor: ".editor-instance .monaco-editor.focused",
    squiggle: ".squiggly-warning",
    hover: ".monaco-hover:visible",
    breadcrumbs: ".breadcrumbs-control",
    breadcrumb: ".breadcrumbs-control .monaco-breadcrumb-item",
    problems: `.markers-panel ${ROW}`,
    toasts: ".notifications-toasts .notification-list-item",
    quickInput: `${QUICK} input.input`,
    quickRows: `${QUICK} .quick-input-list ${ROW}`,
    quickTitle: `${QUICK} .quick-input-title`,
    quickMessage: `${QUICK} .quick-input-message`,
    quickField: ".quick-input-widget input.input",
    glyph: ".comment-range-glyph",
    openGlyph: ".comment-range-glyph.comment-thread-unresolved",
    thread: THREAD,
    threadHead: `${THREAD} .head`,
    draft: `${THREAD} .monaco-editor`,
    threadText: `${THREAD} .monaco-editor .view-lines`,
    threadButton: `${THREAD} .monaco-button`,
    tab: ".tabs-container .tab",
    menuItem: ".monaco-menu .action-item",
    dialogButton: ".monaco-dialog-box .monaco-button",
    webview: "iframe.webview.ready",
    webviewPage: "iframe#active-frame",
    sourceControl: ".sidebar .scm-view",
    settingsSearch: ".settings-editor .suggest-input-container",
    setting: ".settings-editor .setting-item-contents",
    workbenchHover: ".workbench-hover-container:visible",
};
