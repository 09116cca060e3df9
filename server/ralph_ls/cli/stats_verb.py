"""``ralph stats`` and ``ralph export``: what the runs here came to. They change nothing."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from ralph_ls.cli.context import here
from ralph_ls.cli.flags import Json
from ralph_ls.cli.output import say, write_json
from ralph_ls.core.views.report.metrics_tables import (
    ITERATION_HEADINGS,
    RUN_HEADINGS,
    iteration_cells,
    run_cells,
    to_csv,
    total_lines,
)
from ralph_ls.engine.clock import SystemClock
from ralph_ls.protocol.errors import UsageError
from ralph_ls.protocol.json_output import Statistics
from ralph_ls.store.run.runs import read_statistics

if TYPE_CHECKING:
    from rich.table import Table

SHOWN = 20
"""Runs and iterations that a person is shown of each, the newest."""

WIDTH_IN_A_PIPE = 140
"""Columns, where nobody knows how wide the reader's terminal is."""

TITLE = "Task"
"""The heading of the one column that is cut where a line is too long."""

_TEXTS = frozenset({"Run", "Started", "End", "Mode", "Outcome", "Task", "Commit"})
"""Headings of columns that hold no number."""

OfRun = Annotated[
    str | None, typer.Option(metavar="ID", help="Of this run alone; shown by: ralph stats.")
]


def stats(run: OfRun = None, as_json: Json = False) -> None:
    """Tell what the runs here came to: success, interventions, time, cost, context."""
    place = here()
    found = read_statistics(place.worktree, place.state, run=run)
    if as_json:
        _print_json(found)
        return
    if not found.runs:
        say(f"There was never a run in {place.worktree.root}. Start one: ralph run")
        return
    zone = SystemClock().local().tzinfo
    newest = found.runs[-1]
    _show(f"Runs in {place.worktree.root}", RUN_HEADINGS, [run_cells(o, zone) for o in found.runs])
    rows = [iteration_cells(one) for one in newest.iterations]
    _show(f"Iterations of run {newest.run}", ITERATION_HEADINGS, rows)
    for name, value in total_lines(found.totals):
        say(f"{name + ':':15}{value}")


def export(
    output: Annotated[
        str | None,
        typer.Option("--format", metavar="csv|json", help="How it is written; csv if not given."),
    ] = None,
    run: OfRun = None,
    as_json: Json = False,
) -> None:
    """Print every iteration of the runs here, for a spreadsheet or a program."""
    if output not in {None, "csv", "json"}:
        raise UsageError(f"--format {output!r}: it must be csv or json")
    if as_json and output == "csv":
        raise UsageError("--json is the same as --format json; give one of --json and --format csv")
    place = here()
    found = read_statistics(place.worktree, place.state, run=run)
    if as_json or output == "json":
        _print_json(found)
    else:
        sys.stdout.write(to_csv(found.runs))


def _print_json(found: Statistics) -> None:
    write_json(found.model_dump_json(by_alias=True, exclude_none=True, indent=2))


def _show(title: str, headings: Sequence[str], rows: Sequence[Iterable[str]]) -> None:
    """A table of the newest rows, and how many there are before them."""
    if not rows:
        return
    from rich.cells import cell_len
    from rich.console import Console

    say(title)
    if len(rows) > SHOWN:
        say(f"(the newest {SHOWN} of {len(rows)}; all of them: ralph export --format csv)")
    shown = [tuple(row) for row in rows[-SHOWN:]]
    wide = Console().width if sys.stdout.isatty() else WIDTH_IN_A_PIPE
    widths = [max(map(cell_len, column)) for column in zip(headings, *shown, strict=True)]
    # Numbers are shown whole, also where a line is longer for that; titles make room for them.
    others = sum(w + 1 for w, heading in zip(widths, headings, strict=True) if heading != TITLE)
    title_width = min(max(wide - others - 1, 12), 32)
    console = Console(width=max(wide, others + title_width + 1), highlight=False)
    console.print(_table(headings, shown, title_width))
    say("")


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
            max_width=title_width if heading == TITLE else None,
        )
    for row in rows:
        # A text, so that no stranger's brackets are taken for markup.
        table.add_row(*(Text(cell) for cell in row))
    return table
