"""The table ``[prices."MODEL"]``: what a model costs whose agent does not tell it (SPEC §5)."""

from __future__ import annotations

from pydantic import Field

from ralph_ls.protocol.base import StrictWireModel


class PriceConfig(StrictWireModel):
    """US dollars for a million tokens of one model."""

    input: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    """Of those that go in and that no cache gave."""
    cached: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Of those that a cache gave; None: as ``input``."""
    output: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    """Of those that come out."""
