"""Following a whole run: its events, and the agent's output between them, in order.

What ``ralph run`` and ``ralph watch`` show is read from the files like any other viewer's, so a
terminal that stands still never holds up the engine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ralph_ls.protocol.events import (
    AgentExited,
    AgentStarted,
    Event,
    IterationEnded,
    RunEnded,
    UnknownEvent,
)
from ralph_ls.store.follow import Follower, Tail
from ralph_ls.store.layout import RunFiles

CATCH_UP = 8192
"""Bytes of a running agent's earlier output that a late viewer is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """Bytes that the agent printed, redacted; they may end inside a character."""

    stream: str
    data: bytes


Seen = Event | UnknownEvent | Output


class RunFollower(Follower[Seen]):
    """Yields what happens in a run, the agent's output where it belongs between the events."""

    def __init__(
        self,
        files: RunFiles,
        *,
        is_live: Callable[[], bool],
        after_seq: int = 0,
        output: bool = True,
        catch_up: int = CATCH_UP,
    ) -> None:
        """``catch_up``: how many bytes of earlier output are shown of an agent that still runs."""
        super().__init__(files.journal, is_live=is_live, after_seq=after_seq)
        self._files = files
        self._output = output
        self._catch_up = catch_up
        self._tails: tuple[tuple[str, Tail], ...] = ()

    def _look(self) -> list[Seen]:
        seen: list[Seen] = []
        for event in self._journal.read():
            self._follow_agent(event, seen)
        seen.extend(self._read_output())
        return seen

    def _follow_agent(self, event: Event | UnknownEvent, seen: list[Seen]) -> None:
        if isinstance(event, AgentExited | IterationEnded | RunEnded):
            # What an agent said that had ended by then is no news.
            seen.extend(self._read_output() if event.seq > self._after_seq else ())
            self._tails = ()
        if isinstance(event, AgentStarted) and self._output:
            self._open_tails(event)
        if event.seq > self._after_seq:
            seen.append(event)

    def _open_tails(self, event: AgentStarted) -> None:
        tails = []
        for stream in ("out", "err"):
            path = self._files.output(event.iteration, event.attempt, stream)
            behind = event.seq <= self._after_seq and path.exists()
            offset = max(0, path.stat().st_size - self._catch_up) if behind else 0
            tails.append((stream, Tail(path, offset=offset)))
        self._tails = tuple(tails)

    def _read_output(self) -> list[Seen]:
        found: list[Seen] = []
        for stream, tail in self._tails:
            while data := tail.read():
                found.append(Output(stream=stream, data=data))
        return found
