"""What every event of a run carries.

Apart from the events themselves, so that each group of them can stand in a file of its own.
"""

from __future__ import annotations

from pydantic import Field

from ralph_ls.protocol.base import Timestamp, WireModel
from ralph_ls.protocol.version import SCHEMA_VERSION


class EventBase(WireModel):
    """What every event carries."""

    v: int = SCHEMA_VERSION
    seq: int = Field(ge=1)
    at: Timestamp
    run: str
