"""What the client prints: the protocol's messages as they come, and a record of its own for each
step that the messages do not show. One JSON object a line.
"""

from __future__ import annotations

import json
import sys
from typing import Any, BinaryIO

OWN = "client"
"""The key that only our own records have; its value says what they tell."""

MOST_NOISE = 50
"""Lines of an agent that are no messages; more are not told."""

LONGEST_NOISE = 2_000
"""Characters."""


class Telling:
    """Standard output."""

    def __init__(self, out: BinaryIO | None = None) -> None:
        self._out = sys.stdout.buffer if out is None else out
        self._n_noise = 0

    def message(self, line: bytes) -> None:
        """A message of the agent, as it came."""
        self._out.write(line)
        self._out.write(b"\n")
        self._out.flush()

    def own(self, what: str, **more: Any) -> None:
        """A record of our own."""
        self.message(json.dumps({OWN: what, **more}, ensure_ascii=True).encode())

    def noise(self, line: bytes) -> None:
        """Something that the agent printed and that is no message."""
        self._n_noise += 1
        text = line.decode("utf-8", errors="replace").strip()
        if text and self._n_noise <= MOST_NOISE:
            self.own("noise", text=text[:LONGEST_NOISE])
