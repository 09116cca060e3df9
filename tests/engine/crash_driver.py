"""Calling ``crashing_engine``: engines that die where a test wants them to."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path

from tests.engine.forked_ralph import fork_server

KILLED = -signal.SIGKILL
"""What an engine that killed itself ends with."""


@dataclass(frozen=True)
class Driver:
    """Runs one engine after the other; what they print is appended to ``output``."""

    output: Path

    def ralph(
        self, folder: Path, *arguments: str, kill_at: int = 0, n_bytes: int | None = None
    ) -> int:
        """The exit code of ``ralph``, which kills itself with the event of this number.

        ``n_bytes``: how much of that event's line is written before; the whole line if None.
        """
        words = [str(kill_at), "" if n_bytes is None else str(n_bytes), *arguments]
        with Path(os.devnull).open("rb") as nothing, self.output.open("ab") as output:
            process = fork_server().fork(
                folder,
                words,
                os.environ,
                *(nothing.fileno(), output.fileno(), output.fileno()),
                module="tests.engine.crashing_engine",
            )
        try:
            return process.wait()
        finally:
            process.close()
