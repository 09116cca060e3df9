"""Control characters: escapes what could steer a terminal or hide text from its reader.

Titles, reasons and settings come from repositories and agents. Escaped characters are replaced by
their code.
"""

from __future__ import annotations

import codecs
import re

_CONTROL_CHARS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""Control characters except tab and line feed, Unicode line ends, bidirectional marks and
surrogates."""

_CONTROL_CHARS_IN_OUTPUT = re.compile(
    "(\x1b\\[[0-9;:]*m|\r)|[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""The same, except colours and the carriage return of progress bars."""

_CONTROL_CHARS_IN_JSON = re.compile(
    "[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
"""The same in JSON, where those below U+0020 are escaped already, and every direction mark."""


def escape_control_chars(text: str) -> str:
    """Escape a text for a terminal: it can move no cursor, set no title and reverse no words."""
    return _CONTROL_CHARS.sub(lambda match: _named(match[0]), text)


def escape_program_output(text: str) -> str:
    """Escape a program's output for a terminal or a pipe; colours are kept."""
    return _CONTROL_CHARS_IN_OUTPUT.sub(lambda match: match[1] or _named(match[0]), text)


def escape_json(text: str) -> str:
    """Escape JSON without changing its meaning, so that it is safe on a terminal."""
    return _CONTROL_CHARS_IN_JSON.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def escape_nonprintable(text: str) -> str:
    """Escape every character without a visible shape, for text that the user approves."""
    return "".join(
        character if character in "\n\t" or character.isprintable() else _named(character)
        for character in text
    )


class OutputText:
    """A program's output as text for a log, fed in pieces that may be cut anywhere.

    Terminal sequences such as colours are left out, each step of a progress bar becomes a line, and
    any other control character is escaped.
    """

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._held = ""

    def feed(self, data: bytes, *, final: bool = False) -> str:
        """The text of ``data``; ``final``: with what was held back of an incomplete sequence."""
        text = self._held + self._decoder.decode(data, final)
        cut = _UNFINISHED.search(text, max(0, len(text) - _LONGEST_SEQUENCE))
        at = len(text) if final or cut is None else cut.start()
        self._held = text[at:]
        lines = _TERMINAL_SEQUENCES.sub("", text[:at]).replace("\r\n", "\n").replace("\r", "\n")
        return escape_control_chars(lines)


_TERMINAL_SEQUENCES = re.compile("\x1b\\[[0-?]*[ -/]*[@-~]")
_UNFINISHED = re.compile("(?:\r|\x1b(?:\\[[0-?]*[ -/]*)?)\\Z")
_LONGEST_SEQUENCE = 64


def _named(character: str) -> str:
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
