"""Files that a living process writes, which no other one may remove.

Logs of several clones lie in one folder, and a start of one removes old ones: an agent that says
nothing for hours must not lose its log for that. The system lets go of a dead process's files.
"""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

if sys.platform != "win32":
    import fcntl


def hold(descriptor: int) -> None:
    """Mark an open file as in use until it is closed; where that cannot be, it is not marked."""
    # On Windows nobody can remove a file that is open.
    if sys.platform != "win32":
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)


def remove_unheld(path: Path) -> bool:
    """Remove a file unless somebody holds it; whether it is gone. Raises OSError."""
    if sys.platform == "win32":
        path.unlink()
        return True
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    else:
        path.unlink()
        return True
    finally:
        os.close(descriptor)
