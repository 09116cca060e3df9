"""What a viewer asks about one row of its trees: a task of the plan, or an iteration of a run.

Tasks are skipped, reset and edited; an iteration's changes are looked at, and undone together with
all that came after it. The table of all requests is in ``methods``.
"""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from ralph_ls.protocol.base import WireModel, WorkspaceParams
from ralph_ls.protocol.run.commands import TaskId
from ralph_ls.protocol.run.values import CommitView, FileChange

RUN_PATTERN = r"^\d{8}T\d{6}Z-[0-9a-f]{4}$"

# ---------------------------------------------------------------------------------------- tasks


class SkipParams(WorkspaceParams):
    """Take a task no more in this run; the plan is not edited."""

    task: TaskId


class ResetTaskParams(WorkspaceParams):
    """Open a task again in the plan, with no attempts counted, and skip it no more."""

    task: TaskId


class TaskEdit(StrEnum):
    """How the user changes a task of the plan."""

    BLOCK = "block"
    UNBLOCK = "unblock"
    MOVE = "move"


class EditTaskParams(WorkspaceParams):
    """Change one task in the plan: in the document where it is open, else in the file."""

    task: TaskId
    edit: TaskEdit
    reason: str = Field(default="", max_length=2000)
    """What blocks it; only with ``block``."""
    before: TaskId | None = None
    """With ``move``: the task that it goes before; None: it goes to the end of the list."""


# ----------------------------------------------------------------------------------- iterations


class IterationParams(WorkspaceParams):
    """What names one iteration: the start, which is never used again in a run."""

    run: str | None = Field(default=None, pattern=RUN_PATTERN)
    """None: the newest run of the work tree."""
    start: int = Field(ge=1)


class ChangesParams(IterationParams):
    """Ask what an iteration changed."""


class ChangesResult(WireModel):
    """What an iteration changed, by git."""

    iteration: int
    start: int
    base: str
    """Whole hash of the work tree's HEAD when the iteration began; git's empty tree if
    there was no commit yet."""
    head: str | None = None
    """Whole hash of what it left; None: the work tree, while the iteration is running or if it
    made no commit and no later one began."""
    commits: tuple[CommitView, ...] = ()
    """Oldest first."""
    files: tuple[FileChange, ...] = ()
    """At most 5000, by path."""
    more_files: int = 0
    """How many are left out."""


class FileAtParams(WorkspaceParams):
    """Ask for a file as it was at a commit."""

    commit: str = Field(pattern=r"^([0-9a-f]{40}|[0-9a-f]{64})$")
    path: str = Field(min_length=1, max_length=4096)
    """Relative to the work tree, with ``/``."""


class FileAtResult(WireModel):
    """A file as it was at a commit."""

    text: str | None = None
    """None: it did not exist, it is not a text file, or it is larger than 5 MB."""
    binary: bool = False
    """It existed, and it is not a text file."""
    size: int | None = None
    """In bytes; None: it was not there."""


class RollbackParams(IterationParams):
    """Undo an iteration and all that came after it; the branch is kept under another name."""

    force: bool = False
    """Whether commits that no iteration made may be undone, too."""
    dry_run: bool = False
    """Only report what would be undone."""


class UndoneCommit(CommitView):
    """A commit that is undone."""

    foreign: bool = False
    """No iteration of a run that is known here made it."""


class Refusal(WireModel):
    """Why something was not done."""

    code: str
    """Kebab-case: ``run-goes-on``, ``dirty-tree``, ``foreign-commits``, ``detached-head``,
    ``no-iteration``, ``no-base``, ``not-on-branch``, ``git-busy``, ``in-the-way`` or
    ``nothing-to-undo``."""
    message: str


class RollbackResult(WireModel):
    """What is undone, or why nothing is."""

    done: bool
    refused: Refusal | None = None
    run: str = ""
    start: int
    iteration: int = 0
    """0 where there is no such start."""
    branch: str = ""
    target: str = ""
    """Whole hash of the branch's commit afterwards; empty where it is unknown."""
    commits: tuple[UndoneCommit, ...] = ()
    """Newest first."""
    files: tuple[str, ...] = ()
    """What differs, at most 5000 paths."""
    more_files: int = 0
    """How many are left out."""
    backup: str | None = None
    """The branch that keeps what was undone; of a dry run, what it would be called."""
    force_push: str | None = None
    """What to type where the commits were pushed already; it is never run."""
