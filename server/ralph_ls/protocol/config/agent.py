"""What the JSON lines of a program mean: the table ``[agents.NAME.output]``.

Each line that such a program prints is one JSON object, which a field of its own tells the kind of.
The defaults are the words that a program would use which was written for this.

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


class PromptBy(StrEnum):
    """How the prompt reaches a ``command`` agent."""

    STDIN = "stdin"
    ARGUMENT = "argument"
    FILE = "file"


class AgentConfig(StrictWireModel):
    """How one agent is started."""

    adapter: Adapter | None = None
    """Whose table it is; None: the agent of the table's name, else a command of your own."""
    argv: tuple[str, ...] = ()
    """Program and arguments, in place of what the agent is called with otherwise.

    ``{prompt}``, ``{prompt_file}`` and ``{usage_file}`` are replaced where they stand; with one of
    the first two, the prompt is given in no other way.
    """
    args: tuple[str, ...] = ()
    """Flags of yours that are added to it."""
    prompt: PromptBy = PromptBy.STDIN
    env: dict[str, str] = Field(default_factory=dict)
    """Added to the agent's environment."""
    model: str | None = None
    """The model, for an agent that takes one; None: the agent's own choice."""
    system_prompt: str | None = None
    """Said to it beside each prompt: by its flag, or in front of the prompt where it has none."""
    dialect: Dialect | None = None
    """How its output is to be read; None: as that agent writes it, plain text for any other."""
    output: JsonLinesConfig | None = None
    """What its records mean, with the dialect ``jsonl``; None: what the defaults there say."""
    session_mode: str | None = None
    """The mode that an agent of the adapter ``acp`` works in, by its id or name; None: one that
    asks nothing, where it offers one."""
    login_method: str | None = None
    """How we log in with an agent of the adapter ``acp`` that wants that first, by its id."""

    @model_validator(mode="after")
    def _require_records(self) -> AgentConfig:
        if self.output is not None and self.dialect is not Dialect.JSONL:
            how = "nothing" if self.dialect is None else f"{self.dialect.value!r}"
            raise ValueError(
                f'output says what JSON lines mean, which are read with dialect = "jsonl" alone, '
                f"and dialect is {how}; set that, or remove output"
            )
        return self


class ToolsConfig(StrictWireModel):
    """What the agent may use, in the agent's own names of tools; they become its flags."""

    allow: tuple[str, ...] | None = None
    """When given, these and no others; None: everything, without asking."""
    deny: tuple[str, ...] | None = None
    """Never these."""


class SandboxKind(StrEnum):
    """What keeps an agent to its work tree."""

    AUTO = "auto"
    """``bwrap`` where it works; elsewhere none, which the header of the run says."""
    BWRAP = "bwrap"
    """Bubblewrap, on Linux: the agent of this machine, with this work tree and little else."""
    DOCKER = "docker"
    """``docker sandbox run NAME -- ARGUMENTS``."""
    SBX = "sbx"
    """``sbx run NAME -- ARGUMENTS``."""
    NONE = "none"
    """No sandbox."""


class SandboxConfig(StrictWireModel):
    """Where the agent works: with none of it, here. A word alone is its ``kind``."""

    kind: SandboxKind | None = None
    """None: no sandbox, or ``docker`` where there is a name."""
    name: str | None = Field(default=None, max_length=200, pattern=r"^[A-Za-z0-9][\w.-]*$")
    """The sandbox; None: the one that the program has, or makes, for the agent and this folder."""
    prefix: tuple[str, ...] = ()
    """Any other program and its arguments, put in front of the agent's whole command line."""
    prompt: PromptBy | None = None
    """How the prompt gets there; None: as the agent has it, with ``kind`` and claude as argument.
    """
    stop: tuple[str, ...] | None = None
    """What ends the agent in there when it had to be ended: program and arguments. None: with
    ``kind`` and ``name`` that program's own ``stop``, else nothing."""
    network: bool = True
    """Whether the network can be reached from inside (``bwrap``)."""
    show: tuple[str, ...] = ()
    """Files and folders that are hidden otherwise, such as ``~/.npmrc``, to be read (``bwrap``)."""
    writable: tuple[str, ...] = ()
    """Files and folders besides the work tree that may be written (``bwrap``)."""
    checks: bool = True
    """Whether validation scripts and closing commands run in it too (``bwrap``): they run code that
    the agent wrote."""

    @model_validator(mode="before")
    @classmethod
    def _from_word(cls, given: Any) -> Any:
        return {"kind": given} if isinstance(given, str) else given

    @model_validator(mode="after")
    def _is_one(self) -> SandboxConfig:
        if self.prefix and (self.kind is not None or self.name is not None):
            raise ValueError("prefix is another way than kind and name; keep one of them")
        if self.name is not None and self.kind not in {None, *_OF_CONTAINERS}:
            raise ValueError("name goes with docker and sbx alone; remove it")
        if any(not part for part in (*self.prefix[:1], *(self.stop or ())[:1])):
            raise ValueError("the program is empty; name one")
        if self.prompt is PromptBy.FILE:
            raise ValueError("a file of the run is not in the sandbox; write stdin or argument")
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
