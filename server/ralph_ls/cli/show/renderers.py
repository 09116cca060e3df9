"""The ways of showing a run that need nothing but a stream, and what all ways share."""

from __future__ import annotations

import codecs
import contextlib
import sys
from pathlib import Path
from typing import Protocol

from ralph_ls.core.loop.fold import apply
from ralph_ls.core.notify.occasions import occasion_of
from ralph_ls.core.notify.schedule import destinations_of, quiet_until
from ralph_ls.core.views.model.control_chars import (
    escape_control_chars,
    escape_json,
    escape_program_output,
)
from ralph_ls.core.views.text.event_lines import event_line
from ralph_ls.core.views.text.event_weights import EventLine, Weight
from ralph_ls.core.views.text.summary import header_lines
from ralph_ls.engine.clock import SystemClock
from ralph_ls.protocol.config.notify import BELL
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.run.events import EventBase, PhaseChanged, RunResumed, RunStarted, dump_event
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import Phase
from ralph_ls.store.layout import StateFolder
from ralph_ls.store.project.project_state import find_project, keeps_project_state
from ralph_ls.store.run.engine_output import OUTPUT
from ralph_ls.store.run.watch import OutputChunk, RunItem


class Renderer(Protocol):
    """What shows a run."""

    backlog: int | None
    """Bytes of the agent's output that it may be behind; None: it shows all, however late."""

    def show(self, snapshot: list[RunItem]) -> None:
        """Show what has happened, in order."""

    def close(self) -> None:
        """Nothing more will come."""


class JsonRenderer:
    """Only events, one JSON line each."""

    backlog: int | None = None

    def __init__(self) -> None:
        self._is_piped = OUTPUT.has_pipe()

    def show(self, snapshot: list[RunItem]) -> None:
        for item in snapshot:
            if isinstance(item, EventBase):
                # A viewer may show the stream as it is.
                line = escape_json(dump_event(item).decode()).encode() + b"\n"
                sys.stdout.buffer.write(line)
                if self._is_piped:
                    OUTPUT.record_output(line, ours=True)
        sys.stdout.buffer.flush()

    def close(self) -> None:
        """Nothing is open."""


class StopNoticeRenderer:
    """Another renderer, and on standard error what Ctrl-C led to.

    For a run whose standard output is no terminal: who presses Ctrl-C there reads it nowhere else.
    """

    def __init__(self, inner: Renderer, state: RunState) -> None:
        self._inner = inner
        self._state = state
        self.backlog = inner.backlog

    def show(self, snapshot: list[RunItem]) -> None:
        self._inner.show(snapshot)
        for item in snapshot:
            if isinstance(item, EventBase):
                before, self._state = self._state, apply(self._state, item)
                if isinstance(item, PhaseChanged) and item.phase is Phase.STOPPING:
                    for line in lines_of(item, before):
                        sys.stderr.write(f"{escape_control_chars(line.text)}\n")
                        sys.stderr.flush()

    def close(self) -> None:
        self._inner.close()


class BellRenderer:
    """Another renderer, which rings the terminal's bell for what the settings name.

    Events of long ago ring no more.
    """

    def __init__(self, inner: Renderer, state: RunState) -> None:
        self._inner = inner
        self._state = state
        self.backlog = inner.backlog

    def show(self, snapshot: list[RunItem]) -> None:
        self._inner.show(snapshot)
        rings = [self._rings(item) for item in snapshot if isinstance(item, EventBase)]
        if any(rings):
            sys.stdout.write("\a")
            sys.stdout.flush()

    def _rings(self, event: EventBase) -> bool:
        before, self._state = self._state, apply(self._state, event)
        config = self._state.config.notify
        if not config.bell:
            return False
        clock = SystemClock()
        found = occasion_of(event, before, self._state)
        return (
            found is not None
            and BELL in destinations_of(found.event, config)
            and quiet_until(config, clock.local()) is None
            and (clock.now() - event.at).total_seconds() < NEW_SECONDS
        )

    def close(self) -> None:
        self._inner.close()


NEW_SECONDS = 10.0
"""Age of an event that still rings."""


class PlainRenderer:
    """Lines for a pipe or a file: the words of each event, the agent's output between them."""

    backlog: int | None = None

    def __init__(self, state: RunState) -> None:
        self._decoders = decoders()
        self._in_line = False
        self._state = state
        self._is_piped = OUTPUT.has_pipe()

    def show(self, snapshot: list[RunItem]) -> None:
        for item in snapshot:
            if isinstance(item, OutputChunk):
                text = escape_program_output(self._decoders[item.stream].decode(item.data))
                self._write(text)
                self._in_line = not text.endswith("\n") if text else self._in_line
            else:
                before, self._state = self._state, apply(self._state, item)
                for line in lines_of(item, before):
                    # An agent's last line may have no end; ours never begins inside of it.
                    self._write("\n" * self._in_line)
                    self._write(f"▸ {line.text}\n", ours=True)
                    self._in_line = False
        sys.stdout.flush()

    def _write(self, text: str, *, ours: bool = False) -> None:
        sys.stdout.write(text)
        if self._is_piped:
            OUTPUT.record_output(text.encode("utf-8", "replace"), ours=ours)

    def close(self) -> None:
        """Nothing is open."""


def lines_of(event: EventBase, before: RunState) -> list[EventLine]:
    """What is shown of an event of a run, which was so ``before``.

    No stranger's words in it steer a terminal.
    """
    if isinstance(event, RunStarted):
        return [
            EventLine(text=text, weight=Weight.QUIET) for text in header_of(apply(before, event))
        ]
    header: list[EventLine] = []
    if isinstance(event, RunResumed):
        header = [
            EventLine(text=text, weight=Weight.QUIET) for text in header_of(apply(before, event))
        ]
    line = event_line(event, zone=SystemClock().local().tzinfo, before=before)
    return (
        header
        if line is None
        else [EventLine(text=escape_control_chars(line.text), weight=line.weight), *header]
    )


def header_of(state: RunState) -> list[str]:
    """The header of a run, with the folder of its project where it keeps one.

    See docs/rules.md#files.
    """
    project = None
    if keeps_project_state(state.config):
        # Where the work tree cannot be asked any more, what else is known is still shown.
        with contextlib.suppress(RalphError, OSError):
            folder = StateFolder(folder=Path(state.state_dir))
            project = str(find_project(Path(state.workspace), folder).folder)
    return [escape_control_chars(text) for text in header_lines(state, project=project)]


def decoders() -> dict[str, codecs.IncrementalDecoder]:
    """One for each of the agent's streams, which may be cut inside of a character."""
    make = codecs.getincrementaldecoder("utf-8")
    return {stream: make(errors="replace") for stream in ("out", "err")}
