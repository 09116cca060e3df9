"""The live panel in a terminal. It alone loads what draws it, which takes time to load."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from datetime import datetime

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from ralph_ls.cli.show.key_actions import KeyActions
from ralph_ls.cli.show.renderers import decoders, lines_of
from ralph_ls.core.loop.fold import active_seconds, apply
from ralph_ls.core.loop.profiles import is_parallel
from ralph_ls.core.loop.rules.agent_choice import worker_words
from ralph_ls.core.loop.rules.budget import tokens_of
from ralph_ls.core.views.model.control_chars import escape_control_chars, escape_program_output
from ralph_ls.core.views.model.tasks import attempt_words
from ralph_ls.core.views.model.words import iteration_words, request_words, with_mode
from ralph_ls.core.views.screen.status import pauses_later
from ralph_ls.core.views.text.event_weights import Weight
from ralph_ls.core.views.text.lanes import lane_rows
from ralph_ls.core.views.text.status import deadline, left_words, wait_words
from ralph_ls.core.views.text.summary import (
    cost_of,
    cost_words,
    duration_words,
    is_estimated,
    tokens_words,
)
from ralph_ls.engine.clock import SystemClock
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import BreakerState, Phase
from ralph_ls.store.run.watch import OutputChunk, RunItem

STYLES = {
    Weight.QUIET: "dim",
    Weight.NORMAL: "",
    Weight.GOOD: "green",
    Weight.WARNING: "yellow",
    Weight.BAD: "bold red",
}

BREAKER_STYLES = {
    BreakerState.CLOSED: "green",
    BreakerState.HALF_OPEN: "yellow",
    BreakerState.OPEN: "bold red",
}

BREAKER_WORDS = {
    BreakerState.CLOSED: "◇ closed",
    BreakerState.HALF_OPEN: "◈ half-open",
    BreakerState.OPEN: "◆ open",
}

LONGEST_LINE = 1 << 16
"""Characters that are kept until their line ends; a flood may have no line ends."""

TESTS_WORDS = {"PASSING": ("✓ passing", "green"), "FAILING": ("✗ failing", "red")}


class LiveRenderer:
    """A panel at the bottom with the state of the run, everything else scrolling above it."""

    backlog: int | None = 1 << 20
    """Nobody reads more as it scrolls by, and drawing it takes about a second."""

    def __init__(self, console: Console, state: RunState, keys: KeyActions | None = None) -> None:
        self._console = console
        self._keys = keys
        self._decoders = decoders()
        self._partial = ""
        self._clock = SystemClock()
        self._state = state
        self._shown = threading.Event()
        self._shown.set()
        self._live = self._new_panel()
        if keys is not None:
            keys.screen = self

    def _new_panel(self) -> Live:
        live = Live(
            console=self._console, get_renderable=self._panel, refresh_per_second=8, transient=True
        )
        live.start()
        return live

    @contextlib.contextmanager
    def hidden(self) -> Iterator[None]:
        """Draw nothing within; what arrives meanwhile is shown afterwards."""
        self._shown.clear()
        self._live.stop()
        try:
            yield
        finally:
            self._live = self._new_panel()
            self._shown.set()

    def print_above(self, text: str) -> None:
        """Print what a key asked for; called by the thread that reads keys."""
        words = "\n".join(map(escape_control_chars, text.split("\n")))
        self._console.print(Text(f"▸ {words}"))

    def refresh(self) -> None:
        """Draw the panel with what was typed."""
        self._live.refresh()

    def show(self, snapshot: list[RunItem]) -> None:
        self._shown.wait()
        for item in snapshot:
            if isinstance(item, OutputChunk):
                self._print_output(self._decoders[item.stream].decode(item.data))
            else:
                before, self._state = self._state, apply(self._state, item)
                self._finish_partial_line()
                for line in lines_of(item, before):
                    text = Text(f"▸ {line.text}", style=STYLES[line.weight])
                    text.stylize("bold", 0, 1)
                    self._console.print(text)

    def close(self) -> None:
        if self._keys is not None:
            self._keys.screen = None
        self._finish_partial_line()
        self._live.stop()

    def _print_output(self, text: str) -> None:
        whole, newline, self._partial = (self._partial + text).rpartition("\n")
        if newline:
            self._console.print(_as_output(whole))
        if len(self._partial) > LONGEST_LINE:
            self._finish_partial_line()

    def _finish_partial_line(self) -> None:
        if self._partial:
            rest, self._partial = self._partial, ""
            self._console.print(_as_output(rest))

    def _panel(self) -> RenderableType:
        state = self._state
        if not state.run or state.phase is Phase.ENDED:
            return Text("")
        table = Table.grid(padding=(0, 2), expand=False)
        table.add_column(style="dim", no_wrap=True)
        table.add_column()
        table.add_row("Phase", _phase(state))
        self._add_deadline(table, state)
        for lane, task, doing in lane_rows(state, zone=self._clock.local().tzinfo):
            name = f"Lane {lane}" if lane.isdigit() else "Parked"
            table.add_row(name, Text(escape_control_chars(f"{task} · {doing}")))
        if is_parallel(state.config):
            self._add_plan(table, state)
        else:
            table.add_row("Task", _task(state))
            self._add_plan(table, state)
            table.add_row("Breaker", _breaker(state))
            table.add_row("Tests", _tests(state))
        self._add_totals(table, state)
        return Group(Text("─" * 40, style="dim"), table, *self._footer())

    def _add_deadline(self, table: Table, state: RunState) -> None:
        """When a wait is over, or else when the agent is stopped at the latest."""
        if state.until is not None and state.phase is Phase.WAITING:
            table.add_row("Waits", _wait(state, state.until, self._clock))
        elif (until := deadline(state)) is not None:
            left = left_words(until, self._clock.now())
            ends = f"ends in {left} at the latest"
            agent = None if state.current is None else state.current.agent
            if agent is not None and (who := worker_words(state.config, agent.agent, agent.model)):
                ends = f"{who}; {ends}"
            table.add_row("Agent", Text(escape_control_chars(ends)))

    @staticmethod
    def _add_plan(table: Table, state: RunState) -> None:
        done, required = state.counts.required_done, state.counts.required
        if state.request is None:
            table.add_row("Plan", f"{done}/{required} tasks done")
        else:
            table.add_row("Request", Text(request_words(state.request)))

    def _add_totals(self, table: Table, state: RunState) -> None:
        # Between two events of a long iteration time passes.
        seconds, config = active_seconds(state, self._clock.now()), state.config
        table.add_row("Time", duration_words(seconds, config.max_duration))
        estimated = is_estimated(state.usage)
        if cost := cost_words(cost_of(state.usage), config.max_cost_usd, estimated=estimated):
            table.add_row("Cost", cost)
        if tokens := tokens_words(tokens_of(state.usage), config.max_tokens):
            table.add_row("Tokens", tokens)

    def _footer(self) -> list[Text]:
        """The keys, or the line that is being typed."""
        if self._keys is None:
            return []
        is_typing = self._keys.prompt is not None
        words = escape_control_chars(self._keys.footer)
        return [Text(words, style="bold" if is_typing else "dim")]


def terminal() -> Console | None:
    """Where a panel can be drawn; None where the output goes to no terminal that could."""
    console = Console(highlight=False, soft_wrap=True)
    return console if console.is_terminal and not console.is_dumb_terminal else None


def _phase(state: RunState) -> str:
    """The phase, the iteration, and what was ordered for its end."""
    reason = f" ({state.phase_reason})" if state.phase_reason else ""
    later = "; pauses after it" if pauses_later(state) else ""
    return f"{state.phase.value}{reason}, {iteration_words(state)}{later}"


def _wait(state: RunState, until: datetime, clock: SystemClock) -> Text:
    """For what and until when, and how long that is from now."""
    zone = clock.local().tzinfo
    words = wait_words(state.phase_reason, until, since=state.phase_since, zone=zone)
    return Text(f"{words.lstrip(': ')}, {left_words(until, clock.now())} left")


def _task(state: RunState) -> Text:
    started = None if state.current is None else state.current.started
    attempt, title = attempt_words(state), "-"
    if started is not None and started.task is not None:
        title = with_mode(escape_control_chars(started.task.title), started.mode)
    return Text(f"{title} · {attempt}" if attempt else title)


def _breaker(state: RunState) -> Text:
    breaker = state.breaker
    words = Text(BREAKER_WORDS[breaker.state], style=BREAKER_STYLES[breaker.state])
    if breaker.state is not BreakerState.CLOSED:
        words.append(f"  {escape_control_chars(breaker.reason)}", style="")
    return words


def _tests(state: RunState) -> Text:
    if state.report is None:
        return Text("-")
    words, style = TESTS_WORDS.get(state.report.tests_status, ("○ not run", "dim"))
    return Text(words, style=style)


def _as_output(text: str) -> Text:
    """The agent's words, set back from the loop's own."""
    lines = escape_program_output(text).split("\n")
    output = Text.from_ansi("\n".join(f"  {line}" for line in lines))
    output.style = "dim"
    return output
