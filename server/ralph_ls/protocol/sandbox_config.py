"""What is put around an agent's command line: the table ``[sandbox]`` (R §4 Design; SPEC §10).

It must never know any agent.
"""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field, model_validator

from ralph_ls.protocol.agent_config import PromptBy
from ralph_ls.protocol.base import StrictWireModel


class SandboxKind(StrEnum):
    """Programs that run an agent in a sandbox of their own, and know how it is called there."""

    DOCKER = "docker"
    """``docker sandbox run NAME -- ARGUMENTS``."""
    SBX = "sbx"
    """``sbx run NAME -- ARGUMENTS``."""


class SandboxConfig(StrictWireModel):
    """Where the agent works: with none of it, here."""

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

    @model_validator(mode="after")
    def _is_one(self) -> SandboxConfig:
        if self.prefix and (self.kind is not None or self.name is not None):
            raise ValueError("prefix is another way than kind and name; keep one of them")
        if any(not part for part in (*self.prefix[:1], *(self.stop or ())[:1])):
            raise ValueError("the program is empty; name one")
        if self.prompt is PromptBy.FILE:
            raise ValueError("a file of the run is not in the sandbox; write stdin or argument")
        return self

    @property
    def program(self) -> SandboxKind | None:
        """The program that runs the agent in a sandbox of its own; None: there is none."""
        return SandboxKind.DOCKER if self.kind is None and self.name is not None else self.kind

    @property
    def is_on(self) -> bool:
        """Whether the agent works in a sandbox."""
        return bool(self.prefix) or self.program is not None
