"""How a process is started: its standard input, its group, and why it could not be started."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def stdin_for(data: bytes | None) -> tuple[int, int | None]:
    """What the process reads from, and where we write: a real pipe, which we make.

    Before Python 3.12 asyncio would make a socket, and ``cat /dev/stdin`` cannot open one. On
    Windows only asyncio can make a pipe that it can write to.
    """
    if data is None:
        return subprocess.DEVNULL, None
    if sys.platform == "win32":
        return subprocess.PIPE, None
    return os.pipe()


def own_group() -> dict[str, Any]:
    """The arguments which give the process a group, and on POSIX a session, of its own."""
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"start_new_session": True}


def why_not_started(
    argv: Sequence[str], cwd: Path, error: OSError | ValueError | subprocess.SubprocessError
) -> str:
    """What to do about a program that the system refuses to start, in words."""
    program = argv[0]
    if isinstance(error, subprocess.SubprocessError):
        return f"{program} cannot be started: {error}; try again"
    if isinstance(error, ValueError):
        return f"{program} cannot be started: {error}; mend the agent's argv or env"
    match error.errno:
        case errno.ENOENT | errno.ENOTDIR if not cwd.is_dir():
            return f"{program} cannot be started in {cwd}: there is no such folder"
        case errno.ENOENT if shutil.which(program) is not None:
            return (
                f"{program} cannot be started: the interpreter that its first line names "
                "does not exist; mend that line, or install the interpreter"
            )
        case errno.ENOENT | errno.ENOTDIR:
            return f"{program} does not exist; mend the agent's argv, or choose another agent"
        case errno.EACCES | errno.EPERM:
            return f"{program} may not be executed; run: chmod +x {program}"
        case errno.E2BIG:
            return (
                f"{program} cannot be started: its arguments and environment are too long; "
                'give the prompt with prompt = "stdin" or "file"'
            )
        case errno.ENOEXEC:
            return (
                f"{program} is no program for this system; "
                "a script needs a first line such as #!/bin/sh"
            )
        case _:
            return f"{program} cannot be started: {error.strerror}; try again when that is mended"
