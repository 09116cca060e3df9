"""``messages.jsonl``: what the agent said, decoded, for live views; never folded (SPEC §2)."""

from __future__ import annotations

import json
import os
from pathlib import Path

from ralph_ls.store.files import PRIVATE_FILE, write_all


class MessageLog:
    """Writes the text of plain-text agents line by line, with the byte offset of each piece."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None
        self._iteration = 0
        self._offset = 0
        self._partial = b""
        self.problem: str | None = None
        """The first failure to write, in words."""

    def begin(self, iteration: int) -> None:
        """What follows belongs to this iteration."""
        self.flush()
        self._iteration = iteration
        self._offset = 0

    def write(self, data: bytes) -> None:
        """Take bytes of standard output as they come; whole lines are written at once."""
        whole, newline, rest = (self._partial + data).rpartition(b"\n")
        self._partial = rest
        if newline:
            self._write(whole + newline)

    def flush(self) -> None:
        """Write a last line that has no end."""
        if self._partial:
            rest, self._partial = self._partial, b""
            self._write(rest)

    def close(self) -> None:
        self.flush()
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _write(self, data: bytes) -> None:
        message = {
            "iteration": self._iteration,
            "offset": self._offset,
            "kind": "text",
            "text": data.decode("utf-8", errors="replace"),
        }
        self._offset += len(data)
        try:
            if self._descriptor is None:
                flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
                self._descriptor = os.open(self._path, flags, PRIVATE_FILE)
            line = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
            write_all(self._descriptor, line.encode() + b"\n")
        except OSError as error:
            if self.problem is None:
                self.problem = f"{self._path}: {error.strerror or error}"
