"""What the engine itself saw of an iteration: facts, against which a report is held.

SPEC §6: only evidence is progress. The values here are gathered by the engine and judged by the
core; they never hold anything that an agent merely said.
"""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from ralph_ls.protocol.base import WireModel


class Baseline(WireModel):
    """The state of the work tree at one moment, small enough to stand in the journal.

    A killed iteration is settled against the baseline that its ``iterationStarted`` recorded.
    """

    head: str | None = None
    """The commit of HEAD, 40 or 64 hex digits; None before the first commit."""
    branch: str | None = None
    """The branch's short name; None on a detached HEAD."""
    dirty: dict[str, str] = Field(default_factory=dict)
    """Path (``/``-separated, relative to the root) of every changed or untracked, not ignored
    file, to a hash of its content and mode; ``deleted`` where it is gone. The loop's own files
    are left out. A nested repository stands as one entry that changes with its HEAD and its
    content."""
    fingerprint: str = ""
    """16 hex digits over HEAD's tree and ``dirty``, without the loop's own files: two moments
    with the same fingerprint have the same content."""
    own: dict[str, str] = Field(default_factory=dict)
    """The same as ``dirty`` of the loop's own files: they are no evidence, but may be committed."""
    nested_heads: dict[str, str] = Field(default_factory=dict)
    """HEAD of each nested repository or submodule that is dirty or untracked, by its path."""


class CommitSeen(WireModel):
    """One commit that appeared while the agent ran."""

    hash: str
    subject: str
    files: int = 0
    """How many files it touches outside the loop's own."""
    repository: str = ""
    """Path of the nested repository it was made in; empty for the workspace itself."""
    by_person: bool = False
    """It was made while the agent ran, and not by the agent: it is told, and is no progress."""
    undone: bool | None = None
    """True: all that it changed is what no agent may change and was restored; no progress."""


class Again(StrEnum):
    """That everything an iteration changed had changed before: how that change looks."""

    OUTPUT = "output"
    """Every file looks like output: a log, a database, a cache, lines of a known shape."""
    EDITED = "edited"
    """The agent's own stream says that it edited one of the files, or one of them grew."""
    SAME = "same"
    """Nothing tells the change from output."""


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
    engine_output: tuple[str, ...] | None = None
    """Files that changed because the engine writes its own output to them; they are left out."""
    progress: bool = False
    why: str = ""
    """In words for a person: what the progress was, or why there was none."""
