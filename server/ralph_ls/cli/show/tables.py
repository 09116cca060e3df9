"""Tables in a terminal: the newest rows, as wide as the terminal, with titles cut to fit."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ralph_ls.cli.output import print_text

if TYPE_CHECKING:
    from rich.table import Table

SHOWN = 20
"""How many rows are shown, the newest."""

WIDTH_IN_A_PIPE = 140
"""Columns, where nobody knows how wide the reader's terminal is."""

CUT = frozenset({"Task", "Where", "Needs you"})
"""Headings of the columns that are cut where a line is too long."""

_TEXTS = frozenset({*CUT, "Run", "Started", "End", "Mode", "Outcome", "Commit", "State"})
"""Headings of columns that hold no number."""


def print_table(title: str, headings: Sequence[str], rows: Sequence[Iterable[str]]) -> None:
    """A table of the newest rows, and how many there are before them; nothing without any."""
    if not rows:
        return
    from rich.cells import cell_len
    from rich.console import Console

    print_text(title)
    if len(rows) > SHOWN:
        print_text(f"(the newest {SHOWN} of {len(rows)}; all of them: add --json)")
    shown = [tuple(row) for row in rows[-SHOWN:]]
    wide = Console().width if sys.stdout.isatty() else WIDTH_IN_A_PIPE
    widths = [max(map(cell_len, column)) for column in zip(headings, *shown, strict=True)]
    # Numbers are shown whole, also where a line is longer for that; titles make room for them.
    n_cut = sum(heading in CUT for heading in headings)
    others = sum(w + 1 for w, heading in zip(widths, headings, strict=True) if heading not in CUT)
    title_width = min(max((wide - others - 1) // max(n_cut, 1), 12), 32)
    console = Console(width=max(wide, others + n_cut * (title_width + 1)), highlight=False)
    console.print(_table(headings, shown, title_width))
    print_text("")


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]], title_width: int) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for heading in headings:
        table.add_column(
            heading,
            justify="left" if heading in _TEXTS else "right",
            no_wrap=True,
            overflow="ellipsis",
            max_width=title_width if heading in CUT else None,
        )
    for row in rows:
        # A text, so that no stranger's brackets are taken for markup.
        table.add_row(*(Text(cell) for cell in row))
    return table
