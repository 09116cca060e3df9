"""Page actions: open the task, iteration, log, diff and history pages over the run that is shown.

What reads files does so in a worker thread.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from rich.text import Text
from textual.app import App

from ralph_ls.cli.screen import reading
from ralph_ls.cli.screen.pages import TablePage, TextPage
from ralph_ls.cli.screen.run_pane import RunPane
from ralph_ls.cli.show.key_actions import HELP, LEAVE, LEAVE_OWN
from ralph_ls.core.views.report.metrics_tables import RUN_HEADINGS
from ralph_ls.core.views.screen.iterations import iteration_lines
from ralph_ls.core.views.screen.tasks import task_page_lines
from ralph_ls.protocol.json_output import RunMetrics
from ralph_ls.protocol.lsp.panel import IterationRow, TaskRow

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
            lines += reading.heading_lines(heading, text)
        self._app.push_screen(TextPage("Task", lines))

    def iteration(self) -> None:
        """Show the chosen iteration whole."""
        row = self._pane().chosen_iteration()
        view = self._pane().view
        if row is None or view is None:
            return
        lines: list[Text] = []
        for heading, text in iteration_lines(row):
            lines += reading.heading_lines(heading, text)
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
            runs = reading.runs_of(place)
            page = TablePage(
                f"Runs in {place.worktree.root}",
                RUN_HEADINGS,
                [reading.run_row(run) for run in runs],
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
            reading.COLUMNS,
            [reading.iteration_row(one) for one in iterations],
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
        read = partial(reading.log_of, self._pane().place.state.run(run), start)
        self._open(f"Log of iteration {iteration}", read, at_end=True)

    def _show_diff(self, run: str, iteration: int, start: int) -> None:
        read = partial(reading.changes_in, self._pane().place, run, start)
        self._open(f"Changes of iteration {iteration}", read)

    def _show_details(self, run: str, iteration: int) -> None:
        read = partial(reading.details_of, self._pane().place, run, iteration)
        self._open(f"Iteration {iteration}", read)

    def _open(self, title: str, read: Callable[[], list[Text]], *, at_end: bool = False) -> None:
        def work() -> None:
            page = TextPage(title, read(), at_end=at_end)
            self._app.call_from_thread(self._app.push_screen, page)

        self._in_worker(work)

    def _in_worker(self, work: Callable[[], None]) -> None:
        keys = self._pane().keys
        self._app.run_worker(partial(keys.attempt, work), thread=True, group="pages")
