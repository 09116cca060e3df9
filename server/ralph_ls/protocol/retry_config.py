"""The settings of ``retry``: how long an overloaded model is waited for (SPEC §9; issue 9)."""

from __future__ import annotations

from pydantic import Field

from ralph_ls.protocol.base import StrictWireModel
from ralph_ls.protocol.setting_types import Duration


class RetryConfig(StrictWireModel):
    """Waits while the agent's model is overloaded or out of reach; each is twice the one before."""

    tries: int = Field(default=10, ge=0)
    """Waits in a row, after which it counts as a crash; 0: it is one at once."""
    first: Duration = 10.0
    """Seconds of the first wait."""
    longest: Duration = 300.0
    """Seconds that no wait is longer than."""
