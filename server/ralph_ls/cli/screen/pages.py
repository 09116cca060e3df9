"""Pages over the run: a text that scrolls, and the history of runs. Esc closes a page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.events import Key
from textual.screen import ModalScreen
from textual.widgets import DataTable, Static

CLOSE = "Esc closes"


class TextPage(ModalScreen[None]):
    """A long text: a log, a diff, an iteration, the keys."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss", show=False),
        Binding("j", "scroll('down')", show=False),
        Binding("k", "scroll('up')", show=False),
        Binding("g", "scroll('home')", show=False),
        Binding("G", "scroll('end')", show=False),
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
        self._text = Text("\n").join(lines)
        self._at_end = at_end

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="box page") as box:
            box.border_title = Text(self._title)
            box.border_subtitle = CLOSE
            yield Static(self._text, classes="page-text", markup=False)

    def on_mount(self) -> None:
        box = self.query_one(VerticalScroll)
        box.focus()
        if self._at_end:
            box.scroll_end(animate=False)

    def on_key(self, event: Key) -> None:
        action = self._page_keys.get(event.key)
        if action is not None:
            event.stop()
            self.dismiss()
            self.app.call_later(action)

    def action_scroll(self, to: str) -> None:
        """Scroll by a line, or to an end."""
        box = self.query_one(VerticalScroll)
        {
            "down": box.scroll_down,
            "up": box.scroll_up,
            "home": box.scroll_home,
            "end": box.scroll_end,
        }[to](animate=False)


class RunsPage(ModalScreen[None]):
    """The runs of a repository; Enter shows one with its iterations."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "dismiss", show=False)]

    def __init__(
        self,
        title: str,
        headings: Sequence[str],
        rows: Sequence[Sequence[str]],
        on_choose: Callable[[int], None],
    ) -> None:
        super().__init__()
        self._title, self._headings, self._rows = title, headings, rows
        self._on_choose = on_choose

    def compose(self) -> ComposeResult:
        table: DataTable[Text] = DataTable(cursor_type="row", classes="box page iterations")
        table.border_title = Text(self._title)
        table.border_subtitle = f"Enter shows a run · {CLOSE}"
        yield table

    def on_mount(self) -> None:
        table = self.query_one(DataTable)
        table.add_columns(*self._headings)
        for row in self._rows:
            table.add_row(*map(Text, row))
        table.focus()

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        event.stop()
        self._on_choose(event.cursor_row)


def diff_lines(diff: str) -> list[Text]:
    """A diff in the colours that git gives it."""
    return [Text(line, style=_diff_style(line)) for line in diff.splitlines()]


def _diff_style(line: str) -> str:
    if line.startswith(("+++", "---", "diff ", "index ")):
        return "bold"
    if line.startswith("@@"):
        return "cyan"
    return {"+": "green", "-": "red"}.get(line[:1], "")
