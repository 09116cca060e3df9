"""Text of strangers for people to read: nothing in it may steer a terminal, or hide.

Titles, reasons and settings come out of repositories and from agents. What is made visible here is
named by its code. It must never know what the text is about.
"""

from __future__ import annotations

import re

_CONTROL_CHARS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters but tab and line feed, further line ends, marks that turn the order of text,
half characters."""

_CONTROL_CHARS_IN_OUTPUT = re.compile(
    "(\x1b\\[[0-9;:]*m|\r)|[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""The same, but for colours and for what a progress bar needs."""

_CONTROL_CHARS_IN_JSON = re.compile(
    "[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
"""The same where those below U+0020 are escaped already, and every mark of direction."""


def escape_control_chars(text: str) -> str:
    """The text for a terminal: it can move no cursor, set no title and turn no word around."""
    return _CONTROL_CHARS.sub(lambda match: _named(match[0]), text)


def escape_program_output(text: str) -> str:
    """What a program printed, for a terminal or a pipe: colours stay, nothing else steers."""
    return _CONTROL_CHARS_IN_OUTPUT.sub(lambda match: match[1] or _named(match[0]), text)


def escape_json(text: str) -> str:
    """JSON that means the same, and is harmless to show on a terminal."""
    return _CONTROL_CHARS_IN_JSON.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def escape_nonprintable(text: str) -> str:
    """The text for somebody who decides by it: every character that has no shape is named."""
    return "".join(
        character if character in "\n\t" or character.isprintable() else _named(character)
        for character in text
    )


def _named(character: str) -> str:
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
