"""How an agent is started, and what it may use: the tables ``[agents.NAME]`` and ``[tools]``.

``protocol.config`` has all other settings.
"""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field, model_validator

from ralph_ls.protocol.base import StrictWireModel
from ralph_ls.protocol.jsonl_config import JsonLinesConfig


class PromptBy(StrEnum):
    """How the prompt reaches a ``command`` agent (SPEC §4)."""

    STDIN = "stdin"
    ARGUMENT = "argument"
    FILE = "file"


class Dialect(StrEnum):
    """How an agent writes what it prints."""

    TEXT = "text"
    """Plain text: all of it is the agent's words."""
    CLAUDE = "claude"
    """JSON lines, as ``claude -p --output-format stream-json --verbose`` writes them."""
    CODEX = "codex"
    """JSON lines, as ``codex exec --json`` writes them."""
    GEMINI = "gemini"
    """JSON lines, as ``gemini -o stream-json`` writes them."""
    QWEN = "qwen"
    """JSON lines, as ``qwen -o stream-json`` writes them."""
    OPENCODE = "opencode"
    """JSON lines, as ``opencode run --format json`` writes them."""
    CLINE = "cline"
    """JSON lines, as ``cline --json`` writes them."""
    COPILOT = "copilot"
    """JSON lines, as ``copilot --output-format json`` writes them."""
    ACP = "acp"
    """JSON lines: the messages of the Agent Client Protocol, as our own client writes them down."""
    JSONL = "jsonl"
    """JSON lines of any program, with a mapping from its fields to ours."""


class Adapter(StrEnum):
    """Which agent a table is about: how it is called, and what it takes (SPEC §10)."""

    CLAUDE = "claude"
    CODEX = "codex"
    CLINE = "cline"
    GEMINI = "gemini"
    OPENCODE = "opencode"
    QWEN = "qwen"
    COPILOT = "copilot"
    ACP = "acp"
    """Any program that speaks the Agent Client Protocol."""
    COMMAND = "command"
    """Any other program, of which nothing is known."""


class AgentConfig(StrictWireModel):
    """How one agent is started."""

    adapter: Adapter | None = None
    """Whose table it is; None: the agent of the table's name, else a command of your own."""
    argv: tuple[str, ...] = ()
    """Program and arguments, in place of what the agent is called with otherwise.

    ``{prompt}``, ``{prompt_file}`` and ``{usage_file}`` are replaced where they stand.
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
