"""What tests must know of a real agent: how it is led to the stub, and the names of its tools.

How it is started is the project's own knowledge (``engine/agents``), and is not said again here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ralph_ls.protocol.config.agent_catalog import Dialect
from tests.fakes.model_stub import Answer, ToolCall

KEY = "sk-ant-not-a-key-0123456789"
MODEL = "stub-model"

Environment = dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """One real agent."""

    name: str
    """As ``--agent`` and the program on PATH have it."""
    dialect: Dialect
    set_up: Callable[[str, Path], Environment]
    """From the stub's address and a home: writes the agent's own settings there, and gives
    the environment of a user of the agent."""
    freely: tuple[str, ...]
    """The whole command line of a call that may use everything; the prompt is on its stdin."""
    guarded: tuple[str, ...]
    """The same for one that may not run commands and cannot ask; empty where the model is then not
    offered such a tool at all."""
    guarded_by: Environment = field(default_factory=dict)
    """Variables that go with ``guarded``."""
    resume: tuple[str, ...]
    """What lets it continue a session, ``{session}`` for its id; empty: it cannot."""
    session_key: str
    """The field of its records that holds the session's id."""
    write: Callable[[Path, str], ToolCall]
    """Write a new file."""
    edit: Callable[[Path, str, str], ToolCall]
    """In a file, replace a text by another."""
    read: Callable[[Path], ToolCall]
    shell: Callable[[str], ToolCall]
    """Run a command in the work tree."""
    todo: Callable[[Sequence[tuple[str, str]]], ToolCall] | None = None
    """Note a list of steps, each with what has become of it; None where it has no such tool."""
    ask: Callable[[str], ToolCall] | None = None
    """Ask the user; None where it has no such tool without one."""
    by_argument: bool = False
    """The prompt is the last word of its command line instead."""
    overloaded: int = 503
    """The status with which its API says that it has too much to do."""
    tries: int = 1
    """How often it asks a model that says that its limit is reached, before it ends."""
    knows_limits: bool = True
    """It says that its limit is reached in a way that cannot be mistaken."""
    uncached: int = 1300
    """Input of one answer by default that no cache had, as its API and it count."""
    fatal: int = 500
    """A status that it does not get past."""
    gives_up: bool = True
    """It ends by itself, and soon, when its API keeps saying so; others retry silently."""


def call(name: str, *, deferred: bool = False, **given: Any) -> ToolCall:
    """One call of a tool."""
    return ToolCall(name=name, input=given, deferred=deferred)


def report(*lines: str) -> str:
    """A status block."""
    return "\n".join(["---RALPH_STATUS---", *lines, "---END_RALPH_STATUS---", ""])


GOES_ON = report("STATUS: IN_PROGRESS", "FILES_MODIFIED: 1", "EXIT_SIGNAL: false")
DONE = report("STATUS: COMPLETE", "FILES_MODIFIED: 1", "EXIT_SIGNAL: true")


def does_task(recipe: Recipe, repository: Path, title: str, file: str) -> list[Answer]:
    """Answers that write a file by a tool, tick the task, commit, in this order."""
    tick = f"sed -i 's/\\[ \\] {title}/[x] {title}/' @fix_plan.md"
    commit = f"{tick} && git add -A && git commit -q -m 'Add {file}'"
    written = recipe.write(repository / file, f"{title}\n")
    return [
        Answer(text=f"I write {file}.", tools=(written,)),
        Answer(tools=(recipe.shell(commit),)),
    ]


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    """Write the agent's own settings."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
