"""Settings of plans that ``bd`` keeps; apart from ``protocol.config``, which holds them all."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ralph_ls.protocol.base import StrictWireModel

IssueId = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$")]
"""The id of an issue, which never looks like a flag."""


class BeadsConfig(StrictWireModel):
    """Which issues of ``bd`` a run works on."""

    parent: IssueId | None = None
    """Only the parts of this issue, and their parts; None: all issues."""
