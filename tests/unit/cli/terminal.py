"""The real ``ralph`` in a separate terminal: what it writes there, raw, and keys one types."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import termios
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.engine.forked_ralph import ForkedProcess, fork_server
from tests.engine.project_builder import PATIENCE

STYLE = re.compile(r"\x1b\[[0-9;]*m|\r")
MOVE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
CTRL_C = "\x03"
CTRL_D = "\x04"


class Terminal:
    """A process whose standard streams are one terminal, which it controls."""

    def __init__(self, process: ForkedProcess, master: int) -> None:
        self.process = process
        self.master = master
        self._raw = b""
        self._whole_lines = ""
        self._n_bytes_of_lines = 0

    @property
    def raw(self) -> str:
        """All that was written so far, with its control sequences."""
        return self._raw.decode("utf-8", errors="replace")

    @property
    def text(self) -> str:
        """The same without control sequences; whatever moves the cursor begins a line."""
        # No sequence and no character spans two lines, and a panel is drawn hundreds of times.
        begun = self._raw.rfind(b"\n") + 1
        self._whole_lines += _without_sequences(self._raw[self._n_bytes_of_lines : begun])
        self._n_bytes_of_lines = begun
        return self._whole_lines + _without_sequences(self._raw[begun:])

    def type(self, keys: str) -> None:
        os.write(self.master, keys.encode())

    def close(self) -> None:
        """Close the window: nobody reads there any more, and the process is notified."""
        os.dup2(os.open(os.devnull, os.O_RDWR), self.master)

    def wait_for(self, words: str) -> None:
        """Read until these words appear."""
        while words not in self.text:
            assert self._read(), f"{words!r} never came: {self.text!r}"

    def wait_for_more(self) -> None:
        """Read what comes next."""
        assert self._read(), f"nothing more came: {self.text!r}"

    def wait_for_match(self, pattern: str) -> None:
        """Read until a line begins like this; a busy machine may leave out any one picture."""
        while re.search(pattern, self.text, re.MULTILINE) is None:
            assert self._read(), f"{pattern!r} never came: {self.text!r}"

    def wait(self) -> int:
        """Read to the end, and give the exit code."""
        while self._read():
            pass
        return self.process.wait(PATIENCE)

    def _read(self) -> bool:
        try:
            data = os.read(self.master, 65536)
        except OSError:
            # This is how Linux says that nobody has the terminal open any more.
            return False
        self._raw += data
        return bool(data)


def _without_sequences(raw: bytes) -> str:
    return MOVE.sub("\n", STYLE.sub("", raw.decode("utf-8", errors="replace")))


@contextmanager
def in_terminal(
    folder: Path,
    *arguments: str,
    columns: int = 100,
    environment: Mapping[str, str] | None = None,
) -> Iterator[Terminal]:
    """``ralph`` in a terminal; what is left of it at the end of the block is killed."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))
    told = {**os.environ, "TERM": "xterm", **(environment or {})}
    process = fork_server().fork(folder, arguments, told, slave, slave, slave)
    os.close(slave)
    try:
        yield Terminal(process, master)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait(PATIENCE)
        process.close()
        os.close(master)
