"""The parents of every model: one for reports, one for requests.

Events and snapshots ignore unknown fields, because a run outlives updates of its viewers.
Commands and settings forbid them, because a misspelt order must not be half obeyed.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, PlainSerializer
from pydantic.alias_generators import to_camel


def to_wire_time(moment: datetime) -> str:
    """Write an instant as the wire has it: UTC, milliseconds, ``Z``."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _require_zone(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise ValueError("a time needs its zone, such as 2026-01-31T12:00:00Z")
    return moment


Timestamp = Annotated[
    datetime,
    AfterValidator(_require_zone),
    PlainSerializer(to_wire_time, return_type=str, when_used="json"),
]
"""An instant, always with its zone; ``2026-01-31T12:00:00.000Z`` in JSON."""


DEFERRED = ConfigDict(defer_build=True)
"""For a ``TypeAdapter`` of a union, which has no settings."""


class WireModel(BaseModel):
    """A report: frozen, camelCase on the wire, unknown fields ignored."""

    model_config = ConfigDict(
        frozen=True,
        extra="ignore",
        alias_generator=to_camel,
        populate_by_name=True,
        ser_json_inf_nan="null",
        # Few processes need every model: each is built when it is first used, in whatever thread.
        # So a default that is a model is made by ``model_construct``, which does not use it yet.
        defer_build=True,
    )

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        """Return the report itself: it is frozen, and pydantic copies a default for each model."""
        return self


class StrictWireModel(WireModel):
    """Something asked: as ``WireModel``, but an unknown field is an error."""

    model_config = ConfigDict(extra="forbid")


class WorkspaceParams(StrictWireModel):
    """What requests of an editor about one work tree carry."""

    workspace: str | None = None
    """URI of the workspace folder that is meant; it may be left out where only one is open."""
