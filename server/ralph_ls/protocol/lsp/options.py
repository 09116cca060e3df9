"""Settings an editor sends to the language server: ``initializationOptions``.

Everything may be left out: a generic LSP client sends nothing and has it all. Unknown keys are
ignored, since a client may be newer than the server. It must never hold a setting of a run, which
is in ``.ralph/config.toml``.
"""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from ralph_ls.protocol.base import WireModel


class TaskLenses(StrEnum):
    """Which tasks show code lenses."""

    CURRENT = "current"
    """The current task, and tasks that wait for you."""
    TOUCHED = "touched"
    """Also tasks attempted in this run, and tasks the plan marks as blocked."""
    ALL = "all"
    """Also tasks finished in this run, and "Run only this" on every other open task."""


class LensOptions(WireModel):
    """Show code lenses in the loop's files."""

    enabled: bool = True
    tasks: TaskLenses = TaskLenses.TOUCHED


class InlayHintOptions(WireModel):
    """Show a hint after each task finished in this run: its iteration and commit."""

    enabled: bool = True


class EditorOptions(WireModel):
    """What a client sends at ``initialize``; ``workspace/didChangeConfiguration`` may change it.

    There the same keys are under ``ralph``.
    """

    command_prefix: str | None = Field(default=None, pattern=r"^[A-Za-z][A-Za-z0-9_.-]*$")
    """With it lenses carry ``<prefix>.<verb>`` and hints ``<prefix>.openCommit``, commands that the
    client has itself, and the server registers none; without it lenses carry the server's own
    ``ralph.<verb>`` and hints are plain text."""
    read_only: bool = False
    """The workspace is not trusted: show what is there, start and change nothing."""
    progress: bool = True
    """Whether a run is shown as work-done progress, where the client can."""
    lens: LensOptions = LensOptions.model_construct()
    inlay_hints: InlayHintOptions = InlayHintOptions.model_construct()
    plan_files: tuple[str, ...] = ()
    """Additional plan files, as paths or globs relative to the work tree."""
