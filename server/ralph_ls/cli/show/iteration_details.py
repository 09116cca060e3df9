"""Iteration details: what is known of one iteration, as headings and texts, and its prompt."""

from __future__ import annotations

import os
from collections.abc import Iterator

from ralph_ls.cli.context import CommandWorktree
from ralph_ls.core.plurals import count_of
from ralph_ls.engine.clock import SystemClock
from ralph_ls.protocol.errors import UsageError
from ralph_ls.protocol.json_output import FileDiffStat, IterationDetails, RunMetrics
from ralph_ls.store.figures import read_runs
from ralph_ls.store.layout import RunFiles

SHOWN_FILES = 20
"""How many changed files are listed; ``--json`` has all."""

COMMIT = 7
"""Characters of a commit's hash."""


def shown_details(place: CommandWorktree, files: RunFiles, iteration: int) -> IterationDetails:
    """One iteration whole, without the secrets of this environment in its prompt."""
    from ralph_ls.core.redaction.redactor import Redactor
    from ralph_ls.core.redaction.secret_names import secrets_of
    from ralph_ls.store.run.iterations import read_details

    found = read_details(place.worktree, files, measured_run(place, files), iteration)
    if found.prompt is None:
        return found
    shown = Redactor(secrets_of(os.environ)).redact(found.prompt)
    return found.model_copy(update={"prompt": shown})


def measured_run(place: CommandWorktree, files: RunFiles) -> RunMetrics:
    """The figures of a run; raises ``UsageError`` where it has none."""
    run = files.folder.name
    measured = read_runs(place.worktree, place.state, run=run)
    if not measured:
        raise UsageError(f"run {run} ended before it began; see the others: ralph runs")
    return measured[0]


def prompt_lines(found: IterationDetails) -> Iterator[str]:
    """The prompt below its heading."""
    yield "Prompt:" if found.prompt is not None else "Prompt: it was deleted (ralph prune)"
    for line in (found.prompt or "").splitlines():
        yield f"  {line}".rstrip()


def details_rows(found: IterationDetails) -> Iterator[tuple[str, str]]:
    """What is known of an iteration, as headings and texts, without its prompt."""
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
