"""Run pane: one work tree's run, as tasks, output, limits, iterations and what waits for you.

The output is what the agent prints and what the loop reports, wrapped to the pane's width.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Container, Vertical, VerticalScroll
from textual.events import Resize
from textual.message import Message
from textual.widgets import DataTable, OptionList, RichLog, Static
from textual.widgets.option_list import Option

from ralph_ls.cli.context import CommandWorktree
from ralph_ls.cli.screen.card import RunCard
from ralph_ls.cli.screen.feed import OutputLine, ScreenView, WorktreeFeed
from ralph_ls.cli.screen.style import NARROW, TONE_MARKS, TONE_STYLES, WEIGHT_STYLES
from ralph_ls.cli.show.key_actions import KeyActions
from ralph_ls.core.views.screen.card import card_view
from ralph_ls.core.views.screen.lists import (
    HEADINGS,
    NARROW_HEADINGS,
    TaskLine,
    iteration_cells,
    narrow_cells,
    outcome_tone,
    task_lines,
)
from ralph_ls.core.views.screen.status import Activity, MeterLine, bar, headline, meter_lines
from ralph_ls.engine.clock import Clock, SystemClock
from ralph_ls.protocol.lsp.panel import IterationRow, TaskRow, Tone

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


BAR_WIDTH, SHORT_BAR_WIDTH = 10, 5

LONGEST_CELL = 48
"""Columns of a cell of the iterations; the whole text is a key away."""


@dataclass
class TaskOpened(Message):
    """A task was chosen in the list."""

    task: TaskRow


@dataclass
class RunShown(Message):
    """A run was drawn, in this tone."""

    name: str
    tone: Tone


class RunPane(Vertical):
    """Draws one run; its feed begins when it is shown first."""

    def __init__(
        self, place: CommandWorktree, keys: KeyActions, *, name: str, clock: Clock | None = None
    ) -> None:
        super().__init__(id=name)
        self.place, self.keys = place, keys
        self.view: ScreenView | None = None
        self._activity = Activity()
        self._unfolded = False
        self._lines: tuple[TaskLine, ...] = ()
        self._rows: tuple[IterationRow, ...] = ()
        self._drawn_width = 0
        self._feed: WorktreeFeed | None = None
        self._clock = SystemClock() if clock is None else clock
        self._stopped = threading.Event()
        self._headline = Static("", classes="headline", markup=False)
        self._tasks = OptionList(classes="box tasks", markup=False)
        self.output = OutputBox()
        self._facts = Static("", markup=False)
        self._table: DataTable[Text] = DataTable(
            cursor_type="row", zebra_stripes=False, classes="box iterations"
        )
        self.card = RunCard()

    def compose(self) -> ComposeResult:
        yield self._headline
        with Container(classes="body"):
            self._tasks.border_title = "Tasks"
            yield self._tasks
            yield self.output
            with VerticalScroll(classes="box facts") as facts:
                facts.border_title = "Run"
                yield self._facts
            self._table.border_title = "Iterations"
            yield self._table
        yield self.card

    def on_mount(self) -> None:
        self.set_interval(1.0, self._tick)

    def begin(self) -> None:
        """Follow the files from now on."""
        if self._feed is None:
            self._feed = WorktreeFeed(self.place, self._take_view, self._take_output)
            self._feed.start()

    def end(self) -> None:
        """Follow no more."""
        self._stopped.set()
        if self._feed is not None:
            self._feed.stop()

    def chosen_iteration(self) -> IterationRow | None:
        """The iteration that the cursor is on, else the newest."""
        if not self._rows:
            return None
        row = self._table.cursor_row if self._table.has_focus else 0
        return self._rows[min(max(row, 0), len(self._rows) - 1)]

    def focus_tasks(self) -> None:
        """Go to the list of tasks."""
        self._tasks.focus()

    def zoom(self) -> None:
        """Give the focused part the whole window, or give it back."""
        body = self.query_one(".body")
        is_zoomed = body.has_class("-zoomed")
        for box in body.children:
            box.set_class(not is_zoomed and (box.has_focus or box.has_focus_within), "-zoom")
        body.set_class(not is_zoomed and bool(body.query(".-zoom")), "-zoomed")
        self.call_after_refresh(self.on_resize)

    def _take_view(self, view: ScreenView) -> None:
        """From the feed's thread, which waits until it is drawn."""
        if not self._stopped.is_set():
            self.app.call_from_thread(cast("Callable[..., None]", self.show), view)

    def _take_output(self, lines: list[OutputLine], activity: Activity) -> None:
        if not self._stopped.is_set():
            self.app.call_from_thread(self.show_output, lines, activity)

    async def show(self, view: ScreenView) -> None:
        """Draw a view."""
        self.view = view
        self._draw_headline()
        self._draw_facts()
        self._draw_tasks()
        self._draw_iterations()
        await self.card.show(card_view(view.panel))
        self.post_message(RunShown(self.id or "", view.panel.tone))

    def show_output(self, lines: list[OutputLine], activity: Activity) -> None:
        """Add lines of output."""
        self.output.log_lines.add(lines)
        self._activity = activity
        self._draw_tool()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """A task opens; the line of the done tasks folds and unfolds them."""
        event.stop()
        chosen = self._lines[event.option_index].task
        if chosen is None:
            self._unfolded = not self._unfolded
            self._draw_tasks()
            return
        for task in () if self.view is None else self.view.plan.tasks:
            if task.id == chosen:
                self.post_message(TaskOpened(task))
                return

    def on_resize(self) -> None:
        self._draw_headline()
        self._draw_tasks()
        self._draw_facts()
        self._draw_iterations()

    def _tick(self) -> None:
        """Between two events time passes."""
        if self.view is not None and self.view.panel.live:
            self._draw_headline()
            self._draw_facts()
            self._draw_tool()

    def _draw_tool(self) -> None:
        self.output.show_tool(self._activity.words(self._clock.now()))

    def _draw_headline(self) -> None:
        if self.view is None:
            return
        shown = self.view.panel
        style = TONE_STYLES[shown.tone] or "bold"
        first, *rest = headline(self.view.context, shown, self._clock.now())
        text = Text.assemble((f"{TONE_MARKS[shown.tone]} {first}", style))
        for words in rest:
            text.append(" · ", style="dim").append(words)
        self._headline.update(text)

    def _draw_tasks(self) -> None:
        if self.view is None:
            return
        self._lines = task_lines(self.view.plan, unfolded=self._unfolded)
        at, width = self._tasks.highlighted, max(10, self._tasks.size.width - 1)
        self._tasks.clear_options()
        self._tasks.add_options(Option(_task_text(line, width)) for line in self._lines)
        if self._lines:
            self._tasks.highlighted = min(at or 0, len(self._lines) - 1)
        self._tasks.border_subtitle = Text(self.view.plan.path)

    @property
    def _is_narrow(self) -> bool:
        return self.app.size.width < NARROW

    def _draw_facts(self) -> None:
        if self.view is None:
            return
        now, zone = self._clock.now(), self._clock.local().tzinfo
        width = SHORT_BAR_WIDTH if self._is_narrow else BAR_WIDTH
        table = Table.grid(padding=(0, 1))
        table.add_column(style="dim", no_wrap=True)
        table.add_column()
        for line in meter_lines(self.view.context, self.view.panel, now, zone):
            table.add_row(line.heading, _meter_text(line, width))
        self._facts.update(table)

    def _draw_iterations(self) -> None:
        if self.view is None or not self.view.panel.rows:
            return
        is_narrow, room = self._is_narrow, self._table.scrollable_content_region.width
        if (self.view.panel.rows, room) == (self._rows, self._drawn_width):
            return
        self._rows, self._drawn_width = self.view.panel.rows, room
        at = self._table.cursor_row
        cells = [
            tuple(" ".join(cell.split()) for cell in _iteration_cells(row, is_narrow=is_narrow))
            for row in self._rows
        ]
        self._table.clear(columns=True)
        headings = NARROW_HEADINGS if is_narrow else HEADINGS
        widths = _column_widths([headings, *cells], room, padding=2 * self._table.cell_padding)
        for heading, width in zip(headings, widths, strict=True):
            self._table.add_column(heading, width=width)
        for row, shown in zip(self._rows, cells, strict=True):
            texts = [Text(cell, no_wrap=True, overflow="ellipsis") for cell in shown]
            texts[1].stylize(TONE_STYLES[outcome_tone(row)])
            self._table.add_row(*texts)
        self._table.move_cursor(row=min(at, len(self._rows) - 1))
        self._table.border_subtitle = "Enter opens"


def _iteration_cells(row: IterationRow, *, is_narrow: bool) -> tuple[str, ...]:
    return narrow_cells(row, TONE_MARKS[outcome_tone(row)]) if is_narrow else iteration_cells(row)


def _column_widths(rows: Sequence[Sequence[str]], room: int, *, padding: int) -> list[int]:
    """As wide as their cells, but the last no wider than there is room, and than its heading."""
    *widths, last = (
        min(LONGEST_CELL, max(map(cell_len, column))) for column in zip(*rows, strict=True)
    )
    left = room - sum(width + padding for width in widths) - padding
    return [*widths, min(last, max(left, cell_len(rows[0][-1])))]


def _task_text(line: TaskLine, width: int) -> Text:
    style = TONE_STYLES[line.tone]
    text = Text.assemble((f"{line.mark} ", style))
    text.append(line.text, style="bold" if line.mark == "▶" else None)
    if line.words:
        text.append(f"  {line.words}", style="dim")
    text.truncate(width, overflow="ellipsis")
    return text


def _meter_text(line: MeterLine, width: int) -> Text:
    text = Text(style=TONE_STYLES[line.tone])
    if line.share is not None:
        text.append(f"{bar(line.share, width)} ")
    text.append(line.words)
    return text
