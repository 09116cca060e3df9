"""Text of strangers for people to read: nothing in it may steer a terminal, or hide.

Titles, reasons and settings come out of repositories and from agents. What is made visible here is
named by its code. It must never know what the text is about.
"""

from __future__ import annotations

import re

_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters but tab and line feed, marks that turn the order of text, half characters."""


def tame(text: str) -> str:
    """The text for a terminal: it can move no cursor, set no title and turn no word around."""
    return _STEERING.sub(lambda match: _named(match[0]), text)


def uncover(text: str) -> str:
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
