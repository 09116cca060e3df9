"""What counts as progress, and what is only said (docs/rules.md#evidence)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.loop.evidence.progress import (
    Changes,
    contradiction,
    is_tick_alone,
    judge_progress,
    new_head,
)
from ralph_ls.core.loop.evidence.repetition import RepetitionHistory
from ralph_ls.protocol.config.config import EvidenceKind
from ralph_ls.protocol.run.report import Report, ReportKind
from ralph_ls.protocol.run.values import Again, CommitSeen, Evidence, Mode

DEFAULT = (EvidenceKind.COMMITS, EvidenceKind.WORKTREE, EvidenceKind.TASKS)
WITH_DECLARED = (*DEFAULT, EvidenceKind.DECLARED)
HEAD = (EvidenceKind.HEAD,)
real = CommitSeen(hash="1" * 40, subject="change", files=2)
own = CommitSeen(hash="2" * 40, subject="plan alone", files=0)
nested = CommitSeen(hash="3" * 40, subject="inside", files=1, repository="lib")
users_commit = CommitSeen(hash="4" * 40, subject="by hand", files=3, by_person=True)

undone = CommitSeen(hash="5" * 40, subject="a violation", files=1, undone=True)


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
    mode: Mode = Mode.BUILD,
    plan_changed: bool = False,
    moved: tuple[str, ...] = (),
) -> Evidence:
    changes = Changes(commits=commits, files=files, fingerprint=fingerprint)
    return judge_progress(
        changes,
        tasks_done=tasks_done,
        before=RepetitionHistory(end_states=seen, is_first_weak_commit=False),
        kinds=kinds,
        report=said,
        mode=mode,
        plan_changed=plan_changed,
        moved=moved,
    )


@pytest.mark.parametrize(
    ("evidence", "why"),
    [
        (judged(real), "1 commit"),
        (judged(real, nested), "2 commits"),
        (judged(files=1), "1 file"),
        (judged(real, files=2), "1 commit, 2 files"),
        (judged(files=1, tasks_done=("a",)), "1 file, 1 task"),
        (judged(real, tasks_done=("a",), kinds=(DEFAULT[0], DEFAULT[2])), "1 commit, 1 task"),
        (judged(files=2, tasks_done=("a",), kinds=(EvidenceKind.TASKS,)), "1 task"),
        (judged(real, files=3, kinds=(EvidenceKind.WORKTREE,)), "3 files"),
        (judged(users_commit, real), "1 commit"),
        (judged(users_commit, files=1), "1 file"),
        (judged(real, fingerprint="", seen=("",)), "1 commit"),
        (
            judged(said=report(FILES_MODIFIED=1), kinds=WITH_DECLARED),
            "the report declares progress",
        ),
        (
            judged(users_commit, said=report(PR_READY="true"), kinds=WITH_DECLARED),
            "the report declares progress",
        ),
        pytest.param(judged(own, fingerprint="start", kinds=HEAD), "1 commit", id="any new HEAD"),
        pytest.param(
            judged(real, files=1, fingerprint="start", kinds=HEAD), "1 commit", id="HEAD, undone"
        ),
        pytest.param(
            judged(own, real, nested, files=2, kinds=(*HEAD, *DEFAULT)),
            "3 commits, 2 files",
            id="each commit counts once",
        ),
        pytest.param(
            judged(own, kinds=HEAD, mode=Mode.PLAN, plan_changed=False), "1 commit", id="HEAD, plan"
        ),
        pytest.param(
            judged(fingerprint="start", mode=Mode.PLAN, plan_changed=True),
            "the plan changed",
            id="a plan iteration that planned",
        ),
        pytest.param(
            judged(said=report(FILES_MODIFIED=1), kinds=WITH_DECLARED, mode=Mode.PLAN),
            "the report declares progress",
            id="a plan iteration that declares progress",
        ),
        pytest.param(
            judged(moved=("a",), fingerprint="start", kinds=HEAD),
            "1 task moved on in review",
            id="a review that nobody committed",
        ),
        pytest.param(judged(own, moved=("a",), kinds=HEAD), "1 commit", id="one with a commit"),
    ],
)
def test_progress(evidence: Evidence, why: str) -> None:
    assert (evidence.progress, evidence.why) == (True, why)


NOTHING = "nothing changed outside the loop's own files"
PERSONS = "the only commit is yours, and nothing else changed"
NO_PROGRESS = {
    "nothing": (judged(fingerprint="start"), NOTHING),
    "a report": (judged(said=report(FILES_MODIFIED=3)), NOTHING),
    "a tick alone": (judged(tasks_done=("a",)), "a task was ticked, but nothing else changed"),
    "a tick with a commit of the plan": (judged(own, tasks_done=("a",)), "a task was ticked"),
    "a tick with a person's commit": (judged(users_commit, tasks_done=("a",)), "a task was ticked"),
    "a commit of the plan": (judged(own), "the commits touch only the loop's own files"),
    "a commit of the plan beside a person's": (judged(own, users_commit), "the commits touch only"),
    "a state seen before": (
        judged(real, files=1, fingerprint="start"),
        "back in an earlier state of this run",
    ),
    "a state seen before, declared": (
        judged(files=1, fingerprint="start", said=report(PR_READY="true"), kinds=WITH_DECLARED),
        "an earlier state",
    ),
    "a commit where only files count": (
        judged(real, kinds=(EvidenceKind.WORKTREE,)),
        "the commits touch only",
    ),
    "a violation alone": (judged(undone, kinds=HEAD), "was a forbidden change, and was restored"),
    "a violation beside a person's": (judged(users_commit, undone), "a forbidden change"),
    "declares nothing": (judged(said=report(), kinds=WITH_DECLARED), NOTHING),
    "no report to declare anything": (judged(kinds=WITH_DECLARED), NOTHING),
    "a person's commit": (judged(users_commit), PERSONS),
    "a person's commit that led back": (judged(users_commit, fingerprint="start"), PERSONS),
    "a person's commit where HEAD counts": (judged(users_commit, kinds=HEAD), PERSONS),
    "two commits of users": (
        judged(users_commit, users_commit),
        "the only commits are yours",
    ),
    "a nested commit where HEAD counts": (judged(nested, kinds=HEAD), "the commits touch only"),
    "files where HEAD counts": (judged(files=2, kinds=HEAD), "changed files alone are no progress"),
    "a plan that changed, in a build": (judged(plan_changed=True), NOTHING),
    "a plan iteration that built": (
        judged(real, files=2, tasks_done=("a",), mode=Mode.PLAN),
        "the plan did not change",
    ),
    "a plan iteration that claims to have planned": (
        judged(said=report(FILES_MODIFIED=1), mode=Mode.PLAN),
        "the plan did not change",
    ),
}


@pytest.mark.parametrize("name", NO_PROGRESS)
def test_no_progress(name: str) -> None:
    evidence, why = NO_PROGRESS[name]
    assert not evidence.progress
    assert why in evidence.why


def test_declared_progress_needs_no_change() -> None:
    for said in (report(TASKS_COMPLETED_THIS_LOOP=1), report(PR_READY="true")):
        assert judged(fingerprint="start", said=said, kinds=WITH_DECLARED).progress


@pytest.mark.parametrize(
    ("said", "evidence", "claim"),
    [
        (None, judged(), None),
        (report(FILES_MODIFIED=0), judged(), None),
        (report(FILES_MODIFIED=2), judged(files=1), None),
        (report(FILES_MODIFIED=2), judged(real), None),
        (
            report(FILES_MODIFIED=2, TASKS_COMPLETED_THIS_LOOP=1),
            judged(users_commit),
            (
                "the report claims 2 modified files and 1 completed task, but there is no "
                "evidence of it"
            ),
        ),
        (
            report(FILES_MODIFIED=1),
            judged(),
            "the report claims 1 modified file, but there is no evidence of it",
        ),
        (
            report(TASKS_COMPLETED_THIS_LOOP=2),
            judged(files=1),
            "the report claims 2 completed tasks, but there is no evidence of it",
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
    assert is_tick_alone(judged(users_commit, tasks_done=("a",)))


def test_a_changed_plan_is_a_modified_file() -> None:
    said = report(FILES_MODIFIED=1)
    planned = judged(mode=Mode.PLAN, plan_changed=True)
    assert contradiction(said, planned, plan_changed=True) is None
    assert (
        contradiction(said, planned)
        == "the report claims 1 modified file, but there is no evidence of it"
    )


def test_a_new_head_is_the_agents_last_commit_in_the_workspace() -> None:
    assert new_head(judged()) is None
    assert new_head(judged(users_commit, nested)) is None
    assert new_head(judged(undone, kinds=HEAD)) is None
    assert new_head(judged(real, own, nested, users_commit)) == own.hash


COMMITS = st.lists(
    st.builds(
        CommitSeen,
        hash=st.sampled_from(["a" * 40, "b" * 40]),
        subject=st.just("x"),
        files=st.integers(0, 2),
        repository=st.sampled_from(["", "lib"]),
        by_person=st.booleans(),
    ),
    max_size=4,
).map(tuple)
REPORTS = st.builds(
    report,
    FILES_MODIFIED=st.integers(0, 9),
    TASKS_COMPLETED_THIS_LOOP=st.integers(0, 9),
    PR_READY=st.sampled_from(["true", "false"]),
)
KINDS = st.sets(st.sampled_from(list(EvidenceKind))).map(tuple)
MODES = st.sampled_from(list(Mode))


@given(said=REPORTS, kinds=KINDS, mode=MODES, by_hand=COMMITS, fingerprint=st.text(max_size=1))
def test_a_report_alone_is_progress_only_where_it_is_asked_for(
    said: Report,
    kinds: tuple[EvidenceKind, ...],
    mode: Mode,
    by_hand: tuple[CommitSeen, ...],
    fingerprint: str,
) -> None:
    """The same holds beside commits of users."""
    commits = [commit.model_copy(update={"by_person": True}) for commit in by_hand]
    evidence = judged(*commits, fingerprint=fingerprint, said=said, kinds=kinds, mode=mode)
    asked = said.files_modified > 0 or said.tasks_completed > 0 or said.pr_ready
    assert evidence.progress == (asked and EvidenceKind.DECLARED in kinds)


@given(
    commits=COMMITS,
    files=st.integers(0, 2),
    done=st.sampled_from([(), ("a",)]),
    kinds=KINDS,
    mode=MODES,
    changed=st.booleans(),
    fingerprint=st.sampled_from(["start", "new", ""]),
)
def test_commits_by_users_change_no_judgement(
    commits: tuple[CommitSeen, ...],
    files: int,
    done: tuple[str, ...],
    kinds: tuple[EvidenceKind, ...],
    mode: Mode,
    changed: bool,
    fingerprint: str,
) -> None:
    def judge_of(*counted: CommitSeen) -> Evidence:
        return judged(
            *counted,
            files=files,
            tasks_done=done,
            kinds=kinds,
            mode=mode,
            plan_changed=changed,
            fingerprint=fingerprint,
        )

    with_persons = judge_of(*commits)
    alone = judge_of(*(commit for commit in commits if not commit.by_person))
    assert with_persons.progress == alone.progress
    assert new_head(with_persons) == new_head(alone)
    assert with_persons.commits == commits
    assert with_persons.why


def again(kind: Again | None, before: RepetitionHistory, **fields: Any) -> Evidence:
    """Judged where the same files changed again, with what the iterations before did."""
    changes = Changes(files=1, paths=("a.txt",), fingerprint="new", again=kind, **fields)
    return judge_progress(changes, tasks_done=(), before=before, kinds=DEFAULT, report=None)


@pytest.mark.parametrize(
    ("kind", "before", "why"),
    [
        (Again.OUTPUT, RepetitionHistory(), "only output files changed again: a.txt"),
        (Again.OUTPUT, RepetitionHistory(is_strict=False), "1 file"),
        (Again.SAME, RepetitionHistory(repeats=1), "1 file"),
        (Again.SAME, RepetitionHistory(repeats=2), "the same files keep changing"),
        (Again.SAME, RepetitionHistory(repeats=2, loop_commits=True), "1 file"),
        (Again.SAME, RepetitionHistory(repeats=2, is_strict=False), "1 file"),
        (Again.EDITED, RepetitionHistory(repeats=3), "1 file"),
        (Again.EDITED, RepetitionHistory(repeats=4), "the same files keep changing"),
    ],
)
def test_the_same_files_again(kind: Again, before: RepetitionHistory, why: str) -> None:
    evidence = again(kind, before)
    assert evidence.progress is (why == "1 file")
    assert why in evidence.why


@pytest.mark.parametrize(
    ("before", "progress"),
    [
        (RepetitionHistory(loop_commits=True), True),
        (RepetitionHistory(loop_commits=True, is_first_weak_commit=False), False),
        (RepetitionHistory(is_first_weak_commit=False), True),
    ],
)
def test_white_space_alone_is_judged_where_it_is_committed(
    before: RepetitionHistory, *, progress: bool
) -> None:
    evidence = again(None, before, cosmetic=True)
    assert evidence.progress is progress
    assert progress or evidence.why == "only white space and modes changed"


def test_a_way_back_that_finished_a_task_is_progress_once() -> None:
    for advanced, loop_commits, progress in [
        (None, True, True),
        (False, True, False),
        (None, False, False),
    ]:
        evidence = judge_progress(
            Changes(files=1, fingerprint="start", advanced=advanced),
            tasks_done=("a",),
            before=RepetitionHistory(end_states=("start",), loop_commits=loop_commits),
            kinds=DEFAULT,
            report=None,
        )
        assert evidence.progress is progress


def test_output_of_ralph_itself_is_named() -> None:
    found = Changes(fingerprint="start", engine_output=("out.json",))
    evidence = judge_progress(
        found,
        tasks_done=(),
        before=RepetitionHistory(end_states=("start",)),
        kinds=DEFAULT,
        report=None,
    )
    assert not evidence.progress
    assert evidence.why == "only ralph's own output changed: out.json"


def test_at_most_fifty_paths_are_kept() -> None:
    paths = tuple(f"{number}.txt" for number in range(60))
    found = Changes(files=60, paths=paths, fingerprint="new")
    evidence = judge_progress(
        found, tasks_done=(), before=RepetitionHistory(), kinds=DEFAULT, report=None
    )
    assert (evidence.files, evidence.paths) == (60, paths[:50])
