"""Evidence over claims: what counts as progress, and where a report says more than was seen.

SPEC §6. The field's logs show agents that declare work forty iterations in a row and do none, so
a report alone is never progress unless ``declared`` is switched on (A8, the ``issue`` profile).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from ralph_ls.core.words import count_of
from ralph_ls.protocol.config import EvidenceKind
from ralph_ls.protocol.evidence import CommitSeen, Evidence
from ralph_ls.protocol.report import Report


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What differs between an iteration's baseline and its end, outside the loop's own files."""

    commits: tuple[CommitSeen, ...] = ()
    files: int = 0
    paths: tuple[str, ...] = ()
    fingerprint: str = ""


def judge(
    changes: Changes,
    *,
    tasks_done: tuple[str, ...],
    seen: Collection[str],
    kinds: Collection[EvidenceKind],
    report: Report | None,
) -> Evidence:
    """Say whether there was progress, and why, in words."""
    progress, why = _judge(changes, tasks_done, seen, kinds, report)
    return Evidence(
        commits=changes.commits,
        files=changes.files,
        paths=changes.paths,
        tasks_done=tasks_done,
        fingerprint=changes.fingerprint,
        progress=progress,
        why=why,
    )


def contradiction(report: Report | None, evidence: Evidence) -> str | None:
    """What the report claims and evidence does not bear out; None where they agree."""
    if report is None:
        return None
    claims: list[str] = []
    if report.files_modified > 0 and not evidence.files and not evidence.commits:
        claims.append(count_of(report.files_modified, "modified file"))
    if report.tasks_completed > 0 and not evidence.tasks_done:
        claims.append(count_of(report.tasks_completed, "completed task"))
    return f"the report claims {' and '.join(claims)}, none was seen" if claims else None


def is_tick_alone(evidence: Evidence) -> bool:
    """Whether a task was ticked and nothing outside the loop's own files was changed (SPEC §6)."""
    real_commits = any(commit.files for commit in evidence.commits)
    return bool(evidence.tasks_done) and not evidence.files and not real_commits


def _judge(
    changes: Changes,
    tasks_done: tuple[str, ...],
    seen: Collection[str],
    kinds: Collection[EvidenceKind],
    report: Report | None,
) -> tuple[bool, str]:
    if changes.fingerprint and changes.fingerprint in seen:
        undone = changes.commits or changes.files
        if undone:
            return False, "the work tree is back in a state that this run has seen before"
    elif progress := _progress(changes, tasks_done, kinds):
        return True, progress
    if EvidenceKind.DECLARED in kinds and report is not None and _declares(report):
        return True, "the report declares progress"
    if tasks_done:
        return False, "a task was ticked and nothing else changed"
    if changes.commits:
        return False, "the commits touch only the loop's own files"
    return False, "nothing changed outside the loop's own files"


def _progress(
    changes: Changes, tasks_done: tuple[str, ...], kinds: Collection[EvidenceKind]
) -> str:
    real_commits = [commit for commit in changes.commits if commit.files]
    parts: list[str] = []
    if real_commits and EvidenceKind.COMMITS in kinds:
        parts.append(count_of(len(real_commits), "commit"))
    if changes.files and EvidenceKind.WORKTREE in kinds:
        parts.append(count_of(changes.files, "file"))
    if tasks_done and EvidenceKind.TASKS in kinds and (changes.files or real_commits):
        parts.append(count_of(len(tasks_done), "task"))
    return ", ".join(parts)


def _declares(report: Report) -> bool:
    return report.files_modified > 0 or report.tasks_completed > 0 or report.pr_ready
