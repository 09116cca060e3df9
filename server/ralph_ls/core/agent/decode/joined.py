"""A text that comes in pieces, which is told in whole lines and kept as one.

A viewer shows what it is told line by line: a piece that ends in a word would break the line there.
So a line is held until it ends, or has grown so long that waiting is worse than a break.
"""

from __future__ import annotations

from collections import deque

from ralph_ls.core.agent.decode.said import KEPT_CHARACTERS

LONGEST_HELD = 2_000
"""Characters of a line that are held for its end; a longer one is told up to its last blank."""


class Joined:
    """One text in the making."""

    def __init__(self) -> None:
        self._pieces: deque[str] = deque()
        self._n_characters = 0
        self._held = ""

    @property
    def text(self) -> str:
        """All of it so far; of a very long one the end."""
        return "".join(self._pieces)

    def add(self, piece: str) -> str:
        """Take the next piece; give what can be told now, which may be nothing."""
        self._pieces.append(piece)
        self._n_characters += len(piece)
        while self._n_characters > KEPT_CHARACTERS and len(self._pieces) > 1:
            self._n_characters -= len(self._pieces.popleft())
        held = self._held + piece
        end = held.rfind("\n") + 1
        if not end and len(held) > LONGEST_HELD:
            end = held.rfind(" ") + 1 or len(held)
        self._held = held[end:]
        return held[:end]

    def end(self) -> tuple[str, str]:
        """The whole text and what was not told of it; the next piece begins another."""
        ended = self.text, self._held
        self._pieces.clear()
        self._n_characters, self._held = 0, ""
        return ended
