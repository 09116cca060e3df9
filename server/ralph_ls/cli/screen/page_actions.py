"""Page actions: open the task, iteration, log, diff and history pages over the run that is shown.

What reads files blocks, so a worker thread calls it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

from rich.text import Text
from textual.app import App

from ralph_ls.cli.context import CommandWorktree
from ralph_ls.cli.screen.pages import TablePage, TextPage, diff_lines
from ralph_ls.cli.screen.run_pane import RunPane
from ralph_ls.cli.show.iteration_details import details_rows, prompt_lines, shown_details
from ralph_ls.cli.show.key_actions import HELP, LEAVE, LEAVE_OWN
from ralph_ls.core.views.model.control_chars import escape_control_chars, escape_program_output
from ralph_ls.core.views.report.metrics_tables import (
    ITERATION_HEADINGS,
    RUN_HEADINGS,
    iteration_cells,
    run_cells,
)
from ralph_ls.core.views.screen.lists import iteration_lines, task_page_lines
from ralph_ls.engine.clock import SystemClock
from ralph_ls.protocol.json_output import IterationMetrics, RunMetrics
from ralph_ls.protocol.lsp.panel import IterationRow, TaskRow
from ralph_ls.protocol.run.events import IterationStarted
from ralph_ls.store.external.git_objects import diff_between
from ralph_ls.store.figures import read_runs
from ralph_ls.store.layout import RunFiles
from ralph_ls.store.run.iterations import changes_of
from ralph_ls.store.run.journal import each_event, offset_behind
from ralph_ls.store.run.watch import OutputChunk, RunFollower

HERE = {
    "t": "go to the tasks",
    "l": "show all that the agent of the chosen iteration printed",
    "d": "show what the chosen iteration changed",
}
"""Keys that do more here than in the plain form."""

MORE_KEYS = (
    ("h", "show the runs of this repository"),
    ("z", "give the focused part the whole window, or back"),
    ("[ ]", "go to the previous or next run of yours"),
    ("1-9", "give this answer, if the question lists it"),
    ("Tab", "go to the next part; arrows move in it, Enter opens"),
    ("/", "search a page; n and N go to the next and previous place"),
    ("Esc", "close a page, or the line that you type"),
)


class PageActions:
    """Opens pages over the screen."""

    def __init__(
        self, app: App[Any], pane: Callable[[], RunPane], say: Callable[[str], None]
    ) -> None:
        """``pane``: the run that is shown. ``say`` shows a message for a moment."""
        self._app = app
        self._pane = pane
        self._say = say

    def task(self, task: TaskRow) -> None:
        """Show a task whole."""
        view = self._pane().view
        if view is None:
            return
        lines: list[Text] = []
        for heading, text in task_page_lines(task, view.plan, view.context):
            lines += heading_lines(heading, text)
        self._app.push_screen(TextPage("Task", lines))

    def iteration(self) -> None:
        """Show the chosen iteration whole."""
        row = self._pane().chosen_iteration()
        view = self._pane().view
        if row is None or view is None:
            return
        lines: list[Text] = []
        for heading, text in iteration_lines(row):
            lines += heading_lines(heading, text)
        lines += [Text(), Text("d shows its diff, l its log, p all of it with its prompt", "dim")]
        run = "" if view.context.state is None else view.context.state.run
        keys = {
            "d": partial(self._show_diff, run, row.iteration, row.start),
            "l": partial(self._show_log, run, row.iteration, row.start),
            "p": partial(self._show_details, run, row.iteration),
        }
        self._app.push_screen(TextPage(f"Iteration {row.iteration}", lines, keys=keys))

    def log(self) -> None:
        """Show all that the agent of the chosen iteration printed."""
        row, view = self._pane().chosen_iteration(), self._pane().view
        if row is None or view is None or view.context.state is None:
            self._say("no iteration has begun yet")
            return
        self._show_log(view.context.state.run, row.iteration, row.start)

    def diff(self) -> None:
        """Show what the chosen iteration changed."""
        row, view = self._settled_iteration(), self._pane().view
        if row is None or view is None or view.context.state is None:
            self._say("no iteration has ended yet")
            return
        self._show_diff(view.context.state.run, row.iteration, row.start)

    def _settled_iteration(self) -> IterationRow | None:
        """The chosen one; what runs has changed nothing for good, the one before it has."""
        row, view = self._pane().chosen_iteration(), self._pane().view
        if row is None or row.outcome is not None or view is None:
            return row
        return next((one for one in view.panel.rows if one.outcome is not None), None)

    def runs(self) -> None:
        """Show the runs of this repository; one of them shows its iterations."""
        place = self._pane().place

        def work() -> None:
            runs = runs_of(place)
            page = TablePage(
                f"Runs in {place.worktree.root}",
                RUN_HEADINGS,
                [run_row(run) for run in runs],
                {"enter": ("shows a run", lambda number: self._show_run(runs[number]))},
            )
            self._app.call_from_thread(self._app.push_screen, page)

        self._in_worker(work)

    def _show_run(self, run: RunMetrics) -> None:
        iterations = run.iterations[::-1]

        def of(show: Callable[[str, int, int], None]) -> Callable[[int], None]:
            return lambda number: show(
                run.run, iterations[number].iteration, iterations[number].start
            )

        def details(number: int) -> None:
            self._show_details(run.run, iterations[number].iteration)

        page = TablePage(
            f"Run {run.run}",
            COLUMNS,
            [iteration_row(one) for one in iterations],
            {
                "enter": ("shows all", details),
                "d": ("diff", of(self._show_diff)),
                "l": ("log", of(self._show_log)),
            },
        )
        self._app.push_screen(page)

    def keys(self) -> None:
        """Show what every key does."""
        leaves = self._pane().keys.leave is not None
        q = LEAVE if leaves else LEAVE_OWN
        rows = [*({**dict(HELP), **HERE}.items()), ("q", q), *MORE_KEYS]
        lines = [Text.assemble((f"{key:5}", "bold"), does) for key, does in rows]
        self._app.push_screen(TextPage("Keys", lines))

    def _show_log(self, run: str, iteration: int, start: int) -> None:
        read = partial(log_of, self._pane().place.state.run(run), start)
        self._open(f"Log of iteration {iteration}", read, at_end=True)

    def _show_diff(self, run: str, iteration: int, start: int) -> None:
        read = partial(changes_in, self._pane().place, run, start)
        self._open(f"Changes of iteration {iteration}", read)

    def _show_details(self, run: str, iteration: int) -> None:
        read = partial(details_of, self._pane().place, run, iteration)
        self._open(f"Iteration {iteration}", read)

    def _open(self, title: str, read: Callable[[], list[Text]], *, at_end: bool = False) -> None:
        def work() -> None:
            page = TextPage(title, read(), at_end=at_end)
            self._app.call_from_thread(self._app.push_screen, page)

        self._in_worker(work)

    def _in_worker(self, work: Callable[[], None]) -> None:
        keys = self._pane().keys
        self._app.run_worker(partial(keys.attempt, work), thread=True, group="pages")


# ------------------------------------------------------------------------------------------ reading


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
