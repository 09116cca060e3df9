"""What the JSON lines of a program mean: the table ``[agents.NAME.output]``.

Each line that such a program prints is one JSON object with a field for its kind. The defaults suit
a program that was written for this.

How an agent is started, and what it may use: the tables ``[agents.NAME]`` and ``[tools]``.

``protocol.config`` has all other settings.

The sandbox around an agent: the setting ``sandbox``, a word or a table.

It must never know any agent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any

from pydantic import AfterValidator, Field, model_validator

from ralph_ls.protocol.base import StrictWireModel
from ralph_ls.protocol.config.agent_catalog import Adapter, Dialect

_LONGEST_PATH = 200


def _require_names(path: str) -> str:
    if not path or len(path) > _LONGEST_PATH or not all(path.split(".")):
        raise ValueError(
            f"{path!r} is not a path to a field; write its names with a dot between them, such as "
            "message.text"
        )
    return path


FieldPath = Annotated[str, AfterValidator(_require_names)]
"""The names of a field and of what it lies in, from the outside, with a dot between them; a number
counts the elements of a list from 0."""

FieldPaths = tuple[FieldPath, ...]
"""Where to look; the first place where a record has something counts."""


class Counting(StrEnum):
    """What the counts of one record cover."""

    RECORD = "record"
    """Only this record, so they are added up."""
    TOTAL = "total"
    """Everything so far, so the last one wins."""


class JsonLinesKinds(StrictWireModel):
    """Which kinds of records mean what; other kinds are ignored."""

    text: tuple[str, ...] = ("text",)
    """A whole text of the agent."""
    text_part: tuple[str, ...] = ("text_part",)
    """A part of a text; consecutive parts are joined."""
    tool_call: tuple[str, ...] = ("tool_call",)
    """A tool call."""
    tool_result: tuple[str, ...] = ("tool_result",)
    """The result of a tool call."""
    usage: tuple[str, ...] = ("usage",)
    """Tokens and cost."""
    error: tuple[str, ...] = ("error",)
    """An error that need not be the end."""
    result: tuple[str, ...] = ("result",)
    """The end. Without one the agent has failed, unless this list is empty."""
    session: tuple[str, ...] = ("session",)
    """The session's id."""


class JsonLinesFields(StrictWireModel):
    """Where a record has its values."""

    text: FieldPaths = ("text",)
    """The text."""
    call: FieldPaths = ("id",)
    """The id that joins a call and its result; without one, the oldest open call."""
    tool: FieldPaths = ("tool", "name")
    """The tool's name."""
    summary: FieldPaths = ("summary",)
    """What the tool is used on; of an object, its main parameter."""
    file: FieldPaths = ("file",)
    """The file that the call wrote."""
    ok: FieldPaths = ("ok", "success")
    """Whether a call or the whole process succeeded; if missing, it did."""
    failed: FieldPaths = ("failed", "is_error")
    """Whether it failed: true, a number other than 0, or a text."""
    message: FieldPaths = ("message", "error.message", "error")
    """The error message."""
    input_tokens: FieldPaths = ("input_tokens", "usage.input_tokens")
    """Input tokens."""
    output_tokens: FieldPaths = ("output_tokens", "usage.output_tokens")
    """Output tokens."""
    cached_tokens: FieldPaths = ("cached_tokens", "usage.cached_tokens")
    """Input tokens from a cache."""
    cost_usd: FieldPaths = ("cost_usd", "usage.cost_usd")
    """Cost in US dollars."""
    turns: FieldPaths = ("turns", "usage.turns")
    """Requests to the model."""
    session_id: FieldPaths = ("session_id",)
    """The session's id, in its record or in the result."""
    model: FieldPaths = ("model",)
    """The model, in the same records."""


class JsonLinesConfig(StrictWireModel):
    """How the records of a program are read."""

    kind: FieldPath = "type"
    """The field with the kind of a record."""
    kinds: JsonLinesKinds = Field(default_factory=JsonLinesKinds)
    fields: JsonLinesFields = Field(default_factory=JsonLinesFields)
    counting: Counting = Counting.RECORD
    """What the counts of a usage record cover; those of a result always cover the whole process."""
    input_has_cached: bool = False
    """Whether input tokens include those from a cache."""

    @model_validator(mode="after")
    def _require_one_meaning(self) -> JsonLinesConfig:
        named = self.kinds.model_dump()
        counted = Counter(kind for kinds in named.values() for kind in set(kinds))
        for kind, count in counted.items():
            if count > 1:
                meanings = " and ".join(name for name, kinds in named.items() if kind in kinds)
                raise ValueError(f"the kind {kind!r} cannot mean {meanings}; keep one")
        return self


class PromptBy(StrEnum):
    """How the prompt reaches a ``command`` agent."""

    STDIN = "stdin"
    ARGUMENT = "argument"
    FILE = "file"


class AgentConfig(StrictWireModel):
    """How one agent is started."""

    adapter: Adapter | None = None
    """Which agent this table describes. Unset: the agent of that name, else your own command."""
    argv: tuple[str, ...] = ()
    """Program and arguments, instead of the usual ones.

    ``{prompt}``, ``{prompt_file}`` and ``{usage_file}`` are replaced; with one of the first two,
    the prompt is passed in no other way.
    """
    args: tuple[str, ...] = ()
    """Arguments to add."""
    prompt: PromptBy = PromptBy.STDIN
    """How the agent gets its prompt."""
    env: dict[str, str] = Field(default_factory=dict)
    """Variables to add to the agent's environment."""
    model: str | None = None
    """The model. Unset: the agent's choice."""
    system_prompt: str | None = None
    """A system prompt: by the agent's flag, or in front of the prompt if it has none."""
    dialect: Dialect | None = None
    """The format of the agent's output. Unset: the agent's own, plain text for your own command."""
    output: JsonLinesConfig | None = None
    """What the records of the dialect ``jsonl`` mean."""
    session_mode: str | None = None
    """The mode of an agent with the adapter ``acp``, by its id or name. Unset: one that asks
    nothing, if there is one."""
    login_method: str | None = None
    """How to log in to an agent with the adapter ``acp``, by the method's id."""

    @model_validator(mode="after")
    def _require_records(self) -> AgentConfig:
        if self.output is not None and self.dialect is not Dialect.JSONL:
            how = "not set" if self.dialect is None else f"{self.dialect.value!r}"
            raise ValueError(
                'output describes JSON lines, which only dialect = "jsonl" reads, but dialect is '
                f"{how}; set it, or remove output"
            )
        return self


class ToolsConfig(StrictWireModel):
    """Which tools the agent may use, by the agent's own names; they become its flags."""

    allow: tuple[str, ...] | None = None
    """The only tools it may use. Unset: all, without asking."""
    deny: tuple[str, ...] | None = None
    """Tools it may never use."""


class SandboxKind(StrEnum):
    """What restricts an agent to its work tree."""

    AUTO = "auto"
    """``bwrap`` if it works, else none; the header of the run shows which."""
    BWRAP = "bwrap"
    """Bubblewrap, on Linux: the agent sees this work tree and little else."""
    DOCKER = "docker"
    """``docker sandbox run NAME -- ARGUMENTS``."""
    SBX = "sbx"
    """``sbx run NAME -- ARGUMENTS``."""
    NONE = "none"
    """No sandbox."""


class SandboxConfig(StrictWireModel):
    """The sandbox around the agent. A word instead of a table is its ``kind``."""

    kind: SandboxKind | None = None
    """The kind of sandbox. Unset: none, or ``docker`` if there is a name."""
    name: str | None = Field(default=None, max_length=200, pattern=r"^[A-Za-z0-9][\w.-]*$")
    """The name of the sandbox. Unset: the one for this agent and folder, made if there is none."""
    prefix: tuple[str, ...] = ()
    """Any other program and its arguments, put in front of the agent's command line."""
    prompt: PromptBy | None = None
    """How the prompt gets into the sandbox. Unset: as the agent has it; for claude with a ``kind``,
    as an argument."""
    stop: tuple[str, ...] | None = None
    """Program and arguments that stop the agent in the sandbox. Unset: with ``kind`` and ``name``
    that program's own ``stop``, else nothing."""
    network: bool = True
    """Whether the agent can use the network (``bwrap``)."""
    show: tuple[str, ...] = ()
    """Hidden files and folders that the agent may read, such as ``~/.npmrc`` (``bwrap``)."""
    writable: tuple[str, ...] = ()
    """Files and folders outside the work tree that the agent may write (``bwrap``)."""
    checks: bool = True
    """Whether validation scripts and verification commands run in the sandbox too (``bwrap``):
    they run code that the agent wrote."""

    @model_validator(mode="before")
    @classmethod
    def _from_word(cls, given: Any) -> Any:
        return {"kind": given} if isinstance(given, str) else given

    @model_validator(mode="after")
    def _is_one(self) -> SandboxConfig:
        if self.prefix and (self.kind is not None or self.name is not None):
            raise ValueError("prefix replaces kind and name; keep one or the other")
        if self.name is not None and self.kind not in {None, *_OF_CONTAINERS}:
            raise ValueError("name only works with docker and sbx; remove it")
        if any(not part for part in (*self.prefix[:1], *(self.stop or ())[:1])):
            raise ValueError("the program is empty; name one")
        if self.prompt is PromptBy.FILE:
            raise ValueError("a sandbox cannot see the prompt file; use stdin or argument")
        if bad := [path for path in (*self.show, *self.writable) if not path.startswith(_ROOTS)]:
            raise ValueError(f"{bad[0]!r} is relative; begin the path with / or ~/")
        return self

    @property
    def program(self) -> SandboxKind | None:
        """The program that runs the agent in a sandbox of its own; None: there is none."""
        if self.kind in _OF_CONTAINERS:
            return self.kind
        return SandboxKind.DOCKER if self.kind is None and self.name is not None else None

    @property
    def is_elsewhere(self) -> bool:
        """Whether another program starts the agent, somewhere that cannot be looked into."""
        return bool(self.prefix) or self.program is not None

    @property
    def wants_box(self) -> bool:
        """Whether the agent of this machine is to be kept to its work tree by bubblewrap."""
        return self.kind in {SandboxKind.AUTO, SandboxKind.BWRAP}


_OF_CONTAINERS = frozenset({SandboxKind.DOCKER, SandboxKind.SBX})
_ROOTS = ("/", "~/")


def as_table(sandbox: Any) -> Any:
    """The setting as a table, also where a word was given; anything else as it is."""
    return {"kind": sandbox} if isinstance(sandbox, str) else sandbox


def with_table(tables: Mapping[str, Any]) -> dict[str, Any]:
    """Settings whose ``sandbox`` is a table, so that layers of them can be merged."""
    if "sandbox" not in tables:
        return dict(tables)
    return {**tables, "sandbox": as_table(tables["sandbox"])}
