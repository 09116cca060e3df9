"""The sandbox around an agent: the setting ``sandbox``, a word or a table.

It must never know any agent.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from pydantic import Field, model_validator

from ralph_ls.protocol.agent_config import PromptBy
from ralph_ls.protocol.base import StrictWireModel


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
