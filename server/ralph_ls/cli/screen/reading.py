"""Reading for pages: the log and the changes of one iteration, and the runs of a repository.

All of it blocks, so a worker calls it.
"""

from __future__ import annotations

from collections import deque

from rich.text import Text

from ralph_ls.cli.context import CommandWorktree
from ralph_ls.cli.screen.pages import diff_lines
from ralph_ls.cli.show.iteration_details import details_rows, prompt_lines, shown_details
from ralph_ls.core.views.model.control_chars import escape_control_chars, escape_program_output
from ralph_ls.core.views.report.metrics_tables import (
    ITERATION_HEADINGS,
    iteration_cells,
    run_cells,
)
from ralph_ls.engine.clock import SystemClock
from ralph_ls.protocol.json_output import IterationMetrics, RunMetrics
from ralph_ls.protocol.run.events import IterationStarted
from ralph_ls.store.external.git_objects import diff_between
from ralph_ls.store.figures import read_runs
from ralph_ls.store.layout import RunFiles
from ralph_ls.store.run.iterations import changes_of
from ralph_ls.store.run.journal import each_event, offset_behind
from ralph_ls.store.run.watch import OutputChunk, RunFollower

COLUMNS = ("#", "Outcome", "Done", "Files", "Tokens", "Cost", "Time", "Commit", "Task")
"""Those of an iteration that fit a small window."""

HEADING_WIDTH = 11

LOG_LINES = 5000
"""Lines of a log that are kept, the newest."""

DIFF_LINES = 5000


def log_of(files: RunFiles, start: int) -> list[Text]:
    """What the agent of a start printed."""
    seq = 0
    for event in each_event(files.journal, kinds={"iterationStarted"}):
        if isinstance(event, IterationStarted) and event.start == start:
            seq = event.seq - 1
    follower = RunFollower(
        files, is_live=lambda: False, after_seq=seq, offset=offset_behind(files.journal, seq)
    )
    pieces: deque[str] = deque(maxlen=LOG_LINES)
    for batch in follower:
        for item in batch:
            if isinstance(item, IterationStarted) and item.start > start:
                return _log_lines(pieces)
            if isinstance(item, OutputChunk):
                pieces.append(item.data.decode("utf-8", "replace"))
    return _log_lines(pieces)


def changes_in(place: CommandWorktree, run: str, start: int) -> list[Text]:
    """What an iteration changed, as a diff."""
    changes = changes_of(place.worktree, place.state, run=run, start=start)
    lines = diff_lines(
        escape_program_output(diff_between(place.worktree.root, changes.base, changes.head))
    )
    if not lines:
        return [Text("It changed nothing.")]
    more = len(lines) - DIFF_LINES
    rest = [Text(f"… and {more} more lines: git diff {changes.base[:7]}")] if more > 0 else []
    return [*lines[:DIFF_LINES], *rest]


def runs_of(place: CommandWorktree) -> list[RunMetrics]:
    """All runs here, the newest first."""
    return [*reversed(read_runs(place.worktree, place.state))]


def run_row(run: RunMetrics) -> tuple[str, ...]:
    """One run as cells."""
    return tuple(map(escape_control_chars, run_cells(run, SystemClock().local().tzinfo)))


def iteration_row(figures: IterationMetrics) -> tuple[str, ...]:
    """One iteration of a run as cells, below ``COLUMNS``."""
    cells = iteration_cells(figures)
    return tuple(
        escape_control_chars(cells[ITERATION_HEADINGS.index(heading)]) for heading in COLUMNS
    )


def details_of(place: CommandWorktree, run: str, iteration: int) -> list[Text]:
    """One iteration whole, with its prompt, as ``ralph show`` prints it."""
    lines: list[Text] = []
    found = shown_details(place, place.state.run(run), iteration)
    for heading, text in details_rows(found):
        lines += heading_lines(heading, escape_program_output(text))
    return [*lines, Text(), *map(Text, prompt_lines(found))]


def heading_lines(heading: str, text: str) -> list[Text]:
    """A heading, and beside it a text of any lines."""
    first, *rest = text.split("\n")
    width = HEADING_WIDTH
    return [
        Text.assemble((f"{heading:{width}}", "dim"), first),
        *(Text(f"{'':{width}}{one}") for one in rest),
    ]


def _log_lines(pieces: deque[str]) -> list[Text]:
    lines = "".join(pieces).splitlines()[-LOG_LINES:]
    if not lines:
        return [Text("The agent has printed nothing.")]
    return [Text.from_ansi(escape_program_output(line)) for line in lines]
