"""What every reader of records has in common: lines from bytes, and the sums that all keep.

Those of ``claude`` and ``codex`` have a frame of their own, since most of their lines need no
reading at all. It must never know in which records an agent speaks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from ralph_ls.core.agent.decode.lines import LineSplitter
from ralph_ls.core.agent.decode.said import Errors, Said
from ralph_ls.core.agent.decode.told import Teller, Told


class LineDecoder(ABC):
    """Reads one process of an agent that prints a record a line."""

    def __init__(self, start: int, *, folder: str = "") -> None:
        """``folder`` is the one it works in, from which paths are told."""
        self._folder = folder
        self._lines = LineSplitter()
        self._tell = Teller(start)
        self._said = Said()
        self._asked = ""
        self._errors = Errors()
        self._denied: list[str] = []
        self._session_id: str | None = None
        self._model: str | None = None

    def feed(self, data: bytes) -> list[Told]:
        """The messages of the lines that these bytes complete."""
        self._read(*self._lines.feed(data))
        return self._tell.take()

    def finish(self) -> list[Told]:
        """Those of a last line without an end, and of what was still being said."""
        self._read(*self._lines.finish())
        self._end()
        return self._tell.take()

    def _read(self, offset: int, lines: list[bytes]) -> None:
        for line in lines:
            self._tell.offset = offset
            offset += len(line)
            self._take_line(line)

    @abstractmethod
    def _take_line(self, line: bytes) -> None:
        """Take one line, its end included."""

    def _end(self) -> None:  # noqa: B027
        """No more will come; for those that hold something back."""
