"""Screen app: the tabs of all runs, the keys, and what is typed on the lowest line.

Orders are those of the plain form and block, so each is given in a worker thread.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from enum import StrEnum
from functools import partial
from typing import ClassVar, cast

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.widgets import ContentSwitcher, Input, Static, Tab, Tabs

from ralph_ls.cli.context import CommandWorktree
from ralph_ls.cli.screen import reading
from ralph_ls.cli.screen.card import CardButton, CardPressed
from ralph_ls.cli.screen.pages import RunsPage, TextPage
from ralph_ls.cli.screen.run_pane import RunPane
from ralph_ls.cli.screen.style import BREAKPOINTS, CSS
from ralph_ls.cli.show.key_actions import HELP, KeyActions, LinePrompt
from ralph_ls.core.views.report.metrics_tables import RUN_HEADINGS
from ralph_ls.core.views.screen.card import ANSWER, WRITE
from ralph_ls.core.views.screen.iterations import iteration_lines
from ralph_ls.engine.clock import Clock
from ralph_ls.protocol.json_output import RunMetrics
from ralph_ls.protocol.lsp.panel import IterationRow

LOOK_AGAIN = 5.0
"""Seconds between two looks for other runs of the user."""

KEYS = "p pause · s stop · a answer · n note · l log · f plain · ? all keys · q leave"
MORE_KEYS = (
    ("h", "show the runs of this repository"),
    ("[ ]", "go to the previous or next run of yours"),
    ("1-9", "give this answer, if the question lists it"),
    ("Tab", "go to the next part; arrows move in it, Enter opens"),
    ("Esc", "close a page, or the line that you type"),
)


class ScreenEnd(StrEnum):
    """Why the screen was left."""

    LEFT = "left"
    PLAIN = "plain"
    """For the plain form."""
    SIGNAL = "signal"
    FAILED = "failed"


class RalphScreen(App[ScreenEnd]):
    """All runs that are given, and those that ``find_others`` finds while it is shown."""

    CSS = CSS
    TITLE = "ralph"
    ENABLE_COMMAND_PALETTE = False
    HORIZONTAL_BREAKPOINTS = BREAKPOINTS
    BINDINGS: ClassVar[list[BindingType]] = [
        *(
            Binding(key, f"order('{name}')", show=False)
            for key, name in {
                "p": "pause_or_continue",
                "s": "stop",
                "S": "stop_now",
                "n": "note",
                "r": "reset_breaker",
                "k": "skip",
            }.items()
        ),
        *(Binding(str(number), f"option({number})", show=False) for number in range(1, 10)),
        Binding("a", "answer", show=False),
        Binding("t", "tasks", show=False),
        Binding("l", "log", show=False),
        Binding("d", "diff", show=False),
        Binding("h", "runs", show=False),
        Binding("f", "leave_for('plain')", show=False),
        Binding("q", "leave", show=False),
        Binding("question_mark", "keys", show=False),
        Binding("left_square_bracket", "run(-1)", show=False),
        Binding("right_square_bracket", "run(1)", show=False),
        Binding("enter", "iteration", show=False),
        Binding("escape", "cancel", show=False),
        Binding("ctrl+c", "interrupt", show=False, priority=True),
        Binding("ctrl+q", "leave", show=False, priority=True),
        Binding("ctrl+z", "suspend_process", show=False, priority=True),
    ]

    def __init__(
        self,
        place: CommandWorktree,
        *,
        find_others: Callable[[], Sequence[CommandWorktree]] = tuple,
        interrupt: Callable[[], None] | None = None,
        give: Callable[[str, str], list[str]] | None = None,
        is_over: Callable[[], bool] = bool,
        on_signal: Callable[[int], object] = int,
        clock: Clock | None = None,
    ) -> None:
        """``interrupt``: what Ctrl-C does where another process is the run; else it leaves.

        ``give``: gives an order there. ``is_over``: whether that process has ended, and the screen
        ends with it.
        """
        super().__init__()
        self.theme = "ansi-dark"
        self.failure: BaseException | None = None
        self.signal: int | None = None
        self._place = place
        self._find_others = find_others
        self._interrupt = interrupt
        self._give = give
        self._is_over = is_over
        self._clock = clock
        self._on_signal = on_signal
        self._panes: dict[str, RunPane] = {}
        self._current = ""
        self._tabs = Tabs(id="runs")
        self._switcher = ContentSwitcher()
        self._label = Static("", id="prompt-label", markup=False)
        self._input = Input(id="prompt", compact=True)
        self._keys = Static(KEYS, id="keys", markup=False)
        self._runs: list[RunMetrics] = []

    # --------------------------------------------------------------------------------- the screen

    def compose(self) -> ComposeResult:
        yield self._tabs
        yield self._switcher
        with Horizontal(id="prompt-row"):
            yield self._label
            yield self._input
        yield self._keys

    async def on_mount(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._end_by_signal, number)
        await self.add_run(self._place)
        self.set_interval(0.5, self._check_over)
        self.set_interval(LOOK_AGAIN, self._look_for_others)
        self._look_for_others()

    def on_unmount(self) -> None:
        for pane in self._panes.values():
            pane.end()

    @property
    def pane(self) -> RunPane:
        """The run that is shown."""
        return self._panes[self._current]

    async def add_run(self, place: CommandWorktree) -> None:
        """A tab for one more work tree."""
        leave = None if self._interrupt is not None else self.action_leave
        keys = KeyActions(place=place, by="ralph watch", leave=leave, give_elsewhere=self._give)
        name = f"run-{len(self._panes)}"
        pane = RunPane(place, keys, name=name, clock=self._clock)
        keys.screen = _PaneScreen(self)
        self._panes[name] = pane
        await self._switcher.add_content(pane)
        await self._tabs.add_tab(Tab(Text(place.worktree.root.name), id=name))
        self._tabs.set_class(len(self._panes) > 1, "-several")
        if len(self._panes) == 1:
            self._show_pane(name)

    def _show_pane(self, name: str) -> None:
        self._current = name
        self._switcher.current = name
        self.pane.begin()
        self.pane.focus_tasks()

    def on_tabs_tab_activated(self, event: Tabs.TabActivated) -> None:
        if event.tab.id in self._panes and event.tab.id != self._current:
            self._show_pane(event.tab.id)

    def _look_for_others(self) -> None:
        self.run_worker(self._find, thread=True, group="others", exclusive=True)

    def _find(self) -> None:
        known = {pane.place.worktree.root for pane in self._panes.values()}
        for place in self._find_others():
            if place.worktree.root not in known:
                self.call_from_thread(cast("Callable[..., None]", self.add_run), place)

    def _check_over(self) -> None:
        if self._is_over():
            self.exit(ScreenEnd.LEFT)

    def _end_by_signal(self, number: int) -> None:
        self.signal = number
        self._on_signal(number)
        self.exit(ScreenEnd.SIGNAL)

    def _fatal_error(self) -> None:
        """No traceback for users: the caller names the failure and shows the plain form."""
        self.failure = self._exception
        self._close_messages_no_wait()

    # ------------------------------------------------------------------------------------- orders

    def say(self, text: str) -> None:
        """Show a message for a moment."""
        self.notify(text, markup=False, timeout=8)

    def action_order(self, name: str) -> None:
        """Give an order, or ask for what it needs."""
        self._do(partial(getattr(KeyActions, name), self.pane.keys))

    def action_option(self, number: int) -> None:
        """Give the answer that the question lists under this number."""
        answers = [one for one in self.pane.card.query(CardButton) if one.key == ANSWER]
        if number <= len(answers):
            self._answer(answers[number - 1].text)

    def action_answer(self) -> None:
        """Go to the answers, or write one."""
        if not self.pane.card.focus_first():
            self.action_order("answer")

    def on_card_pressed(self, event: CardPressed) -> None:
        if event.key == ANSWER:
            self._answer(event.text)
        elif event.key == WRITE:
            self._ask(LinePrompt("Answer:", self.pane.keys.send_answer))
        else:
            names = {"r": "reset_breaker", "p": "pause_or_continue", "S": "stop_now"}
            self.action_order(names[event.text])

    def _answer(self, words: str) -> None:
        self.pane.focus_tasks()
        self._do(partial(self.pane.keys.send_answer, words))

    def _do(self, action: Callable[[], None]) -> None:
        keys = self.pane.keys

        def work() -> None:
            keys.attempt(action)
            if keys.prompt is not None:
                prompt, keys.prompt = keys.prompt, None
                self.call_from_thread(self._ask, prompt)

        self.run_worker(work, thread=True, group="orders")

    def _ask(self, prompt: LinePrompt) -> None:
        """Let the user type the line that an order needs."""
        self._then = prompt.then
        self._label.update(Text(prompt.label))
        self._input.value = ""
        self._input.placeholder = "Enter sends, Esc cancels"
        self._show_prompt(shown=True)
        self._input.focus()

    def _show_prompt(self, *, shown: bool) -> None:
        self.query_one("#prompt-row").set_class(shown, "-shown")
        self._keys.set_class(shown, "-hidden")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self._show_prompt(shown=False)
        self.pane.focus_tasks()
        if words := event.value.strip():
            self._do(partial(self._then, words))

    def action_cancel(self) -> None:
        """Close the line that is being typed."""
        self._show_prompt(shown=False)
        self.pane.focus_tasks()

    # -------------------------------------------------------------------------------------- pages

    def action_tasks(self) -> None:
        """Go to the tasks."""
        self.pane.focus_tasks()

    def action_iteration(self) -> None:
        """Show the chosen iteration whole."""
        row = self.pane.chosen_iteration()
        if row is None:
            return
        lines = []
        for heading, text in iteration_lines(row):
            first, *rest = text.split("\n")
            lines.append(Text.assemble((f"{heading:10}", "dim"), first))
            lines += [Text(f"{'':10}{one}") for one in rest]
        lines += [Text(), Text("d shows its diff, l its log", style="dim")]
        keys = {"d": partial(self._show_diff, row), "l": partial(self._show_log, row)}
        self.push_screen(TextPage(f"Iteration {row.iteration}", lines, keys=keys))

    def on_data_table_row_selected(self) -> None:
        self.action_iteration()

    def action_log(self) -> None:
        """Show all that the agent of the chosen iteration printed."""
        self._show_log(self.pane.chosen_iteration())

    def _show_log(self, row: IterationRow | None) -> None:
        view = self.pane.view
        if row is None or view is None or view.files is None:
            self.say("no iteration has begun yet")
            return
        read = partial(reading.log_of, view.files, row.start)
        self._open(f"Log of iteration {row.iteration}", read, at_end=True)

    def action_diff(self) -> None:
        """Show what the chosen iteration changed."""
        self._show_diff(self.pane.chosen_iteration())

    def _show_diff(self, row: IterationRow | None) -> None:
        view = self.pane.view
        state = None if view is None else view.context.state
        if row is not None and row.outcome is None and view is not None:
            # What runs has changed nothing for good; the one before it has.
            settled = [one for one in view.panel.rows if one.outcome is not None]
            row = settled[0] if settled else None
        if row is None or state is None:
            self.say("no iteration has ended yet")
            return
        read = partial(reading.changes_in, self.pane.place, state.run, row.start)
        self._open(f"Changes of iteration {row.iteration}", read)

    def action_runs(self) -> None:
        """Show the runs of this repository."""
        place = self.pane.place

        def work() -> None:
            self._runs = reading.runs_of(place)
            rows = [reading.run_row(run) for run in self._runs]
            title = f"Runs in {place.worktree.root}"
            page = RunsPage(title, RUN_HEADINGS, rows, self._show_run)
            self.call_from_thread(self.push_screen, page)

        self.run_worker(partial(self.pane.keys.attempt, work), thread=True, group="pages")

    def _show_run(self, number: int) -> None:
        run = self._runs[number]
        self.push_screen(TextPage(f"Run {run.run}", reading.run_lines(run)))

    def action_keys(self) -> None:
        """Show what every key does."""
        q = (
            "say how to end or leave"
            if self.pane.keys.leave is None
            else "leave; the run continues"
        )
        rows = [*HELP, ("q", q), *MORE_KEYS]
        lines = [Text.assemble((f"{key:5}", "bold"), does) for key, does in rows]
        self.push_screen(TextPage("Keys", lines))

    def _open(self, title: str, read: Callable[[], list[Text]], *, at_end: bool = False) -> None:
        def work() -> None:
            page = TextPage(title, read(), at_end=at_end)
            self.call_from_thread(self.push_screen, page)

        self.run_worker(partial(self.pane.keys.attempt, work), thread=True, group="pages")

    # ------------------------------------------------------------------------------------ leaving

    def action_run(self, by: int) -> None:
        """Go to another run."""
        names = [*self._panes]
        self._tabs.active = names[(names.index(self._current) + by) % len(names)]

    def action_leave_for(self, end: str) -> None:
        """Leave for the plain form."""
        self.exit(ScreenEnd(end))

    def action_leave(self) -> None:
        """Leave; in the terminal of the run, say how to end it."""
        if self._interrupt is not None:
            self.pane.keys.quit()
            return
        self.exit(ScreenEnd.LEFT)

    def action_interrupt(self) -> None:
        """Ctrl-C: end the watching, or stop the run of this terminal in two steps."""
        if self._interrupt is None:
            self.exit(ScreenEnd.LEFT)
        else:
            self._interrupt()


class _PaneScreen:
    """Where the keys of a run write: messages that disappear."""

    def __init__(self, app: RalphScreen) -> None:
        self._app = app

    def print_above(self, text: str) -> None:
        """Show a message; from any thread."""
        self._app.call_later(self._app.say, text)

    def refresh(self) -> None:
        """Nothing is drawn by hand."""

    def hidden(self) -> AbstractContextManager[None]:
        """No other process has the terminal."""
        return nullcontext()
