"""The settings of ``review_points``: where a run holds until a person has looked (SPEC §9; S48)."""

from __future__ import annotations

from pydantic import Field

from ralph_ls.protocol.base import StrictWireModel


class ReviewPointsConfig(StrictWireModel):
    """Where the run parks for a person to approve what was done; nowhere by default."""

    every: int = Field(default=0, ge=0)
    """After every so many iterations; 0 is off."""
    after_tasks: tuple[str, ...] = ()
    """When one of these tasks is done, named by its id or its title."""
