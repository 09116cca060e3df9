"""``ralph runs``: the history of this work tree, with the totals. It changes nothing."""

from __future__ import annotations

from typing import Annotated

import typer

from ralph_ls.cli.context import current_worktree
from ralph_ls.cli.flags import Json
from ralph_ls.cli.output import print_table, print_text, write_json
from ralph_ls.engine.clock import SystemClock
from ralph_ls.store.figures import read_statistics


def runs_verb(
    run: Annotated[str | None, typer.Option(metavar="RUN", hidden=True)] = None,
    as_json: Json = False,
) -> None:
    """Show all runs here: how they ended, their tasks, time and cost.

    The oldest comes first, the totals last.
    """
    from ralph_ls.core.loop.rules.health import bytes_words
    from ralph_ls.core.plurals import count_of
    from ralph_ls.core.views.report import metrics_tables as tables

    place = current_worktree()
    found = read_statistics(place.worktree, place.state, run=run)
    if as_json:
        write_json(found.model_dump_json(by_alias=True, exclude_none=True, indent=2))
        return
    if not found.runs:
        print_text(f"No run in {place.worktree.root} yet. Start one: ralph run")
        return
    if run is not None:
        from ralph_ls.cli.commands.runs.details import print_run

        print_run(found.runs[0])
        return
    zone = SystemClock().local().tzinfo
    rows = [tables.run_cells(one, zone) for one in found.runs]
    print_table(f"Runs in {place.worktree.root}", tables.RUN_HEADINGS, rows)
    print_table("Modes of all iterations", tables.MODE_HEADINGS, tables.mode_rows(found.totals))
    for name, value in tables.total_lines(found.totals):
        print_text(f"{name + ':':15}{value}")
    pruned = [one.pruned for one in found.runs if one.pruned is not None]
    if pruned:
        freed = bytes_words(sum(mark.bytes for mark in pruned))
        print_text(f"\nThe output of {count_of(len(pruned), 'run')} was deleted ({freed})")
    newest = found.runs[-1].run
    print_text(f"\nNext:          ralph show {newest.rpartition('-')[2]}")
