"""Style: the screen's layout for three widths, and the terminal's own colours for tones.

Only the sixteen colours that users choose for their terminal are used, so light and dark
backgrounds and terminals without more colours need nothing else; every tone has a word or a mark
beside its colour.
"""

from __future__ import annotations

from ralph_ls.core.views.text.event_weights import Weight
from ralph_ls.protocol.lsp.panel import Tone

TONE_STYLES = {
    Tone.PLAIN: "",
    Tone.ACTIVE: "bold cyan",
    Tone.GOOD: "green",
    Tone.WARNING: "yellow",
    Tone.BAD: "bold red",
}

TONE_MARKS = {
    Tone.PLAIN: "○",
    Tone.ACTIVE: "●",
    Tone.GOOD: "✓",
    Tone.WARNING: "▲",
    Tone.BAD: "✗",
}

WEIGHT_STYLES = {
    Weight.QUIET: "dim",
    Weight.NORMAL: "bold",
    Weight.GOOD: "green",
    Weight.WARNING: "yellow",
    Weight.BAD: "bold red",
}


def content_style(tone: Tone) -> str:
    """A tone for Textual's own texts, where ``red`` is a fixed colour and not the terminal's."""
    *more, last = TONE_STYLES[tone].split() or [""]
    return " ".join([*more, f"ansi_{last}"]) if last else ""


NARROW, WIDE = 100, 160
"""Columns from which there is more room than in a small window, and from which there is much."""

BREAKPOINTS = [(0, "-narrow"), (NARROW, "-medium"), (WIDE, "-wide")]

CSS = """
* {
    scrollbar-background: ansi_default;
    scrollbar-background-hover: ansi_default;
    scrollbar-background-active: ansi_default;
    scrollbar-color: ansi_bright_black;
    scrollbar-color-hover: ansi_cyan;
    scrollbar-color-active: ansi_cyan;
    scrollbar-corner-color: ansi_default;
}
Screen { background: ansi_default; }
#runs { height: 2; display: none; }
#runs.-several { display: block; }
ContentSwitcher { height: 1fr; }
RunPane { height: 1fr; layout: vertical; }
.headline { height: 1; padding: 0 1; text-wrap: nowrap; text-overflow: ellipsis; }
.body { layout: grid; grid-size: 2 2; grid-columns: 2fr 3fr; grid-rows: 3fr 2fr; height: 1fr; }
.-narrow .body { grid-columns: 4fr 5fr; grid-rows: 1fr 1fr; }
.-wide .body { grid-size: 3 2; grid-columns: 3fr 5fr 4fr; }
.-wide .tasks { row-span: 2; }
.-wide .output-box { row-span: 2; }
.box {
    border: round ansi_bright_black;
    border-title-style: bold;
    border-title-color: ansi_default;
    border-subtitle-color: ansi_default;
    height: 100%;
    background: ansi_default;
}
.box:focus, .box:focus-within { border: round ansi_cyan; }
.body.-zoomed { layout: vertical; }
.body.-zoomed .box { display: none; }
.body.-zoomed .box.-zoom { display: block; }
.tasks { padding: 0; overflow-x: hidden; scrollbar-size: 1 1; }
.iterations { padding: 0; scrollbar-size: 0 1; }
.facts { padding: 0 1; scrollbar-size: 1 1; }
.output { height: 1fr; padding: 0 1; scrollbar-size: 1 1; background: ansi_default; }
.output, .output:focus { border: none; }
.tool { height: auto; max-height: 2; padding: 0 1; display: none; }
.tool.-running { display: block; }
.tasks > .option-list--option-highlighted { text-style: none; }
.tasks:focus > .option-list--option-highlighted { text-style: reverse; }
.iterations > .datatable--header { text-style: bold; background: ansi_default; }
.iterations > .datatable--cursor { text-style: none; background: ansi_default; }
.iterations:focus > .datatable--cursor { text-style: reverse; color: ansi_default; }
DataTable { background: ansi_default; }
DataTable > .datatable--odd-row, DataTable > .datatable--even-row { background: ansi_default; }
RunCard { height: auto; max-height: 40%; display: none; border: round ansi_yellow; padding: 0 1; }
RunCard.-shown { display: block; }
RunCard.-bad { border: round ansi_red; }
RunCard.-good { border: round ansi_green; }
RunCard.-plain { border: round ansi_bright_black; }
RunCard .card-text { height: auto; max-height: 8; scrollbar-size: 1 1; }
RunCard .card-text Static { height: auto; }
RunCard .card-buttons { height: auto; layout: vertical; }
RunCard Button {
    height: 1; min-width: 8; width: auto; max-width: 100%; border: none; padding: 0 1;
    background: ansi_default; color: ansi_default; text-style: none; content-align: left middle;
}
RunCard Button:focus { text-style: reverse bold; }
#prompt-row { height: 1; display: none; layout: horizontal; }
#prompt-row.-shown { display: block; layout: horizontal; }
#prompt-label { width: auto; max-width: 60%; padding: 0 1; text-style: bold; }
#prompt { width: 1fr; height: 1; border: none; padding: 0; background: ansi_default; }
#keys { height: 1; padding: 0 1; text-style: dim; text-wrap: nowrap; text-overflow: ellipsis; }
#keys.-hidden { display: none; }
Toast { background: ansi_default; border: round ansi_cyan; color: ansi_default; }
.search { height: 1; border: none; padding: 0 1; display: none; background: ansi_default; }
.search.-shown { display: block; }
TextPage, TablePage { align: center middle; background: ansi_default; }
.page { width: 100%; height: 1fr; }
.page-text { height: auto; padding: 0 1; }
"""
