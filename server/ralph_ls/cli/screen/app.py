"""Screen app: the tabs of all runs, the keys, and what is typed on the lowest line.

Orders are those of the plain form and block, so each is given in a worker thread.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import ClassVar, cast

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.events import Resize
from textual.widgets import ContentSwitcher, Input, Static, Tab, Tabs

from ralph_ls.cli.context import CommandWorktree
from ralph_ls.cli.screen.card import CardButton, CardPressed
from ralph_ls.cli.screen.page_actions import PageActions
from ralph_ls.cli.screen.run_pane import RunPane, RunShown, TaskOpened
from ralph_ls.cli.screen.style import BREAKPOINTS, CSS, TONE_MARKS, content_style
from ralph_ls.cli.show.key_actions import KeyActions, LinePrompt
from ralph_ls.core.views.screen.card import ANSWER, WRITE
from ralph_ls.engine.clock import Clock
from ralph_ls.protocol.lsp.panel import Tone

LOOK_AGAIN = 5.0
"""Seconds between two looks for other runs of the user."""

KEYS = "p pause · s stop · a answer · n note · l log · f plain · ? all keys · q leave"
LONG_KEYS = (
    "p pause · s stop · a answer · n note · t tasks · l log · d diff · h runs · z zoom · f plain"
    " · ? all keys · q leave"
)


class ScreenEnd(StrEnum):
    """Why the screen was left."""

    LEFT = "left"
    PLAIN = "plain"
    """For the plain form."""
    SIGNAL = "signal"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherRun:
    """A live run of the user, wherever it is."""

    place: CommandWorktree
    needs_user: bool
    title: str = ""
    """Of its tab; empty: the name of its folder."""
    is_lane: bool = False
    """It is the run of a lane, whose work tree goes when its work is merged."""


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
                "c": "end_wait",
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
        *(
            Binding(key, f"page('{name}')", show=False)
            for key, name in {
                "l": "log",
                "d": "diff",
                "h": "runs",
                "question_mark": "keys",
                "enter": "iteration",
            }.items()
        ),
        Binding("z", "zoom", show=False),
        Binding("f", "leave_for('plain')", show=False),
        Binding("q", "leave", show=False),
        Binding("left_square_bracket", "run(-1)", show=False),
        Binding("right_square_bracket", "run(1)", show=False),
        Binding("escape", "cancel", show=False),
        Binding("ctrl+c", "interrupt", show=False, priority=True),
        Binding("ctrl+q", "leave", show=False, priority=True),
        Binding("ctrl+z", "suspend_process", show=False, priority=True),
    ]

    def __init__(
        self,
        place: CommandWorktree,
        *,
        find_others: Callable[[], Sequence[OtherRun]] = tuple,
        interrupt: Callable[[], None] | None = None,
        suspend: Callable[[], None] | None = None,
        give: Callable[[str, str], list[str]] | None = None,
        is_over: Callable[[], bool] = bool,
        on_signal: Callable[[int], object] = int,
        clock: Clock | None = None,
    ) -> None:
        """``interrupt``: what Ctrl-C does where another process is the run; else it leaves.

        ``suspend``: suspends both there, and returns when the terminal is ours again. ``give``:
        gives an order there. ``is_over``: whether that process has ended, and the screen ends
        with it.
        """
        super().__init__()
        self.theme = "ansi-dark"
        self.failure: BaseException | None = None
        self.signal: int | None = None
        self._place = place
        self._find_others = find_others
        self._interrupt = interrupt
        self._suspend = suspend
        self._give = give
        self._is_over = is_over
        self._clock = clock
        self._on_signal = on_signal
        self._panes: dict[str, RunPane] = {}
        self._tones: dict[str, Tone] = {}
        self._titles: dict[str, str] = {}
        self._lanes: set[str] = set()
        """Names of the panes of lanes."""
        self._n_added = 0
        self._current = ""
        self._tabs = Tabs(id="runs")
        self._switcher = ContentSwitcher()
        self._label = Static("", id="prompt-label", markup=False)
        self._input = Input(id="prompt", compact=True)
        self._keys = Static(KEYS, id="keys", markup=False)
        self._pages = PageActions(self, lambda: self.pane, self.say)

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

    def on_resize(self, event: Resize) -> None:
        self._keys.update(LONG_KEYS if event.size.width > len(LONG_KEYS) + 1 else KEYS)

    def on_unmount(self) -> None:
        for pane in self._panes.values():
            pane.end()

    @property
    def pane(self) -> RunPane:
        """The run that is shown."""
        return self._panes[self._current]

    async def add_run(self, place: CommandWorktree, other: OtherRun | None = None) -> None:
        """A tab for one more work tree; ``other`` where the run is not that of this terminal."""
        leave = None if self._interrupt is not None else self.action_leave
        give = self._give if other is None else None
        keys = KeyActions(place=place, by="ralph watch", leave=leave, give_elsewhere=give)
        name = f"run-{self._n_added}"
        self._n_added += 1
        self._titles[name] = (other.title if other is not None else "") or place.worktree.root.name
        if other is not None and other.is_lane:
            self._lanes.add(name)
        pane = RunPane(place, keys, name=name, clock=self._clock)
        keys.screen = _PaneScreen(self)
        self._panes[name] = pane
        await self._switcher.add_content(pane)
        await self._tabs.add_tab(Tab(Text(self._titles[name]), id=name))
        self._tabs.set_class(len(self._panes) > 1, "-several")
        if len(self._panes) == 1:
            self._show_pane(name)

    async def _remove_run(self, name: str) -> None:
        """Close a tab and what it follows."""
        pane = self._panes.pop(name)
        pane.end()
        self._lanes.discard(name)
        await self._tabs.remove_tab(name)
        await pane.remove()
        self._tabs.set_class(len(self._panes) > 1, "-several")

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
        found = {one.place.worktree.root: one for one in self._find_others()}
        self.call_from_thread(cast("Callable[..., None]", self._take_others), found)

    async def _take_others(self, found: Mapping[Path, OtherRun]) -> None:
        known = {pane.place.worktree.root: name for name, pane in self._panes.items()}
        for root, other in found.items():
            if root not in known:
                await self.add_run(other.place, other)
        for name in self._lanes - {self._current}:
            if self._panes[name].place.worktree.root not in found:
                await self._remove_run(name)
        for name, pane in self._panes.items():
            if pane.view is None:
                other_run = found.get(pane.place.worktree.root)
                self._mark_tab(name, _tone_of(other_run))

    def on_run_shown(self, event: RunShown) -> None:
        self._mark_tab(event.name, event.tone)

    def _mark_tab(self, name: str, tone: Tone) -> None:
        """Show on a tab how its run is doing; say so where another one begins to need the user."""
        before, self._tones[name] = self._tones.get(name), tone
        if before is tone:
            return
        where = self._titles[name]
        label = Content.assemble((TONE_MARKS[tone], content_style(tone)), f" {where}")
        self._tabs.query_one(f"#{name}", Tab).label = label
        if before is not None and tone is Tone.WARNING and name != self._current:
            self.say(f"{where} waits for you; ] goes to it")

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

    def action_page(self, name: str) -> None:
        """Open a page."""
        getattr(self._pages, name)()

    def action_tasks(self) -> None:
        """Go to the tasks."""
        self.pane.focus_tasks()

    def action_zoom(self) -> None:
        """Give the focused part the whole window, or give it back."""
        self.pane.zoom()

    def on_data_table_row_selected(self) -> None:
        self._pages.iteration()

    def on_task_opened(self, event: TaskOpened) -> None:
        self._pages.task(event.task)

    # ------------------------------------------------------------------------------------ leaving

    def action_run(self, by: int) -> None:
        """Go to another run."""
        names = [*self._panes]
        self._tabs.active = names[(names.index(self._current) + by) % len(names)]

    def action_leave_for(self, end: str) -> None:
        """Leave for the plain form."""
        self.exit(ScreenEnd(end))

    def action_leave(self) -> None:
        """Leave; in the terminal of the run, ask how to end it."""
        if self._interrupt is not None:
            self.action_order("quit")
            return
        self.exit(ScreenEnd.LEFT)

    def action_interrupt(self) -> None:
        """Ctrl-C: end the watching, or stop the run of this terminal in two steps."""
        if self._interrupt is None:
            self.exit(ScreenEnd.LEFT)
        else:
            self._interrupt()

    def action_suspend_process(self) -> None:
        """Ctrl-Z: the shell gets its terminal until ``fg``."""
        if self._suspend is None:
            super().action_suspend_process()
            return
        with self.suspend():
            self._suspend()


def _tone_of(run: OtherRun | None) -> Tone:
    if run is None:
        return Tone.PLAIN
    return Tone.WARNING if run.needs_user else Tone.ACTIVE


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
