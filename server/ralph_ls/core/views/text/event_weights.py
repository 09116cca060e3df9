"""Event line: the text of an event for a terminal, and how important it is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Weight(StrEnum):
    """Importance of a line."""

    QUIET = "quiet"
    NORMAL = "normal"
    GOOD = "good"
    WARNING = "warning"
    BAD = "bad"


@dataclass(frozen=True, slots=True, kw_only=True)
class EventLine:
    """Text and importance of one event."""

    text: str
    weight: Weight = Weight.NORMAL
