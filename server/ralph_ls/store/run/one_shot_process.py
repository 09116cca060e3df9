"""One-shot process: one of our processes that an editor waits for and may cancel.

Unlike a launched engine it lives no longer than its caller. It gets its request as one line on
standard input, which stays open until it is cancelled; when that closes, also because the caller
died, it ends with all that it started.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, cast

from ralph_ls.protocol.errors import RalphError
from ralph_ls.store.external.supervisor import end_family
from ralph_ls.store.run.launch import ERROR_TAIL, command_line, parse_refusal

PATIENCE = 10.0
"""Seconds it has to end its processes before it is killed."""


class OneShotProcess:
    """A started process; ``run`` may be called once."""

    def __init__(
        self, arguments: Sequence[str], *, cwd: Path, environment: Mapping[str, str]
    ) -> None:
        flags = 0
        if sys.platform == "win32":
            flags = subprocess.CREATE_NEW_PROCESS_GROUP
        self._process = subprocess.Popen(
            command_line(arguments),
            cwd=cwd,
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # Ctrl-C in the terminal is for the caller, which then closes standard input.
            start_new_session=sys.platform != "win32",
            creationflags=flags,
        )
        self._stdin = cast("IO[bytes]", self._process.stdin)

    @property
    def pid(self) -> int:
        return self._process.pid

    def run(self, request: bytes = b"") -> bytes:
        """Returns its output; blocks until it has ended.

        ``request`` is one line. Raises the ``RalphError`` that it reported, or ``RalphError``
        where it failed without one.
        """
        errors: list[bytes] = []
        stderr = cast("IO[bytes]", self._process.stderr)
        reader = threading.Thread(
            target=lambda: errors.append(stderr.read()), name="errand errors", daemon=True
        )
        reader.start()
        with contextlib.suppress(OSError, ValueError):
            self._stdin.write(request.rstrip(b"\n") + b"\n")
            self._stdin.flush()
        with cast("IO[bytes]", self._process.stdout) as stdout:
            printed = stdout.read()
        code = self._process.wait()
        reader.join()
        stderr.close()
        self._close()
        if code != 0:
            raise _error_of(b"".join(errors).decode("utf-8", errors="replace"), code)
        return printed

    def cancel(self) -> None:
        """Cancel it; returns at once, and ``run`` then raises."""
        self._close()
        threading.Thread(target=self._force_end, name="errand end", daemon=True).start()

    def _force_end(self) -> None:
        try:
            self._process.wait(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            end_family(self._process, "ralph")

    def _close(self) -> None:
        with contextlib.suppress(OSError):
            self._stdin.close()


def _error_of(errors: str, code: int) -> RalphError:
    refusal = parse_refusal(errors)
    if refusal is not None:
        return refusal
    lines = errors.strip()[-ERROR_TAIL:].splitlines()
    last = lines[-1].removeprefix("ralph: ") if lines else "no output"
    return RalphError(f"the process ended with {code}: {last}; try again")
