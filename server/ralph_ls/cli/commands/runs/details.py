"""``ralph show``: one run with its iterations, or one iteration whole. It changes nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator

from ralph_ls.cli.commands.runs.target import First, Second, Target, find_target
from ralph_ls.cli.flags import Json
from ralph_ls.cli.output import print_rows, print_text, write_json
from ralph_ls.cli.show.tables import print_table
from ralph_ls.core.plurals import count_of
from ralph_ls.engine.clock import SystemClock
from ralph_ls.protocol.errors import UsageError
from ralph_ls.protocol.json_output import FileDiffStat, IterationDetails, RunMetrics
from ralph_ls.store.run.runs import read_runs

SHOWN_FILES = 20
"""How many changed files are listed; ``--json`` has all."""

COMMIT = 7
"""Characters of a commit's hash."""


def show_verb(first: First = None, second: Second = None, as_json: Json = False) -> None:
    """Show a run with its iterations, or one iteration whole.

    Of an iteration: what was decided and why, evidence, report, cost, changes and its prompt.
    """
    target = find_target(first, second)
    run = target.files.folder.name
    measured = read_runs(target.place.worktree, target.place.state, run=run)
    if not measured:
        raise UsageError(f"run {run} ended before it began; see the others: ralph runs")
    if target.iteration is not None:
        _show_iteration(target, measured[0], as_json=as_json)
    elif as_json:
        write_json(measured[0].model_dump_json(by_alias=True, exclude_none=True, indent=2))
    else:
        print_run(measured[0])


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


def _show_iteration(target: Target, measured: RunMetrics, *, as_json: bool) -> None:
    from ralph_ls.core.redaction.redactor import Redactor
    from ralph_ls.core.redaction.secret_names import secrets_of
    from ralph_ls.store.run.iteration_details import read_details

    iteration = target.iteration or 0
    found = read_details(target.place.worktree, target.files, measured, iteration)
    if found.prompt is not None:
        shown = Redactor(secrets_of(os.environ)).redact(found.prompt)
        found = found.model_copy(update={"prompt": shown})
    if as_json:
        write_json(found.model_dump_json(by_alias=True, exclude_none=True, indent=2))
        return
    print_rows(_rows(found))
    print_text("")
    print_text("Prompt:" if found.prompt is not None else "Prompt: it was deleted (ralph prune)")
    for line in (found.prompt or "").splitlines():
        print_text(f"  {line}".rstrip())


def _rows(found: IterationDetails) -> Iterator[tuple[str, str]]:
    from ralph_ls.core.views.report.metrics_tables import UNKNOWN, iteration_cells
    from ralph_ls.core.views.text.status import clock_words

    figures, task = found.figures, found.task
    again = f", start {found.start}" if found.start != found.iteration else ""
    yield "Iteration", f"{found.iteration} of run {found.run}{again} ({found.mode.value})"
    yield "Task", "none" if task is None else f"{task.title} [{task.id}]"
    model = "" if found.model is None else f", {found.model}"
    yield "Agent", "none was started" if found.agent is None else f"{found.agent}{model}"
    if found.session is not None:
        yield "Session", found.session
    started = clock_words(found.started_at, zone=SystemClock().local().tzinfo)
    if figures is None:
        yield "Started", f"{started}; it has not ended"
    else:
        tokens, _, cost, took = iteration_cells(figures)[6:10]
        yield "Started", f"{started}, took {took}"
        known = [part for part in (cost, f"{tokens} tokens") if UNKNOWN not in part.split()]
        yield "Cost", ", ".join(known) or "not reported"
    yield "Decision", found.decision or "none yet"
    yield "Evidence", "none yet" if found.evidence is None else found.evidence.why
    yield "Report", "\n".join(_claims(found))
    if found.validated is not None:
        result = found.validated
        ran = ", ".join(result.scripts)
        yield "Validation", f"passed: {ran}" if result.ok else f"failed: {result.script or ran}"
    yield from _changes(found)


def _claims(found: IterationDetails) -> Iterator[str]:
    """What the agent claims, one line a field."""
    fields = found.report.fields if found.report is not None else {}
    if not fields and not found.promises:
        yield "none"
    for key, value in fields.items():
        yield f"{key}: {' '.join(value.split())}"
    for promise in found.promises:
        yield f"{promise.kind.value.upper()}: {' '.join(promise.text.split())}".rstrip(": ")


def _changes(found: IterationDetails) -> Iterator[tuple[str, str]]:
    commits = [f"{one.hash[:COMMIT]} {one.subject}" for one in found.commits]
    yield "Commits", "\n".join(commits) or "none"
    if not found.files:
        yield "Changes", "none"
        return
    lines = [_file_words(one) for one in found.files[:SHOWN_FILES]]
    n_files = len(found.files) + found.more_files
    if n_files > len(lines):
        lines.append(f"and {n_files - len(lines)} more")
    added, removed = (
        sum(getattr(one, name) or 0 for one in found.files) for name in ("added", "removed")
    )
    yield "Changes", "\n".join([f"{count_of(n_files, 'file')}, +{added} -{removed}", *lines])


def _file_words(one: FileDiffStat) -> str:
    lines = "" if one.added is None else f"  +{one.added} -{one.removed}"
    return f"{one.status.value:9} {one.path}{lines}"
