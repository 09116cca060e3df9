"""What the JSON lines of a program mean: the table ``[agents.NAME.output]``.

Each line that such a program prints is one JSON object, which a field of its own tells the kind of.
The defaults are the words that a program would use which was written for this.
"""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from ralph_ls.protocol.base import StrictWireModel

_LONGEST_PATH = 200


def _require_names(path: str) -> str:
    if not path or len(path) > _LONGEST_PATH or not all(path.split(".")):
        raise ValueError(
            f"{path!r} is no path to a field; write its names with a dot between them, such as "
            "message.text"
        )
    return path


FieldPath = Annotated[str, AfterValidator(_require_names)]
"""The names of a field and of what it lies in, from the outside, with a dot between them; a number
counts the elements of a list from 0."""

FieldPaths = tuple[FieldPath, ...]
"""Where to look; the first place where a record has something counts."""


class Counting(StrEnum):
    """What the counts of one record are counted from."""

    RECORD = "record"
    """Each has its own, so they are added up."""
    TOTAL = "total"
    """Each has all so far, so the last one holds."""


class JsonLinesKinds(StrictWireModel):
    """Which kinds of records mean what; a kind that is not among them says nothing."""

    text: tuple[str, ...] = ("text",)
    """The agent says something, whole."""
    text_part: tuple[str, ...] = ("text_part",)
    """It says a piece of something; pieces that follow each other are one text."""
    tool_call: tuple[str, ...] = ("tool_call",)
    """A tool is called."""
    tool_result: tuple[str, ...] = ("tool_result",)
    """A call came back."""
    usage: tuple[str, ...] = ("usage",)
    """What was used."""
    error: tuple[str, ...] = ("error",)
    """Something went wrong, which need not be the end."""
    result: tuple[str, ...] = ("result",)
    """The end. Without one the agent has failed, unless there is no such kind: an empty list."""
    session: tuple[str, ...] = ("session",)
    """Which session this is."""


class JsonLinesFields(StrictWireModel):
    """Where in a record things stand."""

    text: FieldPaths = ("text",)
    """What is said."""
    call: FieldPaths = ("id",)
    """What joins a call and what it came to; without one, the oldest call that is open."""
    tool: FieldPaths = ("tool", "name")
    """The tool's name."""
    summary: FieldPaths = ("summary",)
    """What it is used on; an object of parameters is told by the one that says most."""
    file: FieldPaths = ("file",)
    """The file that a call wrote."""
    ok: FieldPaths = ("ok", "success")
    """Whether a call, or the run, went well; where nothing is said, it did."""
    failed: FieldPaths = ("failed", "is_error")
    """The opposite: true, another number than 0, or a text."""
    message: FieldPaths = ("message", "error.message", "error")
    """What went wrong, in words."""
    input_tokens: FieldPaths = ("input_tokens", "usage.input_tokens")
    """Tokens that the model read."""
    output_tokens: FieldPaths = ("output_tokens", "usage.output_tokens")
    """Tokens that it wrote."""
    cached_tokens: FieldPaths = ("cached_tokens", "usage.cached_tokens")
    """Tokens that a cache gave."""
    cost_usd: FieldPaths = ("cost_usd", "usage.cost_usd")
    """Dollars."""
    turns: FieldPaths = ("turns", "usage.turns")
    """How often the model was asked."""
    session_id: FieldPaths = ("session_id",)
    """The session, in a record of it or in the result."""
    model: FieldPaths = ("model",)
    """The model, in the same records."""


class JsonLinesConfig(StrictWireModel):
    """How the records of a program are read."""

    kind: FieldPath = "type"
    """The field that tells the kind of a record."""
    kinds: JsonLinesKinds = Field(default_factory=JsonLinesKinds)
    fields: JsonLinesFields = Field(default_factory=JsonLinesFields)
    counting: Counting = Counting.RECORD
    """Of the records of usage; a result's counts are always those of the whole process."""
    input_has_cached: bool = False
    """Whether the input tokens hold those that a cache gave."""

    @model_validator(mode="after")
    def _require_one_meaning(self) -> JsonLinesConfig:
        named = self.kinds.model_dump()
        counted = Counter(kind for kinds in named.values() for kind in set(kinds))
        for kind, count in counted.items():
            if count > 1:
                meanings = " and ".join(name for name, kinds in named.items() if kind in kinds)
                raise ValueError(f"records of the kind {kind!r} cannot mean {meanings}; keep one")
        return self
