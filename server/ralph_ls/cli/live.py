"""Showing a run as it goes: a live panel in a terminal, plain lines elsewhere, JSON for programs.

Everything shown is read from the run's files by a thread of its own; a terminal that stands still
or a pipe that nobody reads never holds up the engine (SPEC §2).
"""

from __future__ import annotations

import codecs
import os
import sys
import threading
from collections.abc import Callable
from typing import Protocol

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from ralph_ls.core.loop.fold import active_seconds, apply
from ralph_ls.core.views.lines import Line, Weight, header_lines, line_of
from ralph_ls.core.views.summary import format_duration
from ralph_ls.core.views.visible import tame
from ralph_ls.engine.clock import SystemClock
from ralph_ls.protocol.breaker import BreakerState
from ralph_ls.protocol.events import EventBase, Phase, RunStarted, dump_event
from ralph_ls.protocol.state import RunState
from ralph_ls.store.layout import RunFiles
from ralph_ls.store.watch_run import CATCH_UP, Output, RunFollower, Seen

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
    BreakerState.HALF_OPEN: "◈ half open",
    BreakerState.OPEN: "◆ open",
}

TESTS_WORDS = {"PASSING": ("✓ passing", "green"), "FAILING": ("✗ failing", "red")}

STUCK_READER_SECONDS = 5.0
"""How long the end of a run waits for a reader that takes nothing any more."""


class Renderer(Protocol):
    """What shows a run."""

    def show(self, seen: list[Seen]) -> None:
        """Show what has happened, in order."""

    def close(self) -> None:
        """Nothing more will come."""


class JsonRenderer:
    """Only events, one JSON line each."""

    def show(self, seen: list[Seen]) -> None:
        for item in seen:
            if isinstance(item, EventBase):
                sys.stdout.buffer.write(dump_event(item) + b"\n")
        sys.stdout.buffer.flush()

    def close(self) -> None:
        """Nothing is open."""


class PlainRenderer:
    """Lines for a pipe or a file: the words of each event, the agent's output between them."""

    def __init__(self) -> None:
        self._decoders = _decoders()
        self._in_line = False

    def show(self, seen: list[Seen]) -> None:
        for item in seen:
            if isinstance(item, Output):
                text = self._decoders[item.stream].decode(item.data)
                sys.stdout.write(text)
                self._in_line = not text.endswith("\n") if text else self._in_line
            else:
                for line in _lines(item):
                    # An agent's last line may have no end; ours never begins inside of it.
                    sys.stdout.write("\n" * self._in_line + f"▸ {line.text}\n")
                    self._in_line = False
        sys.stdout.flush()

    def close(self) -> None:
        """Nothing is open."""


class LiveRenderer:
    """A panel at the bottom that tells how the run stands, everything else scrolling above it."""

    def __init__(self, console: Console, state: RunState) -> None:
        self._console = console
        self._decoders = _decoders()
        self._partial = ""
        self._clock = SystemClock()
        self._state = state
        self._live = Live(
            console=console, get_renderable=self._panel, refresh_per_second=8, transient=True
        )
        self._live.start()

    def show(self, seen: list[Seen]) -> None:
        for item in seen:
            if isinstance(item, Output):
                self._print_output(self._decoders[item.stream].decode(item.data))
            else:
                self._state = apply(self._state, item)
                self._finish_partial_line()
                for line in _lines(item):
                    text = Text(f"▸ {line.text}", style=STYLES[line.weight])
                    text.stylize("bold", 0, 1)
                    self._console.print(text)

    def close(self) -> None:
        self._finish_partial_line()
        self._live.stop()

    def _print_output(self, text: str) -> None:
        whole, newline, self._partial = (self._partial + text).rpartition("\n")
        if newline:
            self._console.print(_as_output(whole))

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
        limit = state.config.max_iterations
        of = "" if limit is None else f" / {limit}"
        reason = f" ({state.phase_reason})" if state.phase_reason else ""
        table.add_row("Phase", f"{state.phase.value}{reason}, iteration {state.iteration}{of}")
        task = state.current.started.task if state.current is not None else None
        table.add_row("Task", Text(tame(task.title) if task is not None else "-"))
        done, required = state.counts.required_done, state.counts.required
        table.add_row("Plan", f"{done}/{required} tasks done")
        breaker = state.breaker
        words = Text(BREAKER_WORDS[breaker.state], style=BREAKER_STYLES[breaker.state])
        if breaker.state is not BreakerState.CLOSED:
            words.append(f"  {tame(breaker.reason)}", style="")
        table.add_row("Breaker", words)
        table.add_row("Tests", _tests(state))
        # Between two events of a long iteration time goes on.
        table.add_row("Time", format_duration(active_seconds(state, self._clock.now())))
        return Group(Text("─" * 40, style="dim"), table)


class Viewer:
    """A thread that shows a run."""

    def __init__(
        self,
        files: RunFiles,
        renderer: Callable[[], Renderer],
        *,
        is_live: Callable[[], bool],
        after_seq: int = 0,
        output: bool = True,
        catch_up: int = CATCH_UP,
    ) -> None:
        self._follower = RunFollower(
            files, is_live=is_live, after_seq=after_seq, output=output, catch_up=catch_up
        )
        self._make_renderer = renderer
        self._n_shown = 0
        self._thread = threading.Thread(target=self._show, name="viewer", daemon=True)
        self._thread.start()

    def finish(self) -> bool:
        """Wait until everything is shown; False where nobody reads any more."""
        self._follower.wake()
        while self._thread.is_alive():
            shown = self._n_shown
            self._thread.join(timeout=STUCK_READER_SECONDS)
            if self._thread.is_alive() and self._n_shown == shown:
                return False
        return True

    def wait(self) -> None:
        """Wait for the end of the run, however long it takes; Ctrl-C ends the watching alone."""
        while self._thread.is_alive():
            self._thread.join(timeout=0.2)

    def _show(self) -> None:
        renderer = self._make_renderer()
        try:
            for seen in self._follower:
                # In small pieces, so that a slow reader is told from one that does not read.
                for start in range(0, len(seen), 50):
                    renderer.show(seen[start : start + 50])
                    self._n_shown += 1
        except OSError:
            _discard_stdout()
        finally:
            try:
                renderer.close()
            except OSError:
                _discard_stdout()


def choose_renderer(*, as_json: bool, state: RunState | None = None) -> Callable[[], Renderer]:
    """What fits where the output goes; ``state`` is what was known before the first event shown."""
    if as_json:
        return JsonRenderer
    console = Console(highlight=False, soft_wrap=True)
    if console.is_terminal and not console.is_dumb_terminal:
        return lambda: LiveRenderer(console, RunState() if state is None else state)
    return PlainRenderer


def _lines(event: EventBase) -> list[Line]:
    if isinstance(event, RunStarted):
        texts = header_lines(apply(RunState(), event))
        return [Line(text=tame(text), weight=Weight.QUIET) for text in texts]
    line = line_of(event)
    return [] if line is None else [Line(text=tame(line.text), weight=line.weight)]


def _tests(state: RunState) -> Text:
    if state.report is None:
        return Text("-")
    words, style = TESTS_WORDS.get(state.report.tests_status, ("○ not run", "dim"))
    return Text(words, style=style)


def _as_output(text: str) -> Text:
    """The agent's words, set back from the loop's own."""
    output = Text.from_ansi("\n".join(f"  {line}" for line in text.split("\n")))
    output.style = "dim"
    return output


def _decoders() -> dict[str, codecs.IncrementalDecoder]:
    make = codecs.getincrementaldecoder("utf-8")
    return {stream: make(errors="replace") for stream in ("out", "err")}


def _discard_stdout() -> None:
    """The reader is gone; the run goes on, and nothing more is written to it."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
