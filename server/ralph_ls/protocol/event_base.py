"""What every event of a run carries, and the two numbers of those about an iteration.

Apart from the events themselves, so that each group of them has a separate file.
"""

from __future__ import annotations

from typing import Any

from pydantic import Field

from ralph_ls.protocol.base import Timestamp, WireModel
from ralph_ls.protocol.version import SCHEMA_VERSION


class EventBase(WireModel):
    """What every event carries."""

    v: int = SCHEMA_VERSION
    seq: int = Field(ge=1)
    at: Timestamp
    run: str


def same_number(validated: dict[str, Any]) -> Any:
    """The start of an event that names none: journals were once written with one number alone."""
    return validated["iteration"]


class IterationEvent(EventBase):
    """An event of one iteration, with its two numbers.

    ``start`` is the identity: 1, 2, 3 …, one for each time an agent was started, never used again
    in a run. Files, trailers and requests go by it. ``iteration`` is what people read and limits
    count: it stays the same while starts do not count, as at a usage limit.
    """

    iteration: int = Field(ge=1)
    start: int = Field(ge=1, default_factory=same_number)


class MaybeIterationEvent(EventBase):
    """An event that may belong to an iteration; both numbers are None where it belongs to none."""

    iteration: int | None = None
    start: int | None = Field(default_factory=same_number)
