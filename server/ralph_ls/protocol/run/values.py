"""The vocabulary of a run: its phases and ends, and the small values inside of events.

They are below the events, so that what only needs a word need not know every event.

The circuit breaker's record, as the journal, the state and every viewer carry it.

What the engine itself saw of an iteration: facts, against which a report is held.

Only evidence is progress. The values here are gathered by the engine and judged by the
core; they never hold anything that an agent merely said.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from enum import StrEnum
from typing import Any

from pydantic import Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from ralph_ls.protocol.base import Timestamp, WireModel


class Phase(StrEnum):
    """The phases of a run; viewers alone add ``crashed``."""

    STARTING = "starting"
    PREPARING = "preparing"
    RUNNING = "running"
    SETTLING = "settling"
    WAITING = "waiting"
    PAUSED = "paused"
    PARKED = "parked"
    STOPPING = "stopping"
    ENDED = "ended"
    CRASHED = "crashed"


class EndReason(StrEnum):
    """Why a run ended; the same name everywhere."""

    COMPLETE = "complete"
    LIMIT = "limit"
    BLOCKED = "blocked"
    DECIDE = "decide"
    STUCK = "stuck"
    FATAL = "fatal"
    STOPPED = "stopped"


class Outcome(StrEnum):
    """How one iteration came out."""

    PROGRESS = "progress"
    NO_PROGRESS = "noProgress"
    STOPPED = "stopped"
    """The user ended the agent."""
    LIMITED = "limited"
    """The agent was unavailable: its account was at its usage limit, its model gave no answer, or
    another agent takes over. The iteration does not count."""
    LOST = "lost"
    """The engine died under it."""


class LaneState(StrEnum):
    """Where a lane of a parallel run is."""

    WORKING = "working"
    """Its run works on the task, or is about to."""
    QUEUED = "queued"
    """The task is done in the lane, and the merge is due."""
    MERGING = "merging"
    """Its commits are rebased and validated; the branch is about to move."""
    MERGED = "merged"
    PARKED = "parked"
    """It waits for its user."""
    DROPPED = "dropped"
    """It is closed without a merge."""


class MergeProblem(StrEnum):
    """Why the work of a lane was not merged."""

    CONFLICT = "conflict"
    """The same lines were changed by another lane that was merged before."""
    VALIDATION = "validation"
    """Validation of the merged result failed."""
    UNRESOLVED = "unresolved"
    """Files of the lane have conflict markers."""
    UNCOMMITTED = "uncommitted"
    """The lane's commits lack the tick in the plan: its agent left work uncommitted."""
    BRANCH = "branch"
    """The branch cannot be moved: its history is another one, or files are in the way."""


class Mode(StrEnum):
    """What an iteration is for."""

    BUILD = "build"
    PLAN = "plan"
    REVIEW = "review"
    REVIEW_FIX = "review-fix"


class Origin(StrEnum):
    """Who chose the profile or the agent of a run."""

    GIVEN = "given"
    """The user, with this run: a flag, or a choice in an editor."""
    ENVIRONMENT = "environment"
    """The user, by a ``RALPH_*`` variable."""
    FILE = "file"
    """The settings of the repository."""
    USER = "user"
    """The user's own settings, for all repositories."""
    RUN = "run"
    """The run that is resumed had it."""
    PROFILE = "profile"
    """The agent is the profile's own."""
    FOUND = "found"
    """Nobody: it fits what is in the repository, or is the only agent on PATH."""
    DEFAULT = "default"
    """Nobody, and nothing was found."""


INFERRED = frozenset({Origin.FOUND, Origin.DEFAULT})
"""A profile by one of these was chosen by nobody."""


class RunChoices(WireModel):
    """How a run came to its profile and its agent, and what follows for its header."""

    profile: Origin
    sign: str | None = None
    """The path that the profile was found by."""
    agent: Origin
    remote: str | None = None
    """Where the branch is pushed to; None: nowhere."""
    overshoots: bool | None = None
    """True: what an iteration uses of a limit is known after it alone, so one may pass it."""
    unmetered: bool | None = None
    """True: an agent of the run does not report its usage of such a limit."""
    sandbox: str | None = None
    """What the agent is kept in: a kind of the settings, ``command`` for a prefix, or ``none``;
    None: a run of before there was one to choose."""
    sandbox_problem: str | None = None
    """Why there is none, where the settings want one if possible."""


class TaskRef(WireModel):
    """A task by id and title."""

    id: str
    title: str


class LessonRef(WireModel):
    """A lesson in a prompt: its id, and the hash of the file's content at that time."""

    id: str
    sha256: str


class RemovedTask(WireModel):
    """A task that left the plan, with what it takes to reopen it."""

    task: TaskRef
    text: str
    """Its lines below its heading, as open, at most 16000 characters."""


class PlanCountsView(WireModel):
    """A plan in numbers; ``required`` is what is not optional."""

    total: int = 0
    done: int = 0
    open_required: int = 0
    """Required and not done, blocked ones included: a completion is refused while there is one."""
    blocked_required: int = 0
    open_optional: int = 0
    required: int = 0
    required_done: int = 0
    marker: bool = False
    """The plan says by its marker that everything is complete."""


class Verdict(WireModel):
    """What a settled iteration means for its run, if the run does not simply continue."""

    reason: EndReason
    message: str


class BreakerState(StrEnum):
    """The three states of the circuit breaker, upper case everywhere."""

    CLOSED = "CLOSED"
    HALF_OPEN = "HALF_OPEN"
    OPEN = "OPEN"


class Breaker(WireModel):
    """The circuit breaker: its state, reason, counters and history.

    All counts are of consecutive iterations. The rules that move them live in
    ``core.loop.breaker``; this is only what they leave behind.
    """

    state: BreakerState = BreakerState.CLOSED
    reason: str = "Initial state"
    last_change_at: Timestamp | None = None
    current_iteration: int = 0
    last_progress_iteration: int = 0
    total_opens: int = 0
    consecutive_no_progress: int = 0
    consecutive_same_error: int = 0
    consecutive_failing_tests: int = 0
    consecutive_refusals: int = 0
    """Completions refused in a row with no progress between."""
    consecutive_denials: int = 0
    """Iterations in a row in which a tool was not permitted; unreported ones leave it."""
    consecutive_set_asides: int = 0
    """Tasks set aside with no progress between."""
    error_streaks: dict[str, int] = Field(default_factory=dict)
    """Normalised error line to the number of iterations in a row that had it."""
    error_history: tuple[str, ...] = ()
    """The last five iterations' error patterns, each one's lines joined by `` | ``."""


class Baseline(WireModel):
    """The state of the work tree at one moment, small enough for the journal.

    A killed iteration is settled against the baseline that its ``iterationStarted`` recorded.
    """

    head: str | None = None
    """The commit of HEAD, 40 or 64 hex digits; None before the first commit."""
    branch: str | None = None
    """The branch's short name; None on a detached HEAD."""
    dirty: dict[str, str] = Field(default_factory=dict)
    """Path (``/``-separated, relative to the root) of every changed or untracked, not ignored
    file, to a hash of its content and mode; ``deleted`` where it is gone. The loop's own files
    are left out. A nested repository is one entry that changes with its HEAD and its
    content."""
    fingerprint: str = ""
    """16 hex digits over HEAD's tree and ``dirty``, without the loop's own files: two moments
    with the same fingerprint have the same content."""
    own: dict[str, str] = Field(default_factory=dict)
    """The same as ``dirty`` of the loop's own files: they are no evidence, but may be committed."""
    nested_heads: dict[str, str] = Field(default_factory=dict)
    """HEAD of each nested repository or submodule that is dirty or untracked, by its path."""


class EndStates(Collection[str]):
    """The distinct fingerprints in which a run's iterations ended, in that order; never changes.

    A run may have ten thousand of them, so one more is added, and one is found, in constant time:
    a value is the first keys of a dictionary that later values share and only append to. One
    thread adds, others may read.
    """

    __slots__ = ("_n", "_places")

    def __init__(self, fingerprints: Iterable[str] = ()) -> None:
        self._places = {each: place for place, each in enumerate(dict.fromkeys(fingerprints))}
        self._n = len(self._places)

    def plus(self, fingerprint: str) -> EndStates:
        """These and one more; the same value where it is known or empty."""
        if not fingerprint or fingerprint in self:
            return self
        # The empty value is the default of every run: none of them gets its memory.
        is_newest = len(self._places) == self._n > 0
        places = self._places if is_newest else {each: n for n, each in enumerate(self)}
        places[fingerprint] = self._n
        more = EndStates()
        more._places, more._n = places, self._n + 1
        return more

    def __contains__(self, fingerprint: object) -> bool:
        return isinstance(fingerprint, str) and self._places.get(fingerprint, self._n) < self._n

    def __iter__(self) -> Iterator[str]:
        # All keys at once: another thread may append one.
        return iter(tuple(self._places)[: self._n])

    def __len__(self) -> int:
        return self._n

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EndStates) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"EndStates{tuple(self)}"

    @classmethod
    def __get_pydantic_core_schema__(
        cls, _source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        fingerprints = handler.generate_schema(tuple[str, ...])
        return core_schema.no_info_after_validator_function(
            cls,
            fingerprints,
            serialization=core_schema.plain_serializer_function_ser_schema(
                tuple, return_schema=fingerprints
            ),
        )


class CommitSeen(WireModel):
    """One commit that appeared while the agent ran."""

    hash: str
    subject: str
    files: int = 0
    """How many files it touches outside the loop's own."""
    repository: str = ""
    """Path of the nested repository it was made in; empty for the workspace itself."""
    by_person: bool = False
    """Made while the agent ran, but not by the agent: reported, and not progress."""
    undone: bool | None = None
    """True: all that it changed is what no agent may change and was restored; no progress."""


class ReviewSeen(WireModel):
    """The result of the review of one story, as the plan shows it."""

    task: str
    """Id of the story."""
    approved: bool
    at_cap: bool = False
    """It was approved because it had as many reviews as it may have."""
    findings: int = 0
    """What the reviewer asks to be changed: the points of its feedback; 0 where it approved."""


class Again(StrEnum):
    """That everything an iteration changed had changed before: how that change looks."""

    OUTPUT = "output"
    """Every file looks like output: a log, a database, a cache, lines of a known shape."""
    EDITED = "edited"
    """The agent's own stream says that it edited one of the files, or one of them grew."""
    SAME = "same"
    """Nothing distinguishes the change from output."""


class Evidence(WireModel):
    """What changed between an iteration's baseline and its end."""

    commits: tuple[CommitSeen, ...] = ()
    files: int = 0
    """How many files outside the loop's own differ from the baseline, committed or not."""
    paths: tuple[str, ...] = ()
    """The first of those paths, at most 50."""
    tasks_done: tuple[str, ...] = ()
    """Ids of the tasks that became done."""
    fingerprint: str = ""
    """The end state, as ``Baseline.fingerprint``."""
    again: Again | None = None
    """Set where all of these files had changed in the iteration before as well."""
    cosmetic: bool | None = None
    """True: the files that changed differ in white space and modes alone; None: not, or unknown."""
    advanced: bool | None = None
    """True: a sub-task or a criterion became done, a task was added, or a review moved on; false:
    the tasks that became done had been done before in this run; None: neither."""
    review: ReviewSeen | None = None
    """The review that the iteration gave; None: none, or from an engine that did not record it."""
    titles: dict[str, str] | None = None
    """Titles of those of ``tasks_done`` for which the iteration was not started, by id."""
    engine_output: tuple[str, ...] | None = None
    """Files that changed because the engine writes its own output to them; they are left out."""
    own_files: int | None = None
    """How many of the loop's own files, such as the plan, differ as well, as a diff shows them;
    None: none of them."""
    progress: bool = False
    why: str = ""
    """In words for the user: what the progress was, or why there was none."""


class RollbackRecord(WireModel):
    """One line of ``rollbacks.jsonl``: a branch was taken back to before an iteration.

    Journals stay as they are, so this is what tells viewers that iterations are undone.
    """

    run: str
    start: int = Field(ge=1)
    """Everything from this start on was undone."""
    at: Timestamp
    branch: str = ""
    backup: str = ""
    """The branch that keeps what was undone."""
    commits: tuple[str, ...] = ()
    """Whole hashes of what was undone, the newest first."""


class CommitView(WireModel):
    """A commit as users see it."""

    hash: str
    """Whole."""
    subject: str


class ChangeStatus(StrEnum):
    """What became of a file."""

    ADDED = "added"
    MODIFIED = "modified"
    DELETED = "deleted"
    RENAMED = "renamed"
    COPIED = "copied"
    TYPE_CHANGED = "typeChanged"


class FileChange(WireModel):
    """One file that differs between the two ends of an iteration."""

    path: str
    """Relative to the work tree, with ``/``."""
    old_path: str | None = None
    """Where it was before; of one that was renamed or copied."""
    status: ChangeStatus
    binary: bool = False
