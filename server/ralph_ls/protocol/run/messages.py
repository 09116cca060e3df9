"""What an agent says while it works, decoded from its stream: for people who watch, live.

They are in ``messages.jsonl`` beside the journal and are never folded: no decision is taken on
them. Each line names the start and where in the agent's output it was read.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Literal, Union, get_args

import msgspec
from pydantic import Field, GetCoreSchemaHandler, TypeAdapter
from pydantic_core import CoreSchema, core_schema

from ralph_ls.protocol.base import DEFERRED
from ralph_ls.protocol.run.report import Usage


class ToolState(StrEnum):
    """How far a tool call is."""

    STARTED = "started"
    DONE = "done"
    FAILED = "failed"


class FileAction(StrEnum):
    """What the agent says it did to a file."""

    READ = "read"
    CREATED = "created"
    CHANGED = "changed"
    DELETED = "deleted"


class WireStruct(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A ``WireModel`` that costs a tenth to make and to write; unknown fields are ignored.

    An agent's stream gives millions of messages, each of which is written at once. pydantic knows
    a struct as a typed dictionary: it reads structs and generates their JSON schema.
    """

    EARLIER_NAMES: ClassVar[dict[str, str]] = {}
    """Field to the name that files of earlier versions have for it."""

    @classmethod
    def __get_pydantic_core_schema__(
        cls, _source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        fields = {}
        for field in msgspec.structs.fields(cls):
            is_required, may_be_unset = field.required, field.default is msgspec.UNSET
            schema = handler.generate_schema(
                _without_unset(field.type) if may_be_unset else field.type
            )
            if not is_required and not may_be_unset:
                schema = core_schema.with_default_schema(schema, default=field.default)
            names: list[list[str | int]] = [[field.name]]
            if field.name in cls.EARLIER_NAMES:
                names.append([cls.EARLIER_NAMES[field.name]])
            fields[field.name] = core_schema.typed_dict_field(
                schema,
                required=is_required,
                validation_alias=names if len(names) > 1 else None,
            )
        return _struct_schema(
            cls,
            core_schema.typed_dict_schema(fields, cls=cls, extra_behavior="ignore"),
            lambda message: {
                name: value
                for name in fields
                if (value := getattr(message, name)) is not msgspec.UNSET
            },
        )


def _without_unset(field_type: Any) -> Any:
    """The type of a field that is left out of a line where it is unset."""
    kinds = [kind for kind in get_args(field_type) if kind is not msgspec.UnsetType]
    return Union[tuple(kinds)]  # noqa: UP007


def _struct_schema(
    cls: type[msgspec.Struct], schema: CoreSchema, to_inner: Callable[[Any], Any]
) -> CoreSchema:
    """The schema of a struct that is read and written as ``schema`` describes."""

    def read(value: Any, validate: core_schema.ValidatorFunctionWrapHandler) -> Any:
        return value if isinstance(value, cls) else cls(**dict(validate(value)))

    return core_schema.no_info_wrap_validator_function(
        read,
        schema,
        # Only a struct of ours has a name in the JSON schema.
        ref=f"{cls.__module__}.{cls.__qualname__}" if issubclass(cls, WireStruct) else None,
        serialization=core_schema.plain_serializer_function_ser_schema(
            to_inner, return_schema=schema
        ),
    )


class MessageBase(WireStruct, frozen=True, kw_only=True, gc=False):
    """What every message carries."""

    EARLIER_NAMES: ClassVar[dict[str, str]] = {"start": "iteration"}

    start: int
    """Of which start of an agent it is; files of earlier versions call it the iteration."""
    offset: int = 0
    """Bytes of the agent's standard output before the piece that this was read from."""


class TextMessage(MessageBase, frozen=True, kw_only=True, gc=False):
    """Words of the agent; of a plain-text agent, all that it prints."""

    kind: Literal["text"] = "text"
    text: str


class ToolMessage(MessageBase, frozen=True, kw_only=True, gc=False):
    """The agent uses a tool; the message with the same ``call`` that comes later has its end."""

    kind: Literal["tool"] = "tool"
    call: str = ""
    """The agent's own id of the call, empty where it has none."""
    name: str
    summary: str = ""
    """What it is used on, in one line: a command, a path, a pattern."""
    state: ToolState = ToolState.STARTED
    seconds: float | msgspec.UnsetType = msgspec.UNSET
    """How long it took, of one that has ended; unset where its beginning was not seen."""


class FileMessage(MessageBase, frozen=True, kw_only=True, gc=False):
    """The agent's tool touched a file; a claim like all it says."""

    kind: Literal["file"] = "file"
    path: str
    action: FileAction


class TodoItem(WireStruct, frozen=True, kw_only=True, gc=False):
    """One line of the agent's own to-do list."""

    text: str
    state: Literal["pending", "inProgress", "done"] = "pending"


class TodoMessage(MessageBase, frozen=True, kw_only=True, gc=False):
    """The agent's own to-do list now; it is not the plan."""

    kind: Literal["todo"] = "todo"
    items: tuple[TodoItem, ...] = ()


class UsageCounts(
    msgspec.Struct, frozen=True, kw_only=True, gc=False, rename="camel", omit_defaults=True
):
    """The counts of a ``Usage``, as a struct; a test compares their fields."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    cost_usd: float | None = None
    turns: int | None = None
    context_tokens: int | None = None
    context_window: int | None = None
    estimated: bool | None = None

    def to_usage(self) -> Usage:
        """The counts for the loop."""
        return Usage.model_validate(msgspec.to_builtins(self))

    @classmethod
    def __get_pydantic_core_schema__(
        cls, _source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return _struct_schema(cls, handler.generate_schema(Usage), cls.to_usage)


class UsageMessage(MessageBase, frozen=True, kw_only=True, gc=False):
    """What the agent has consumed so far in this iteration."""

    kind: Literal["usage"] = "usage"
    usage: UsageCounts


AgentMessage = Annotated[
    TextMessage | ToolMessage | FileMessage | TodoMessage | UsageMessage,
    Field(discriminator="kind"),
]
"""The closed union of messages; a reader passes over a line of any other kind."""

MESSAGE_ADAPTER: TypeAdapter[AgentMessage] = TypeAdapter(AgentMessage, config=DEFERRED)
MESSAGE_TYPES: tuple[type[MessageBase], ...] = (
    TextMessage,
    ToolMessage,
    FileMessage,
    TodoMessage,
    UsageMessage,
)
