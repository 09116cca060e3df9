"""``ralph runs`` and ``ralph show``: the history of this work tree, and one run of it.

They change nothing.
"""

from __future__ import annotations

from typing import Annotated

import typer

from ralph_ls.cli.commands.runs.target import First, Second, Target, find_target
from ralph_ls.cli.context import current_worktree
from ralph_ls.cli.flags import Json
from ralph_ls.cli.output import print_rows, print_table, print_text, write_json
from ralph_ls.cli.show.iteration_details import (
    details_rows,
    measured_run,
    prompt_lines,
    shown_details,
)
from ralph_ls.engine.clock import SystemClock
from ralph_ls.protocol.json_output import RunMetrics
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
        from ralph_ls.cli.commands.runs.listing import print_run

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


# ``ralph show``: one run with its iterations, or one iteration whole.


def show_verb(first: First = None, second: Second = None, as_json: Json = False) -> None:
    """Show a run with its iterations, or one iteration whole.

    Of an iteration: what was decided and why, evidence, report, cost, changes and its prompt.
    """
    target = find_target(first, second)
    if target.iteration is not None:
        _show_iteration(target, target.iteration, as_json=as_json)
        return
    measured = measured_run(target.place, target.files)
    if as_json:
        write_json(measured.model_dump_json(by_alias=True, exclude_none=True, indent=2))
    else:
        print_run(measured)


def print_run(run: RunMetrics) -> None:
    """The figures of a run, its iterations, and the tasks that it finished."""
    from ralph_ls.core.loop.rules.retention import pruned_words
    from ralph_ls.core.views.report import metrics_tables as tables

    zone = SystemClock().local().tzinfo
    print_table(f"Run {run.run}", tables.RUN_HEADINGS, [tables.run_cells(run, zone)])
    rows = [tables.iteration_cells(one) for one in run.iterations]
    print_table(f"Iterations of run {run.run}", tables.ITERATION_HEADINGS, rows)
    took = [tables.receipt_cells(one) for one in run.receipts]
    print_table(f"Finished tasks of run {run.run}", tables.RECEIPT_HEADINGS, took)
    if run.pruned is not None:
        print_text(f"Note: {pruned_words(run.run, run.pruned)}")
    if run.iterations:
        last = run.iterations[-1].iteration
        print_text(f"Next: ralph show {run.run.rpartition('-')[2]} {last}")


def _show_iteration(target: Target, iteration: int, *, as_json: bool) -> None:
    found = shown_details(target.place, target.files, iteration)
    if as_json:
        write_json(found.model_dump_json(by_alias=True, exclude_none=True, indent=2))
        return
    print_rows(details_rows(found))
    print_text("")
    for line in prompt_lines(found):
        print_text(line)
