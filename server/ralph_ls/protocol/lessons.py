"""Lessons as programs see them: ``ralph lessons --json``, ``ralph learn --json``, the editor.

The table of all requests is in ``lsp.methods``.
"""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from ralph_ls.protocol.base import WireModel, WorkspaceParams


class LessonScope(StrEnum):
    """Which projects a lesson fits."""

    REPOSITORY = "repository"
    """The repository that has it."""
    LANGUAGE = "language"
    """Projects with files of one of its languages."""
    FRAMEWORK = "framework"
    """Projects that depend on one of its frameworks."""
    EVERYWHERE = "everywhere"


class LessonPlace(StrEnum):
    """Where a lesson is stored."""

    REPOSITORY = "repository"
    """In ``.ralph/lessons/`` of the repository."""
    USER = "user"
    """In the user's config folder, for all projects."""
    PROPOSED = "proposed"
    """With the state of the work tree, until the user decides."""


class LessonStatus(StrEnum):
    """Whether a lesson is used."""

    ACCEPTED = "accepted"
    PROPOSED = "proposed"
    """The user has not decided on it."""
    UNAPPROVED = "unapproved"
    """It is new, or was changed since the user accepted it."""
    INVALID = "invalid"
    """It cannot be read; ``problems`` says why."""


class LessonEffect(WireModel):
    """Attempts and cost of tasks whose prompts had the lesson, and of comparable ones without."""

    iterations: int = 0
    """Iterations whose prompt had it."""
    tasks_with: int = 0
    tasks_without: int = 0
    attempts_with: float | None = None
    """Iterations a task, on average; None without a task."""
    attempts_without: float | None = None
    cost_with_usd: float | None = None
    """Cost a task, on average; None where agents reported none."""
    cost_without_usd: float | None = None
    last_used: str | None = None
    """Day of the last iteration that had it, as ``2026-01-31``."""


class LessonView(WireModel):
    """One lesson."""

    id: str
    title: str
    text: str
    scope: LessonScope
    match: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    source: str = ""
    date: str = ""
    hits: int = 0
    """As the file has it."""
    place: LessonPlace
    status: LessonStatus
    path: str
    """Absolute."""
    sha256: str
    """Of the file, as an acceptance names it."""
    fits: bool = True
    """Whether it fits this project, whatever the task is; true outside of a project."""
    problems: tuple[str, ...] = ()
    effect: LessonEffect | None = None
    """None: it was never in a prompt."""
    stale: str | None = None
    """Why it is proposed for removal; None: it is not."""


class LessonList(WireModel):
    """What ``ralph lessons --json`` prints."""

    workspace: str | None = None
    """None: outside of a repository."""
    user_folder: str
    max_tokens: int
    """Estimated tokens of a prompt that lessons may take."""
    lessons: tuple[LessonView, ...] = ()


class FindingKind(StrEnum):
    """What a finding is about."""

    VALIDATION = "validation"
    """A validation that fails again and again."""
    SET_ASIDE = "setAside"
    """A task that was set aside."""
    SETTING = "setting"
    """A setting that was changed by hand."""
    TASKS = "tasks"
    """Time and cost of a kind of task."""
    REMEMBERED = "remembered"
    """What an agent wanted to be remembered."""


class IterationRef(WireModel):
    """An iteration of a run."""

    run: str
    iteration: int


class Finding(WireModel):
    """Something that the history shows."""

    kind: FindingKind
    text: str
    iterations: tuple[IterationRef, ...] = ()
    """Those that it comes from, oldest first."""
    next: str | None = None
    """A command that acts on it; None: there is none."""


class Learned(WireModel):
    """What ``ralph learn --json`` prints."""

    workspace: str
    runs: int
    """Runs that were read."""
    iterations: int
    done: bool
    """False: it was a dry run, and nothing was written."""
    findings: tuple[Finding, ...] = ()
    proposals: tuple[LessonView, ...] = ()
    """Lessons that wait for the user's decision, new ones and earlier ones."""
    stale: tuple[LessonView, ...] = ()
    """Accepted lessons that are proposed for removal."""
    notes: tuple[str, ...] = ()


class LessonDecided(WireModel):
    """What the actions of ``ralph lessons`` that change something print with ``--json``."""

    action: str
    lessons: tuple[str, ...] = Field(default=())
    """Ids."""
    paths: tuple[str, ...] = ()
    """Files that were written."""
    notes: tuple[str, ...] = ()


# -------------------------------------------------------------------------------------- requests


class LessonsParams(WorkspaceParams):
    """Ask for all lessons that can be seen from a work tree."""


class LearnParams(WorkspaceParams):
    """Have lessons proposed from the history of a work tree, without a model."""


class LessonAction(StrEnum):
    """What the user decides about a lesson."""

    ACCEPT = "accept"
    REJECT = "reject"
    """For a proposal: it is not proposed again."""
    REMOVE = "remove"
    """For any other lesson: its file and its acceptance."""


class DecideLessonParams(WorkspaceParams):
    """Decide about a lesson; the viewer has shown it."""

    action: LessonAction
    path: str = Field(min_length=1, max_length=4096)
    """Its file, as `LessonView` names it."""
    sha256: str | None = Field(default=None, pattern=r"^[0-9a-f]{64}$")
    """The hash of what was shown, which ``accept`` needs: another content is not accepted."""
    scope: LessonScope | None = None
    """With ``accept``: for which projects; None: as the lesson says."""
    match: tuple[str, ...] = ()
    """Languages or frameworks of that scope."""
