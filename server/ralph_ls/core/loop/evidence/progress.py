"""Progress: which evidence counts, and where a report claims more than the evidence shows.

Agents are known to declare work forty iterations in a row and do none, so a report alone is never
progress unless ``declared`` is switched on (docs/rules.md#evidence). Work that the user did
meanwhile is recorded and is no progress either.

Two rules ignore content. Where ``head`` is switched on, a new HEAD is progress whatever it touches
(docs/rules.md#stuck-count), also with content that existed before, since a commit of the plan alone
never changes it. And in a ``plan`` iteration the plan's change is the evidence; code that it wrote
is not.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from ralph_ls.core.loop.evidence.repetition import (
    RepetitionHistory,
    finishes_something,
    is_weak_commit,
    repeats_too_often,
    returns_to_known_state,
)
from ralph_ls.core.plurals import count_of, some_of
from ralph_ls.protocol.config.config import EvidenceKind
from ralph_ls.protocol.run.report import Report
from ralph_ls.protocol.run.values import Again, CommitSeen, Evidence, Mode, ReviewSeen

DECLARED_PROGRESS = "the report declares progress"
KNOWN_STATE = "the work tree is back in an earlier state of this run"

OUTPUT_AGAIN = "only output files changed again"
FILES_AGAIN = "the same files keep changing without a commit"

KEPT_PATHS = 50
"""Paths of an iteration that are kept in its evidence."""

SHOWN_PATHS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What differs between an iteration's baseline and its end, outside the loop's own files."""

    commits: tuple[CommitSeen, ...] = ()
    files: int = 0
    paths: tuple[str, ...] = ()
    fingerprint: str = ""
    again: Again | None = None
    cosmetic: bool | None = None
    advanced: bool | None = None
    review: ReviewSeen | None = None
    titles: Mapping[str, str] | None = None
    engine_output: tuple[str, ...] | None = None
    own_files: int = 0
    """How many of the loop's own files differ as well."""


def judge_progress(
    changes: Changes,
    *,
    tasks_done: tuple[str, ...],
    before: RepetitionHistory,
    kinds: Collection[EvidenceKind],
    report: Report | None,
    mode: Mode = Mode.BUILD,
    plan_changed: bool = False,
    moved: Collection[str] = (),
) -> Evidence:
    """Decide whether there was progress, and why, in words.

    ``before`` is the run's history of repetitions. ``moved`` are the tasks whose review proceeded
    by a legal move, which is progress whatever else was changed. ``plan_changed``: the plan's text
    differs from what it was at the start.
    """
    gathered = Evidence(
        commits=changes.commits,
        files=changes.files,
        paths=changes.paths[:KEPT_PATHS],
        tasks_done=tasks_done,
        fingerprint=changes.fingerprint,
        again=changes.again,
        cosmetic=changes.cosmetic,
        advanced=_advanced(changes, tasks_done, moved),
        review=changes.review,
        titles=dict(changes.titles) if changes.titles else None,
        engine_output=changes.engine_output or None,
        own_files=changes.own_files or None,
    )
    why = _by_head(changes, tasks_done, kinds)
    progress = bool(why)
    if not progress and mode is Mode.PLAN:
        progress, why = _of_plan_iteration(kinds, report, plan_changed=plan_changed)
    elif not progress:
        progress, why = _by_content(gathered, kinds, report, before)
    if not progress and moved:
        progress, why = True, f"{count_of(len(moved), 'task')} moved on in review"
    return gathered.model_copy(update={"progress": progress, "why": why})


def new_head(evidence: Evidence) -> str | None:
    """The agent's last commit in the workspace itself, whole; None: it made none.

    See docs/rules.md#stuck-count.
    """
    heads = [commit.hash for commit in _by_agent(evidence.commits) if not commit.repository]
    return heads[-1] if heads else None


def contradiction(
    report: Report | None,
    evidence: Evidence,
    *,
    plan_changed: bool = False,
    moved: Collection[str] = (),
) -> str | None:
    """The report's claim that the evidence does not support; None where they agree.

    A changed plan is a modified file to the agent that changed it, and to have carried a task
    through its part of the review (``moved``) is to have completed it.
    """
    if report is None:
        return None
    claims: list[str] = []
    modified = evidence.files or _by_agent(evidence.commits) or plan_changed or moved
    if report.files_modified > 0 and not modified:
        claims.append(count_of(report.files_modified, "modified file"))
    if report.tasks_completed > 0 and not (evidence.tasks_done or moved):
        claims.append(count_of(report.tasks_completed, "completed task"))
    return (
        f"the report claims {' and '.join(claims)}, but there is no evidence of it"
        if claims
        else None
    )


def is_tick_alone(evidence: Evidence) -> bool:
    """Whether a task was ticked and nothing outside the loop's own files was changed.

    See docs/rules.md#evidence.
    """
    real_commits = any(commit.files for commit in _by_agent(evidence.commits))
    return bool(evidence.tasks_done) and not evidence.files and not real_commits


def _by_head(changes: Changes, tasks_done: tuple[str, ...], kinds: Collection[EvidenceKind]) -> str:
    """The progress of a new HEAD, in words; empty where there is none or it is not asked for."""
    has_head = any(not commit.repository for commit in _by_agent(changes.commits))
    return _progress(changes, tasks_done, kinds) if EvidenceKind.HEAD in kinds and has_head else ""


def _of_plan_iteration(
    kinds: Collection[EvidenceKind], report: Report | None, *, plan_changed: bool
) -> tuple[bool, str]:
    if plan_changed:
        return True, "the plan changed"
    if _is_declared(kinds, report):
        return True, DECLARED_PROGRESS
    return False, "the plan did not change"


def _advanced(changes: Changes, tasks_done: tuple[str, ...], moved: Collection[str]) -> bool | None:
    """The plan's progress, where the tasks that became done do not show it."""
    if tasks_done:
        return False if changes.advanced is False else None
    return True if changes.advanced or moved else None


def _by_content(
    gathered: Evidence,
    kinds: Collection[EvidenceKind],
    report: Report | None,
    before: RepetitionHistory,
) -> tuple[bool, str]:
    if _by_agent(gathered.commits) or gathered.files:
        if why := _why_repetition(gathered, before):
            return False, why
        if progress := _progress(gathered, gathered.tasks_done, kinds):
            return True, progress
    if _is_declared(kinds, report):
        return True, DECLARED_PROGRESS
    return False, _why_nothing(gathered)


def _why_repetition(gathered: Evidence, before: RepetitionHistory) -> str:
    """Why the changes only repeat earlier ones; empty where they do not."""
    is_back, is_weak = returns_to_known_state(gathered, before), is_weak_commit(gathered, before)
    is_kept = is_weak or (before.loop_commits and finishes_something(gathered))
    if is_back and not (is_kept and before.is_strict):
        return KNOWN_STATE
    # A task that became done is no repetition.
    if not before.is_strict or finishes_something(gathered):
        return ""
    if is_weak:
        again = KNOWN_STATE if is_back else "only white space and modes changed"
        return "" if before.is_first_weak_commit else again
    names = some_of(gathered.paths, SHOWN_PATHS)
    if gathered.again is Again.OUTPUT:
        return f"{OUTPUT_AGAIN}: {names}"
    if repeats_too_often(gathered, before):
        return f"{FILES_AGAIN}: {names}"
    return ""


def _why_nothing(gathered: Evidence) -> str:
    """Why none of the evidence is progress, where there is any."""
    if gathered.tasks_done:
        return "a task was ticked, but nothing else changed"
    if _by_agent(gathered.commits):
        return "the commits touch only the loop's own files"
    if any(commit.undone for commit in gathered.commits):
        return "everything committed was a forbidden change, and was restored"
    if gathered.commits:
        only = "only commit is" if len(gathered.commits) == 1 else "only commits are"
        return f"the {only} yours, and nothing else changed"
    if gathered.engine_output:
        return f"only ralph's own output changed: {some_of(gathered.engine_output, 3)}"
    if gathered.files:
        return "changed files alone are no progress here"
    return "nothing changed outside the loop's own files"


def _progress(
    changes: Changes | Evidence, tasks_done: tuple[str, ...], kinds: Collection[EvidenceKind]
) -> str:
    commits = _by_agent(changes.commits)
    real_commits = [commit for commit in commits if commit.files]
    counted = [commit for commit in commits if _counts(commit, kinds)]
    parts: list[str] = []
    if counted:
        parts.append(count_of(len(counted), "commit"))
    if changes.files and EvidenceKind.WORKTREE in kinds:
        parts.append(count_of(changes.files, "file"))
    if tasks_done and EvidenceKind.TASKS in kinds and (changes.files or real_commits):
        parts.append(count_of(len(tasks_done), "task"))
    return ", ".join(parts)


def _counts(commit: CommitSeen, kinds: Collection[EvidenceKind]) -> bool:
    if EvidenceKind.HEAD in kinds and not commit.repository:
        return True
    return EvidenceKind.COMMITS in kinds and commit.files > 0


def _by_agent(commits: tuple[CommitSeen, ...]) -> tuple[CommitSeen, ...]:
    """The commits that count for the agent: none of a user's, and none that was undone."""
    return tuple(commit for commit in commits if not commit.by_person and not commit.undone)


def _is_declared(kinds: Collection[EvidenceKind], report: Report | None) -> bool:
    """Whether the report's claim counts as progress, and makes one (docs/rules.md#evidence)."""
    if EvidenceKind.DECLARED not in kinds or report is None:
        return False
    return report.files_modified > 0 or report.tasks_completed > 0 or report.pr_ready
