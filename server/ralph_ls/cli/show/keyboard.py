"""Keyboard: single keys and lines typed into a terminal in which a run is shown.

The terminal gives each key at once and echoes none, and is restored on every exit; only after
``kill -9`` the user types ``stty sane``. What is pasted is text and never a key. Where the process
is no foreground job, or a stream is no terminal, nothing is read and nothing is changed.
"""

from __future__ import annotations

import atexit
import codecs
import contextlib
import os
import re
import select
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, NamedTuple

ENTER, ERASE, CLEAR, CANCEL, PASTE, CHARACTER = (
    "enter",
    "erase",
    "clear",
    "cancel",
    "paste",
    "character",
)

_NAMED = {"\r": ENTER, "\n": ENTER, "\x7f": ERASE, "\x08": ERASE, "\x15": CLEAR, "\x04": CANCEL}
_SEQUENCE = re.compile(r"\x1b(?:\[[0-9;?]*[@-~]|O.)")
_BEGUN_SEQUENCE = re.compile(r"\x1b[\[O][0-9;?]*")
_PASTE_BEGINS, _PASTE_ENDS = "\x1b[200~", "\x1b[201~"
_PASTE_ON, _PASTE_OFF = "\x1b[?2004h", "\x1b[?2004l"
_SCREEN_OFF = (
    "".join(f"\x1b[?{mode}l" for mode in (1000, 1002, 1003, 1004, 1006, 1015, 2004, 2048, 1049))
    + "\x1b[<u\x1b[?25h\x1b[0m"
)
"""Ends reports of mouse, focus, paste and size, the second screen and long key codes."""

IDLE = 0.3
"""Seconds between two looks at whether this process is in the foreground again."""

PATIENCE = 1.0
"""Seconds that the end waits for a key's action; then it is left behind."""


class Key(NamedTuple):
    """One key, or pasted text."""

    kind: str
    text: str = ""


class KeyParser:
    """Keys of the bytes that a terminal sends; arrows and other sequences are ignored."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._held = ""
        self._pasted: str | None = None

    def feed(self, data: bytes) -> list[Key]:
        """The keys completed by these bytes."""
        self._held += self._decoder.decode(data)
        found: list[Key] = []
        while self._held and (taken := self._take(found)):
            self._held = self._held[taken:]
        return found

    def _take(self, found: list[Key]) -> int:
        """Add the next key, if it is complete; how many characters that took."""
        held = self._held
        if self._pasted is not None:
            return self._take_pasted(found)
        if held.startswith(_PASTE_BEGINS):
            self._pasted = ""
            return len(_PASTE_BEGINS)
        if held[0] != "\x1b":
            self._add(held[0], found)
            return 1
        if (whole := _SEQUENCE.match(held)) is not None:
            return whole.end()
        if _BEGUN_SEQUENCE.fullmatch(held):
            return 0
        found.append(Key(CANCEL))
        return 1

    def _take_pasted(self, found: list[Key]) -> int:
        end = self._held.find(_PASTE_ENDS)
        if end < 0:
            return 0
        words = " ".join(self._held[:end].split())
        found.append(Key(PASTE, "".join(one for one in words if one.isprintable())))
        self._pasted = None
        return end + len(_PASTE_ENDS)

    def _add(self, character: str, found: list[Key]) -> None:
        if character in _NAMED:
            found.append(Key(_NAMED[character]))
        elif character.isprintable():
            found.append(Key(CHARACTER, character))


class Keyboard:
    """A thread that reads keys and hands them over, from ``start`` to ``close``."""

    def __init__(self, handle: Callable[[Key], None]) -> None:
        self._handle = handle
        self._saved: list[Any] | None = None
        self._before: list[Any] | None = None
        self._is_closed = threading.Event()
        self._handlers: dict[int, Any] = {}
        self._thread = threading.Thread(target=self._read, name="keyboard", daemon=True)

    def start(self) -> None:
        """Read keys from now on; call it in the main thread, where ``can_read_keys``."""
        self._wake_read, self._wake_write = os.pipe()
        self._set_mode()
        atexit.register(self.restore)
        handlers = {"SIGTSTP": self._suspend, "SIGTERM": self._end, "SIGHUP": self._end}
        for name, handler in handlers.items():
            number = getattr(signal, name)
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._handlers[number] = signal.signal(number, handler)
        self._thread.start()

    def close(self) -> None:
        """Restore the terminal; keys that nobody read are discarded."""
        if self._is_closed.is_set():
            return
        self._is_closed.set()
        self.restore()
        atexit.unregister(self.restore)
        for number, before in self._handlers.items():
            signal.signal(number, before)
        os.write(self._wake_write, b"x")
        if threading.current_thread() is not self._thread:
            self._thread.join(PATIENCE)

    def restore(self) -> None:
        """Let the terminal be as it was."""
        import termios

        saved, self._saved = self._saved, None
        if saved is not None and is_foreground():
            with contextlib.suppress(OSError, termios.error, ValueError):
                descriptor = sys.stdin.fileno()
                # Without waiting for output: the reader may have stopped the terminal.
                termios.tcsetattr(descriptor, termios.TCSANOW, saved)
                termios.tcflush(descriptor, termios.TCIFLUSH)
                self._write(_PASTE_OFF)

    def repair(self) -> None:
        """Undo what another program, which was killed, left in the terminal."""
        import termios

        if self._before is not None and is_foreground():
            with contextlib.suppress(OSError, termios.error, ValueError):
                termios.tcsetattr(sys.stdin.fileno(), termios.TCSANOW, self._before)
                self._write(_SCREEN_OFF)

    def _set_mode(self) -> None:
        import termios

        with contextlib.suppress(OSError, termios.error):
            descriptor = sys.stdin.fileno()
            saved = termios.tcgetattr(descriptor)
            wanted = termios.tcgetattr(descriptor)
            wanted[3] &= ~(termios.ICANON | termios.ECHO)
            wanted[6][termios.VMIN], wanted[6][termios.VTIME] = 1, 0
            termios.tcsetattr(descriptor, termios.TCSANOW, wanted)
            self._saved = self._before = saved
            self._write(_PASTE_ON)

    def _write(self, sequence: str) -> None:
        descriptor = sys.stdout.fileno()
        if select.select([], [descriptor], [], 0)[1]:
            os.write(descriptor, sequence.encode())

    def _suspend(self, number: int, frame: FrameType | None) -> None:
        """Ctrl-Z: the shell gets its terminal, and we get ours again with ``fg``."""
        del number, frame
        # Without a mode of ours, another process has the terminal.
        has_terminal = self._saved is not None
        self.restore()
        os.kill(os.getpid(), signal.SIGSTOP)
        if has_terminal:
            self._resume()

    def _resume(self) -> None:
        if self._saved is None and not self._is_closed.is_set() and is_foreground():
            self._set_mode()

    def _end(self, number: int, frame: FrameType | None) -> None:
        """Restore the terminal, then do what would have been done without us."""
        del frame
        self.restore()
        signal.signal(number, self._handlers[number])
        os.kill(os.getpid(), number)

    def _read(self) -> None:
        parser, descriptor = KeyParser(), sys.stdin.fileno()
        while not self._is_closed.is_set():
            if not is_foreground():
                # A background job that reads is stopped by the system.
                select.select([self._wake_read], [], [], IDLE)
                continue
            self._resume()
            ready, _, _ = select.select([descriptor, self._wake_read], [], [], IDLE)
            if descriptor not in ready or not is_foreground():
                continue
            try:
                data = os.read(descriptor, 4096)
            except OSError:
                return
            if not data:
                return
            for key in parser.feed(data):
                if not self._is_closed.is_set():
                    self._handle(key)


def can_read_keys() -> bool:
    """Whether this process is the foreground job of a terminal that can be read and drawn on."""
    if sys.platform == "win32" or os.environ.get("TERM", "dumb") == "dumb":
        return False
    return sys.stdin.isatty() and sys.stdout.isatty() and is_foreground()


def is_foreground() -> bool:
    """Whether this process is of the terminal's foreground job."""
    try:
        return os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except (OSError, ValueError):
        return False
