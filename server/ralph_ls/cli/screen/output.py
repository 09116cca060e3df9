"""Output pane: what the agent prints and what the loop reports, wrapped to the pane's width."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.events import Resize
from textual.widgets import RichLog, Static

from ralph_ls.cli.screen.feed import OutputLine
from ralph_ls.cli.screen.style import WEIGHT_STYLES

KEPT_LINES = 2000


class OutputLog(RichLog):
    """The newest lines, wrapped again when the width changes; follows its end unless scrolled."""

    def __init__(self) -> None:
        super().__init__(wrap=True, max_lines=KEPT_LINES * 2, min_width=10, classes="output")
        self._kept: deque[Text] = deque(maxlen=KEPT_LINES)
        self._width = 0
        self._is_stale = False

    def add(self, lines: Sequence[OutputLine]) -> None:
        """Show more lines."""
        for line in lines:
            text = _as_text(line)
            self._kept.append(text)
            self.write(text, scroll_end=False)
        # What is written while hidden is wrapped to no width.
        self._is_stale |= not self.is_on_screen

    def on_mount(self) -> None:
        self.anchor()

    def on_resize(self, event: Resize) -> None:
        if self._width and event.size.width != self._width:
            self._write_again()
        self._width = event.size.width

    def on_show(self) -> None:
        if self._is_stale:
            self._write_again()

    def _write_again(self) -> None:
        self._is_stale = False
        self.clear()
        for text in self._kept:
            self.write(text, scroll_end=False)


class OutputBox(Vertical):
    """The log, and below it the tool that runs."""

    def __init__(self) -> None:
        super().__init__(classes="box output-box")
        self.border_title = "Output"
        self.log_lines = OutputLog()
        self._tool = Static("", classes="tool", markup=False)

    def compose(self) -> ComposeResult:
        yield self.log_lines
        yield self._tool

    def show_tool(self, words: str) -> None:
        """Name the running tool; empty: none runs."""
        self._tool.set_class(bool(words), "-running")
        self._tool.update(Text.assemble((f"⚒ {words}", "bold cyan")))


def _as_text(line: OutputLine) -> Text:
    if line.weight is None:
        return Text.from_ansi(line.text)
    text = Text(f"▸ {line.text}", style=WEIGHT_STYLES[line.weight])
    text.stylize("bold", 0, 1)
    return text
