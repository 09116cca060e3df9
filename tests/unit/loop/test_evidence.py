"""What counts as progress, and what is only said (SPEC §6)."""

from __future__ import annotations

from typing import Any

import pytest

from ralph_ls.core.loop.evidence import Changes, contradiction, is_tick_alone, judge
from ralph_ls.protocol.config import EvidenceKind
from ralph_ls.protocol.evidence import CommitSeen, Evidence
from ralph_ls.protocol.report import Report, ReportKind

DEFAULT = (EvidenceKind.COMMITS, EvidenceKind.WORKTREE, EvidenceKind.TASKS)
WITH_DECLARED = (*DEFAULT, EvidenceKind.DECLARED)
real = CommitSeen(hash="1" * 40, subject="change", files=2)
own = CommitSeen(hash="2" * 40, subject="plan alone", files=0)
nested = CommitSeen(hash="3" * 40, subject="inside", files=1, repository="lib")


def report(**fields: Any) -> Report:
    block = {name: str(value) for name, value in fields.items()}
    return Report(kind=ReportKind.RALPH_STATUS, fields=block)


def judged(
    *commits: CommitSeen,
    files: int = 0,
    fingerprint: str = "new",
    tasks_done: tuple[str, ...] = (),
    seen: tuple[str, ...] = ("start",),
    kinds: tuple[EvidenceKind, ...] = DEFAULT,
    said: Report | None = None,
) -> Evidence:
    changes = Changes(commits=commits, files=files, fingerprint=fingerprint)
    return judge(changes, tasks_done=tasks_done, seen=seen, kinds=kinds, report=said)


PROGRESS = {
    "1 commit": judged(real),
    "2 commits": judged(real, nested),
    "1 file": judged(files=1),
    "1 commit, 2 files": judged(real, files=2),
    "1 file, 1 task": judged(files=1, tasks_done=("a",)),
    "1 commit, 1 task": judged(real, tasks_done=("a",), kinds=(*DEFAULT[:1], DEFAULT[2])),
    "3 files": judged(real, files=3, kinds=(EvidenceKind.WORKTREE,)),
    "the report declares progress": judged(said=report(FILES_MODIFIED=1), kinds=WITH_DECLARED),
}


@pytest.mark.parametrize("why", PROGRESS)
def test_progress(why: str) -> None:
    assert (PROGRESS[why].progress, PROGRESS[why].why) == (True, why)


NO_PROGRESS = {
    "nothing": (judged(fingerprint="start"), "nothing changed outside the loop's own files"),
    "a report": (judged(said=report(FILES_MODIFIED=3)), "nothing changed outside"),
    "a tick alone": (judged(tasks_done=("a",)), "a task was ticked and nothing else changed"),
    "a tick with a commit of the plan": (judged(own, tasks_done=("a",)), "a task was ticked"),
    "a commit of the plan": (judged(own), "the commits touch only the loop's own files"),
    "a state seen before": (
        judged(real, files=1, fingerprint="start"),
        "back in a state that this run has seen before",
    ),
    "a state seen before, declared": (
        judged(files=1, fingerprint="start", said=report(PR_READY="true"), kinds=WITH_DECLARED),
        "seen before",
    ),
    "a commit where only files count": (
        judged(real, kinds=(EvidenceKind.WORKTREE,)),
        "the commits touch only",
    ),
    "declares nothing": (judged(said=report(), kinds=WITH_DECLARED), "nothing changed"),
    "no report to declare anything": (judged(kinds=WITH_DECLARED), "nothing changed"),
}


@pytest.mark.parametrize("name", NO_PROGRESS)
def test_no_progress(name: str) -> None:
    evidence, why = NO_PROGRESS[name]
    assert not evidence.progress
    assert why in evidence.why


def test_declared_progress_needs_no_change() -> None:
    for said in (report(TASKS_COMPLETED_THIS_LOOP=1), report(PR_READY="yes")):
        assert judged(fingerprint="start", said=said, kinds=WITH_DECLARED).progress


@pytest.mark.parametrize(
    ("said", "evidence", "claim"),
    [
        (None, judged(), None),
        (report(FILES_MODIFIED=0), judged(), None),
        (report(FILES_MODIFIED=2), judged(files=1), None),
        (report(FILES_MODIFIED=2), judged(real), None),
        (report(FILES_MODIFIED=1), judged(), "the report claims 1 modified file, none was seen"),
        (
            report(TASKS_COMPLETED_THIS_LOOP=2),
            judged(files=1),
            "the report claims 2 completed tasks, none was seen",
        ),
        (report(TASKS_COMPLETED_THIS_LOOP=1), judged(files=1, tasks_done=("a",)), None),
    ],
)
def test_claims(said: Report | None, evidence: Evidence, claim: str | None) -> None:
    assert contradiction(said, evidence) == claim


def test_a_tick_alone_is_known() -> None:
    assert is_tick_alone(judged(tasks_done=("a",)))
    assert is_tick_alone(judged(own, tasks_done=("a",)))
    assert not is_tick_alone(judged(real, tasks_done=("a",)))
    assert not is_tick_alone(judged(files=1, tasks_done=("a",)))
    assert not is_tick_alone(judged())
