"""What a viewer asks about the rows of its trees: tasks of the plan, runs and their iterations.

Tasks are skipped, reset and edited; runs are listed and opened; an iteration's changes are looked
at, and undone together with all that came after it. The table of all requests is in ``methods``.
"""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from ralph_ls.protocol.base import StrictWireModel, WireModel, WorkspaceParams
from ralph_ls.protocol.dashboard import DashboardRun
from ralph_ls.protocol.json_output import LaneTable, RunAnywhere
from ralph_ls.protocol.lsp.panel import IterationRow
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


# ----------------------------------------------------------------------------------------- runs


class RunsParams(WorkspaceParams):
    """Ask for every run that is kept of a work tree, and for those that wait in any other."""


class AnywhereParams(StrictWireModel):
    """Ask for the user's live and waiting runs in all work trees, as ``ralph ps`` lists them."""


class ResumeFleetTaskParams(StrictWireModel):
    """Let a task of the user's fleet continue that waits for the user."""

    task: str = Field(min_length=1, max_length=300, pattern=r"^[^-].*#")
    """As ``repository#id``."""
    text: str | None = Field(default=None, min_length=1, max_length=10_000, pattern=r"\S")
    """The answer to its question; None: the task is parked, and is tried again."""


class KeptRun(DashboardRun):
    """A run whose journal is kept, with its figures."""

    tasks: tuple[str, ...] = ()
    """Titles of the tasks that it worked on, in the order in which they came first."""
    pruned: bool = False
    """Its output and messages were deleted."""


class RunsResult(WireModel):
    """The history of a work tree, and the runs that need a look in any other."""

    runs: tuple[KeptRun, ...] = ()
    """Newest first."""
    anywhere: tuple[RunAnywhere, ...] = ()
    """The user's live and waiting runs in all work trees, as ``ralph ps`` lists them."""


class LanesParams(WorkspaceParams):
    """Ask for the lanes of the newest run of a work tree."""


class LanesResult(WireModel):
    """The lanes of a parallel run."""

    lanes: LaneTable | None = None
    """None: there is no run, or it is not parallel."""


class IterationsParams(WorkspaceParams):
    """Ask for the iterations of one run."""

    run: str = Field(pattern=RUN_PATTERN)
    before: int | None = Field(default=None, ge=1)
    """Only those with an earlier start; None: the newest."""


class IterationsResult(WireModel):
    """A page of a run's iterations."""

    rows: tuple[IterationRow, ...] = ()
    """Newest first, at most 200."""
    older: int = 0
    """How many came before these."""


class Inspection(StrEnum):
    """A text about a work tree or one of its runs, by the verb that prints it."""

    DOCTOR = "doctor"
    DRY_RUN = "dryRun"
    WHY = "why"
    """The decision after each iteration of the newest run, and its reason."""
    STATS = "stats"
    CSV = "csv"
    """Every iteration, for a spreadsheet."""
    JSON = "json"
    REPORT = "report"
    """One page about a run, as Markdown."""
    SHOW = "show"
    """One iteration whole, with its prompt."""


class InspectParams(WorkspaceParams):
    """Ask for a text that a verb prints; nothing is changed."""

    what: Inspection
    run: str | None = Field(default=None, pattern=RUN_PATTERN)
    """For ``csv``, ``json``, ``report`` and ``show``; None: all of them, or the newest."""
    iteration: int | None = Field(default=None, ge=1)
    """For ``show``."""


class Upkeep(StrEnum):
    """What tidies a work tree up."""

    ARCHIVE = "archive"
    """Moves finished plans and progress away."""
    PRUNE = "prune"
    """Deletes the output of old runs."""


class MaintainParams(WorkspaceParams):
    """Tidy a work tree up; the viewer asked the user, and showed a dry run."""

    what: Upkeep
    dry_run: bool = False
    """Only report what would be done."""


class TextResult(WireModel):
    """What the verb printed."""

    text: str


class MaintainResult(TextResult):
    """What was done, or would be."""

    nothing: bool = False
    """There is nothing to do."""


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
