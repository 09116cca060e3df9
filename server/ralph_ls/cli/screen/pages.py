"""Pages over the run: a text that scrolls and can be searched, and a table. Esc closes a page."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.events import Key
from textual.screen import ModalScreen
from textual.widgets import DataTable, Input, Static

CLOSE = "Esc closes"
TEXT_KEYS = f"/ search · {CLOSE}"


class TextPage(ModalScreen[None]):
    """A long text: a log, a diff, an iteration, the keys. It can be searched."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", show=False),
        Binding("q", "dismiss", show=False),
        Binding("j", "scroll('down')", show=False),
        Binding("k", "scroll('up')", show=False),
        Binding("g", "scroll('home')", show=False),
        Binding("G", "scroll('end')", show=False),
        Binding("slash", "search", show=False),
        Binding("n", "find(1)", show=False),
        Binding("N", "find(-1)", show=False),
    ]

    def __init__(
        self,
        title: str,
        lines: Iterable[Text],
        *,
        at_end: bool = False,
        keys: Mapping[str, Callable[[], None]] | None = None,
    ) -> None:
        """``keys`` lead from here to another page."""
        super().__init__()
        self._title = title
        self._page_keys = keys or {}
        self._lines = list(lines)
        self._at_end = at_end
        self._words = ""
        self._found: list[int] = []
        self._chosen = 0
        self._search = Input(placeholder="search; Enter finds, Esc cancels", classes="search")

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="box page") as box:
            box.border_title = Text(self._title)
            box.border_subtitle = TEXT_KEYS
            yield Static(Text("\n").join(self._lines), classes="page-text", markup=False)
        yield self._search

    def on_mount(self) -> None:
        box = self.query_one(VerticalScroll)
        box.focus()
        if self._at_end:
            box.scroll_end(animate=False)

    def on_key(self, event: Key) -> None:
        action = self._page_keys.get(event.key)
        if action is not None and not self._search.has_focus:
            event.stop()
            self.dismiss()
            self.app.call_later(action)

    def action_close(self) -> None:
        """Close the search, else the page."""
        if self._search.has_focus:
            self._end_search()
        else:
            self.dismiss()

    def action_scroll(self, to: str) -> None:
        """Scroll by a line, or to an end."""
        box = self.query_one(VerticalScroll)
        {
            "down": box.scroll_down,
            "up": box.scroll_up,
            "home": box.scroll_home,
            "end": box.scroll_end,
        }[to](animate=False)

    def action_search(self) -> None:
        """Let the user type what to find."""
        self._search.add_class("-shown")
        self._search.value = ""
        self._search.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._end_search()
        self._words = event.value.strip().lower()
        self._found = [
            number
            for number, line in enumerate(self._lines)
            if self._words and self._words in line.plain.lower()
        ]
        first = self.query_one(VerticalScroll).scroll_y
        tops = self._tops()
        self._chosen = next((n for n, at in enumerate(self._found) if tops[at] >= first), 0)
        self._show_found(tops)

    def action_find(self, by: int) -> None:
        """Go to the next or previous line that was found."""
        if self._found:
            self._chosen = (self._chosen + by) % len(self._found)
            self._show_found(self._tops())

    def _end_search(self) -> None:
        self._search.remove_class("-shown")
        self.query_one(VerticalScroll).focus()

    def _show_found(self, tops: Sequence[int]) -> None:
        box = self.query_one(VerticalScroll)
        if not self._found:
            box.border_subtitle = f"nothing found · {TEXT_KEYS}" if self._words else TEXT_KEYS
            return
        lines = [line.copy() for line in self._lines]
        words = re.compile(re.escape(self._words), re.IGNORECASE)
        for number in self._found:
            lines[number].highlight_regex(words, "reverse")
        self.query_one(Static).update(Text("\n").join(lines))
        box.border_subtitle = f"{self._chosen + 1} of {len(self._found)}, n next · {TEXT_KEYS}"
        box.scroll_to(y=tops[self._found[self._chosen]], animate=False)

    def _tops(self) -> list[int]:
        """The row on which each line begins, as wrapped here."""
        width = max(1, self.query_one(Static).content_size.width)
        heights = [len(line.wrap(self.app.console, width)) for line in self._lines]
        return [0, *accumulate(heights)]


class TablePage(ModalScreen[None]):
    """A table with a row to choose; Enter and other keys lead on from it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "dismiss", show=False)]

    def __init__(
        self,
        title: str,
        headings: Sequence[str],
        rows: Sequence[Sequence[str]],
        keys: Mapping[str, tuple[str, Callable[[int], None]]],
    ) -> None:
        """``keys``: what each does, and with which row; ``enter`` is one."""
        super().__init__()
        self._title, self._headings, self._rows = title, headings, rows
        self._page_keys = keys

    def compose(self) -> ComposeResult:
        table: DataTable[Text] = DataTable(cursor_type="row", classes="box page iterations")
        table.border_title = Text(self._title)
        does = [f"{key.capitalize()} {words}" for key, (words, _) in self._page_keys.items()]
        table.border_subtitle = " · ".join([*does, CLOSE])
        yield table

    def on_mount(self) -> None:
        table = self.query_one(DataTable)
        table.add_columns(*self._headings)
        for row in self._rows:
            table.add_row(*map(Text, row))
        table.focus()

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        event.stop()
        self._page_keys["enter"][1](event.cursor_row)

    def on_key(self, event: Key) -> None:
        if event.key in self._page_keys and event.key != "enter" and self._rows:
            event.stop()
            self._page_keys[event.key][1](self.query_one(DataTable).cursor_row)


def diff_lines(diff: str) -> list[Text]:
    """A diff in the colours that git gives it."""
    return [Text(line, style=_diff_style(line)) for line in diff.splitlines()]


def _diff_style(line: str) -> str:
    if line.startswith(("+++", "---", "diff ", "index ")):
        return "bold"
    if line.startswith("@@"):
        return "cyan"
    return {"+": "green", "-": "red"}.get(line[:1], "")
