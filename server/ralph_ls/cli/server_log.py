"""Log of the language server: where it goes, how much of it is kept, and what is kept out of it.

Nothing slow is imported here: an editor waits for the start.
"""

from __future__ import annotations

import logging
import os
import stat
import sys
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ralph_ls.core.redaction.redactor import Redactor

LEVELS = {
    "error": logging.ERROR,
    "warning": logging.WARNING,
    "info": logging.INFO,
    "debug": logging.DEBUG,
}
DEFAULT_LEVEL = "info"

LARGEST_LOG = 10 * 1024 * 1024
"""Bytes; then it is moved to the same name with ``.1``, which takes the place of the one before."""

PRIVATE = 0o600


class LogUnusable(Exception):
    """The log file cannot be written; the message says why."""


def start_logging(*, level: str = DEFAULT_LEVEL, path: Path | None = None) -> None:
    """Log to ``path``, else to standard error. Raises ``LogUnusable``."""
    handler: logging.Handler
    if path is None:
        handler, head = logging.StreamHandler(sys.stderr), ""
    else:
        handler, head = _open_file(path), f"%(asctime)s [{os.getpid()}] "
    handler.setFormatter(_SafeFormatter(f"{head}%(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(handlers=[handler], level=LEVELS[level], force=True)
    # The one tells every message; the other that it was stopped while something happened.
    logging.getLogger("pygls").setLevel(logging.WARNING)
    logging.getLogger("watchdog").setLevel(logging.CRITICAL)
    logging.getLogger("asyncio").setLevel(max(LEVELS[level], logging.INFO))


def _open_file(path: Path) -> logging.Handler:
    try:
        if path.exists() and not path.is_file():
            raise LogUnusable(f"{path} is no file to write a log to")
        return _PrivateFile(path, maxBytes=LARGEST_LOG, backupCount=1, encoding="utf-8")
    except OSError as error:
        raise LogUnusable(f"{path} cannot be written: {error.strerror or error}") from error


LONGEST_RECORD = 20_000
"""Characters: what a client sent may be in a message, and may be as long as it likes."""


class _PrivateFile(RotatingFileHandler):
    """Readable by its owner alone, whatever it was before."""

    def _open(self) -> TextIOWrapper:
        # Without waiting, should it be a pipe by now.
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NONBLOCK", 0)
        descriptor = os.open(self.baseFilename, flags, PRIVATE)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise OSError("it is no regular file")
        if hasattr(os, "fchmod"):
            os.fchmod(descriptor, PRIVATE)
        return os.fdopen(descriptor, "a", encoding=self.encoding, errors="backslashreplace")


class _SafeFormatter(logging.Formatter):
    """Without secrets of the environment, and with one record never looking like two."""

    def __init__(self, pattern: str) -> None:
        super().__init__(pattern)
        self._redactor: Redactor | None = None

    def format(self, record: logging.LogRecord) -> str:
        from ralph_ls.core.redaction.redactor import Redactor, secrets_of
        from ralph_ls.core.views.model.control_chars import escape_control_chars

        if self._redactor is None:
            self._redactor = Redactor(secrets_of(os.environ))
        text = escape_control_chars(self._redactor.redact(super().format(record)))
        if len(text) > LONGEST_RECORD:
            text = f"{text[:LONGEST_RECORD]} … ({len(text)} characters)"
        # What follows the first line is a traceback, or would look like a record.
        return text.replace("\n", "\n    ")
