"""What an editor tells the language server about itself: ``initializationOptions``.

Everything may be left out: a generic LSP client sends nothing and has it all. Unknown keys are
ignored, since a client may be newer than the server. It must never hold a setting of a run: those
stand in ``.ralph/config.toml``.
"""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from ralph_ls.protocol.base import WireModel


class TaskLenses(StrEnum):
    """Which tasks get lenses."""

    CURRENT = "current"
    """The one in work, and those that wait for a person."""
    TOUCHED = "touched"
    """Also what was tried in this run, and what the plan marks as blocked."""
    ALL = "all"
    """Also what this run finished, and "Run only this" on every other open task."""


class LensOptions(WireModel):
    """The code lenses on the loop's files."""

    enabled: bool = True
    tasks: TaskLenses = TaskLenses.TOUCHED


class InlayHintOptions(WireModel):
    """The hints behind tasks that this run finished: by which iteration, in which commit."""

    enabled: bool = True


class EditorOptions(WireModel):
    """What a client sends at ``initialize``; ``workspace/didChangeConfiguration`` may change it.

    There the same keys stand under ``ralph``.
    """

    command_prefix: str | None = Field(default=None, pattern=r"^[A-Za-z][A-Za-z0-9_.-]*$")
    """With it lenses carry ``<prefix>.<verb>`` and hints ``<prefix>.openCommit``, commands that the
    client has itself, and the server registers none; without it lenses carry the server's own
    ``ralph.<verb>`` and hints are plain text."""
    read_only: bool = False
    """The workspace is not trusted: show what is there, start and change nothing."""
    progress: bool = True
    """Whether a run is shown as work-done progress, where the client can."""
    lens: LensOptions = LensOptions()
    inlay_hints: InlayHintOptions = InlayHintOptions()
    plan_files: tuple[str, ...] = ()
    """More plans than the work tree's own, as paths or globs relative to it."""
