"""Output of the command line: text and tables for users on either stream, JSON for programs.

Text for users wraps at the width of the terminal, and is left as it is in a pipe. A table has the
newest rows, as wide as the terminal, with titles cut to fit. Every verb needs this module, so it
imports nothing slow.
"""

from __future__ import annotations

import json
import os
import sys
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TextIO

from ralph_ls.core.views.model.control_chars import escape_control_chars, escape_json

if TYPE_CHECKING:
    from rich.table import Table

    from ralph_ls.protocol.base import WireModel


WIDTH_OF_A_PIPE = 80
"""Columns of help, where nobody knows how wide the reader's terminal is."""

WIDEST = 100
"""Columns of help on a wider terminal: longer lines are hard to read."""

NARROWEST = 20
"""Columns of a line at least, however narrow the terminal is."""


def print_error(message: str) -> None:
    """Print an error."""
    _write(sys.stderr, f"ralph: {message}", hanging=2)


def print_hint(hint: str) -> None:
    """Print a line after an error: what to try next."""
    _write(sys.stderr, hint)


def print_text(message: str) -> None:
    """Print text for the user, with control characters escaped."""
    _write(sys.stdout, message, hanging=2)


def print_rows(rows: Iterable[tuple[str, str]]) -> None:
    """Print headings and texts side by side; a text of several lines keeps its column."""
    for heading, text in rows:
        shown = f"{heading}:" if heading else ""
        first, *others = text.split("\n")
        for start, line in ((shown, first), *(("", line) for line in others)):
            _write(sys.stdout, f"{start:13}{line}", hanging=13)


def _write(stream: TextIO, message: str, *, hanging: int = 0) -> None:
    text = escape_control_chars(message)
    if stream.isatty():
        width = terminal_width(stream)
        lines = text.split("\n")
        text = "\n".join(part for line in lines for part in _folded(line, width, hanging))
    stream.write(f"{text}\n")


def _folded(line: str, width: int, hanging: int) -> list[str]:
    """A line as it is where it fits, else in lines that keep its indentation."""
    if columns(line) <= width:
        return [line]
    text = line.lstrip(" ")
    indent = len(line) - len(text)
    return wrap_line(text, width, indent=indent, hanging=hanging)


def terminal_width(stream: TextIO | None = None) -> int:
    """Columns of the terminal: ``COLUMNS``, else what the stream says, else those of a pipe."""
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal() and int(given) > 0:
        return max(int(given), NARROWEST)
    try:
        return max(os.get_terminal_size((stream or sys.stdout).fileno()).columns, NARROWEST)
    except (OSError, ValueError):
        return WIDTH_OF_A_PIPE


def reading_width() -> int:
    """Columns in which help is set: those of the terminal, up to a width that reads well."""
    return min(terminal_width(), WIDEST)


def wrap_line(text: str, width: int, *, indent: int = 0, hanging: int = 0) -> list[str]:
    """The text in lines of at most so many columns, broken between words.

    A word that is wider than a line stays whole: it is a path, a command or an id to copy.
    ``hanging`` is how much further the lines after the first are indented.
    """
    lines, line = [], " " * indent
    empty = True
    for word in text.split(" "):
        if not empty and columns(line) + 1 + columns(word) > width:
            lines.append(line)
            line, empty = " " * (indent + hanging), True
        line += word if empty else f" {word}"
        empty = False
    return [*lines, line]


def columns(text: str) -> int:
    """How many columns of a terminal a text takes; wide characters take two."""
    if text.isascii():
        return len(text)
    return sum(map(_columns_of, text))


def _columns_of(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def emit_json(value: Mapping[str, object], *, indent: int | None = 2) -> None:
    """Write one JSON document for a program; on one line without ``indent``."""
    write_json(json.dumps(value, ensure_ascii=False, indent=indent))


def emit_document(document: WireModel, *, indent: int | None = 2) -> None:
    """Write a document of docs/json.md; a field without a value is null."""
    emit_json(document.model_dump(mode="json", by_alias=True), indent=indent)


def write_json(text: str) -> None:
    """Write a JSON document, so that what strangers wrote in it steers no terminal."""
    sys.stdout.write(f"{escape_json(text)}\n")


Row = tuple[str, str, str]
_GAP = 2


def table(header: Row, rows: list[Row], width: int) -> list[str]:
    """Rows in columns where they fit, else each with its second and third cell below the first."""
    widths = [max(columns(row[at]) for row in (header, *rows)) for at in range(3)]
    room = width - widths[0] - widths[2] - 2 * _GAP
    if room < min(widths[1], 16):
        return [line for row in rows for line in _stacked(row, width)]
    lines = []
    for key, value, origin in (header, *rows):
        parts = wrap_line(value, room) if columns(value) > room else [value]
        first, *rest = parts
        known = min(widths[1], room)
        lines.append(f"{key:{widths[0]}}  {first}{' ' * (known - columns(first))}  {origin}")
        lines += [f"{' ' * (widths[0] + _GAP)}{part}" for part in rest]
    return lines


def _stacked(row: Row, width: int) -> list[str]:
    key, value, origin = row
    return [key, *wrap_line(f"{value} ({origin})", width, indent=2)]


# ------------------------------------------------------------------------------------------- tables


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


def discard_stdout() -> None:
    """The reader is gone: nothing more is written to it, nor flushed when the interpreter ends."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
