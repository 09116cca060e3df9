from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.views.model.history import (
    MAX_RECAP_CHARS,
    MAX_STARTS,
    History,
    IterationRecap,
    TaskCompletion,
    history,
    start_link,
)
from ralph_ls.core.views.model.words import claim_words, evidence_words
from ralph_ls.protocol.run.events import (
    CircuitBreakerStateChange,
    Committed,
    CompletionRefused,
    CriteriaVerified,
    EventBase,
    IterationStarted,
    RolledBack,
    Validated,
)
from ralph_ls.protocol.run.iteration_events import CriterionChecked
from ralph_ls.protocol.run.judge_events import Judged
from ralph_ls.protocol.run.report import Claims, JudgeVerdict, RequestedChange, Usage
from ralph_ls.protocol.run.values import Baseline, Breaker, BreakerState, CommitSeen, Evidence
from tests.unit.core.loop.simulated_project import finishes, no_progress, progress
from tests.unit.core.loop.simulated_run import play
from tests.unit.core.views.document_contexts import (
    CHOOSE,
    COMMIT,
    LETTER,
    READ,
    begins,
    ends,
    event,
    reports,
    shows,
    started,
    task,
)

JOURNAL = (
    started(),
    begins(1, CHOOSE),
    reports(1, STATUS="IN_PROGRESS"),
    shows(1, files=1, commit=COMMIT, done=(READ,)),
    ends(1, usage=Usage(cost_usd=0.25)),
    begins(2, CHOOSE),
    shows(2),
    event(CompletionRefused, iteration=2, why="open"),
    event(Validated, iteration=2, ok=True),
    ends(2, usage=Usage(cost_usd=0.5)),
    begins(3, None),
    reports(3, STATUS="COMPLETE"),
    ends(3, usage=Usage()),
)


def test_it_knows_who_did_what() -> None:
    known = history(JOURNAL)
    choose = task(CHOOSE)
    assert known.tasks == {1: choose, 2: choose}
    assert known.attempts == {choose.id: (1, 2)}
    assert known.completions == {task(READ).id: TaskCompletion(iteration=1, start=1, commit=COMMIT)}
    assert known.recaps == {
        choose.id: IterationRecap(iteration=2, start=2, facts=evidence_words(shows(2).evidence))
    }
    assert known.refused == JOURNAL[7]
    assert known.validated == JOURNAL[8]
    assert known.cost_usd == 0.75


def test_what_was_rolled_back_is_done_no_more() -> None:
    first = task(READ)
    undone = event(RolledBack, iteration=1, ok=True)
    refused = event(RolledBack, iteration=1, ok=False)
    other = event(RolledBack, iteration=2, ok=True)
    assert first.id not in history([*JOURNAL, undone]).completions
    assert first.id in history([*JOURNAL, refused, other]).completions


def test_the_loops_own_commit_is_the_one_that_finished_a_task() -> None:
    committed = event(Committed, iteration=1, commit="c" * 40, subject="ralph: a")
    known = history(
        (*JOURNAL[:4], committed, event(Committed, iteration=2, commit="d" * 40, subject=""))
    )
    expected = TaskCompletion(iteration=1, start=1, commit="c" * 40)
    assert known.completions == {task(READ).id: expected}


def test_a_report_and_the_evidence_of_one_iteration_are_kept_together() -> None:
    known = history(JOURNAL[:4]).recaps[task(CHOOSE).id]
    assert known == IterationRecap(
        iteration=1,
        start=1,
        claims=claim_words(JOURNAL[2].report),
        facts=evidence_words(JOURNAL[3].evidence),
    )


@pytest.mark.parametrize("cut", range(len(JOURNAL)))
def test_it_continues_from_anywhere_and_leaves_what_it_had(cut: int) -> None:
    earlier = history(JOURNAL[:cut])
    copy = history((), earlier)
    assert history(JOURNAL[cut:], earlier) == history(JOURNAL)
    assert earlier == copy


def test_another_run_starts_again() -> None:
    assert history((*JOURNAL, started())) == History()


def test_a_commit_in_a_nested_repository_is_not_the_workspace_s() -> None:
    commits = (
        CommitSeen(hash="1" * 40, subject="a", files=1),
        CommitSeen(hash=COMMIT, subject="b", files=1),
        CommitSeen(hash="2" * 40, subject="c", files=1, repository="nested"),
    )
    told = shows(1, done=(LETTER,))
    evidence = Evidence(commits=commits, tasks_done=told.evidence.tasks_done)
    known = history([told.model_copy(update={"evidence": evidence})])
    assert known.completions[task(LETTER).id].commit == COMMIT


def test_the_users_commit_did_no_task() -> None:
    commits = (
        CommitSeen(hash=COMMIT, subject="a", files=1),
        CommitSeen(hash="2" * 40, subject="b", files=1, by_person=True),
    )
    told = shows(1, done=(LETTER,))
    evidence = Evidence(commits=commits, tasks_done=told.evidence.tasks_done)
    known = history([told.model_copy(update={"evidence": evidence})])
    assert known.completions[task(LETTER).id].commit == COMMIT


def test_a_link_to_a_start_has_its_attempt() -> None:
    again = event(IterationStarted, iteration=1, start=2, baseline=Baseline())
    known = history([started(), begins(1, CHOOSE), again])
    assert start_link(known, 1) == "start:1:1"
    assert start_link(known, 2) == "start:2:1:2"
    assert start_link(History(), 7, 5) == "start:7:5"


class TestDenials:
    FIRST = ends(1, permission_denials=2, denied_tools=("Bash", "Web"))

    def test_tools_are_kept_once_while_they_are_denied(self) -> None:
        again = ends(2, permission_denials=1, denied_tools=("Bash", "Edit"))
        assert history([self.FIRST, again]).denied == ("Bash", "Web", "Edit")

    def test_an_agent_that_cannot_report_them_leaves_them(self) -> None:
        assert history([self.FIRST, ends(2)]).denied == ("Bash", "Web")

    def test_an_iteration_without_one_forgets_them(self) -> None:
        assert history([self.FIRST, ends(2, permission_denials=0)]).denied == ()

    def test_so_does_the_users_reset_and_not_the_breaker_s_own_move(self) -> None:
        moved = event(
            CircuitBreakerStateChange,
            iteration=1,
            from_state=BreakerState.CLOSED,
            to_state=BreakerState.OPEN,
            reason="denied",
            breaker=Breaker(),
        )
        assert history([self.FIRST, moved]).denied == ("Bash", "Web")
        reset = moved.model_copy(update={"iteration": None, "start": None})
        assert history([self.FIRST, reset]).denied == ()


def test_a_whole_run_is_known_by_its_tasks() -> None:
    run = play(no_progress, progress, finishes)
    known = history(run.events)
    (done,) = known.completions.values()
    assert known.attempts == {"write the letter": (1, 2, 3)}
    assert done.iteration == 3
    assert done.commit == run.events_of("iterationEnded")[2].commit


@given(st.lists(st.sampled_from(JOURNAL), max_size=20))
def test_any_events_in_any_order_are_taken(events: list[object]) -> None:
    known = history(events)  # type: ignore[arg-type]
    assert set(known.recaps) <= set(known.attempts)


def test_only_checks_that_failed_are_kept_of_a_closed_task() -> None:
    failed = CriterionChecked(criterion="it runs", command="./run", exit_code=3)
    passed = failed.model_copy(update={"exit_code": 0})
    closed = [
        event(CriteriaVerified, iteration=1, task=task(READ), ok=False, checks=(failed,)),
        event(CriteriaVerified, iteration=2, task=task(READ), ok=True, checks=(passed,)),
    ]
    assert history(closed[:1]).verified == {task(READ).id: closed[0]}
    assert history(closed).verified == {}


def test_what_an_iteration_reported_is_kept_in_short_words() -> None:
    told = reports(1, STATUS="COMPLETE", RECOMMENDATION="look\nat it " * 100)
    known = history([begins(1, CHOOSE), told]).recaps[task(CHOOSE).id]
    assert known.claims == "COMPLETE"
    assert known.recommendation.startswith("look at it look at it")
    assert len(known.recommendation) <= MAX_RECAP_CHARS


@pytest.mark.parametrize(
    ("reported", "claims"),
    [
        ([reports(1, STATUS="COMPLETE")], 'COMPLETE, "Chose it", confidence 50'),
        ([], 'no status block, "Chose it", confidence 50'),
    ],
)
def test_the_claims_of_an_iteration_follow_its_report(
    reported: list[EventBase], claims: str
) -> None:
    made = Claims(summary="Chose it", confidence=50)
    known = history([begins(1, CHOOSE), *reported, ends(1, claims=made)])
    assert known.recaps[task(CHOOSE).id].claims == claims
    alone = history([ends(1, claims=made)])
    assert alone.recaps == {}


def test_a_verdict_is_kept_and_a_task_that_the_judge_opened_is_not_done() -> None:
    done = task(READ).id
    verdict = event(
        Judged,
        iteration=1,
        agent="codex",
        verdict=JudgeVerdict.CHANGES_REQUESTED,
        changes=(RequestedChange(reason="no test"),),
        reopened=(done,),
    )
    known = history([*JOURNAL[:4], verdict])
    assert known.recaps[task(CHOOSE).id].verdict == "changes requested: no test"
    assert known.completions == {}
    assert history([begins(1, None), verdict]).recaps == {}


def test_a_task_that_became_done_again_belongs_to_the_later_iteration() -> None:
    known = [begins(1, CHOOSE), shows(1, done=(READ, LETTER)), begins(2, CHOOSE)]
    known += [shows(2, done=(READ,)), event(Committed, iteration=2, commit="c" * 40, subject="")]
    done = history(known).completions
    assert (done[task(READ).id].start, done[task(READ).id].commit) == (2, "c" * 40)
    assert (done[task(LETTER).id].start, done[task(LETTER).id].commit) == (1, None)
    undone = history([*known, event(RolledBack, iteration=2, ok=True)]).completions
    assert list(undone) == [task(LETTER).id]


def test_the_tasks_of_the_newest_starts_are_known() -> None:
    known = history(begins(number, CHOOSE) for number in range(1, MAX_STARTS + 3))
    assert [*known.tasks] == [*range(3, MAX_STARTS + 3)]
    assert len(known.attempts[task(CHOOSE).id]) == MAX_STARTS + 2
