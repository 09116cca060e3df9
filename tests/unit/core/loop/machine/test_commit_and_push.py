"""Commit and push after an iteration: when they are due, what is reported, and what they mean."""

from __future__ import annotations

from typing import Any

import pytest

from ralph_ls.core.loop import effects as order
from ralph_ls.core.loop.inputs import Interrupted, Notice, WorkCommitted, WorkPushed
from ralph_ls.core.loop.state import Awaits
from ralph_ls.protocol.run.report import SessionSeen
from tests.unit.core.loop.simulated_project import (
    SimulatedProject,
    Turn,
    asks,
    crash,
    edits_only,
    finishes,
    is_blocked,
    no_progress,
    progress,
    promise,
    timeout,
    turn,
)
from tests.unit.core.loop.simulated_run import SimulatedRun, command, play, settings

LOOP: dict[str, Any] = {"commits": "loop"}
BOTH: dict[str, Any] = {"commits": "loop", "push": True}

CTRL_C_TWICE = (Interrupted(by="Ctrl-C"), Interrupted(by="Ctrl-C"))

VALIDATED = turn(STATUS="IN_PROGRESS", files=1, validates=(True,))
INVALID = turn(STATUS="IN_PROGRESS", files=1, validates=(False,))


def held(awaits: Awaits, *script: Turn, **fields: Any) -> SimulatedRun:
    """A run that waits for its commit or its push."""
    simulated = SimulatedProject(script=list(script) or [edits_only])
    return SimulatedRun(simulated=simulated, config=settings(**{**BOTH, **fields})).until(awaits)


def ordered(played: SimulatedRun, kind: type[order.Effect]) -> list[Any]:
    return [effect for effect in played.effects if isinstance(effect, kind)]


def after_settling(played: SimulatedRun) -> list[str]:
    kinds = {"validated", "committed", "pushed", "iterationEnded", "questionAsked", "runEnded"}
    return [kind for kind in played.kinds() if kind in kinds]


class TestOrder:
    def test_validation_commit_push_and_then_what_it_all_means(self) -> None:
        done = turn(
            files=1,
            ticks=("write the letter",),
            EXIT_SIGNAL="true",
            words=("done", "finished"),
            validates=(True,),
        )
        played = play(done, **BOTH)
        assert after_settling(played) == [
            "validated",
            "committed",
            "pushed",
            "iterationEnded",
            "runEnded",
        ]
        (ended,) = played.events_of("iterationEnded")
        (committed,) = played.events_of("committed")
        assert (ended.commit, ended.uncommitted) == (committed.commit, False)
        assert played.run.commit_base is None

    def test_the_last_commit_is_known_as_such(self) -> None:
        work = turn(files=1)
        last = turn(files=1, promises=(promise("decide", "Ink or pencil?"),))
        played = play(work, last, **BOTH)
        assert [one.is_last for one in ordered(played, order.CommitWork)] == [False, True]
        played = play(work, work, max_iterations=2, **BOTH)
        assert [one.is_last for one in ordered(played, order.CommitWork)] == [False, True]

    def test_a_task_that_is_given_up_is_named_so(self) -> None:
        gives_up = turn(files=1, STATUS="BLOCKED", RECOMMENDATION="no ink")
        played = play(gives_up, on_blocked="set-aside", **BOTH)
        message = ordered(played, order.CommitWork)[0].message
        assert message.startswith("ralph: write the letter (gave up)\n\n- Gave up: no ink\n")

    def test_an_iteration_that_asks_is_committed_first(self) -> None:
        played = play(asks("a or b?", files=1), **LOOP)
        assert after_settling(played) == [
            "committed",
            "questionAsked",
            "iterationEnded",
            "runEnded",
        ]

    def test_one_that_is_blocked_too(self) -> None:
        played = play(is_blocked("no key", files=1), **LOOP)
        assert [
            played.run.end.reason.value if played.run.end else "",
            len(played.simulated.commits),
        ] == [
            "blocked",
            1,
        ]

    def test_where_the_agent_commits_the_loop_does_not(self) -> None:
        played = play(edits_only, progress, max_iterations=2)
        assert not ordered(played, order.CommitWork)
        assert not ordered(played, order.PushWork)

    def test_where_the_agent_commits_the_loop_may_push(self) -> None:
        played = play(progress, max_iterations=1, push=True)
        assert after_settling(played)[0] == "pushed"
        assert not ordered(played, order.CommitWork)

    def test_what_is_held_against_is_the_tree_at_the_iterations_start(self) -> None:
        played = play(edits_only, edits_only, max_iterations=2, **LOOP)
        first, second = ordered(played, order.CommitWork)
        starts = [event.baseline for event in played.events_of("iterationStarted")]
        assert [first.base, second.base] == starts
        assert [first.since, second.since] == [None, played.simulated.commits[0][0]]


class TestNotDue:
    @pytest.mark.parametrize(
        "spoiled",
        [
            pytest.param(INVALID, id="invalid"),
            pytest.param(
                turn(fields=None, silent=True, files=1, failure="limit", limit=None), id="silent"
            ),
        ],
    )
    def test_what_does_not_hold_is_not_committed(self, spoiled: Turn) -> None:
        played = play(spoiled, max_iterations=1, **BOTH)
        is_invalid = spoiled is INVALID
        assert bool(ordered(played, order.CommitWork)) is not is_invalid
        assert played.events_of("iterationEnded")[0].uncommitted is is_invalid

    def test_the_next_commit_takes_along_what_was_not_committed(self) -> None:
        simulated = SimulatedProject(script=[INVALID, edits_only])
        played = SimulatedRun(
            simulated=simulated, config=settings(max_iterations=2, **BOTH)
        ).start()
        assert played.run.end is not None
        assert played.run.commit_base is not None
        played.resume(config=settings(max_iterations=2, **BOTH))
        (commit,) = ordered(played, order.CommitWork)
        first, second = played.events_of("iterationStarted")
        assert commit.base == first.baseline != second.baseline
        assert commit.since == second.baseline.head
        assert played.run.commit_base is None

    def test_a_timeout_that_stops_is_committed_and_neither_validated_nor_pushed(self) -> None:
        late = turn(fields=None, end=timeout.end, files=1, validates=(False,))
        played = play(late, on_timeout="stop", **BOTH)
        assert after_settling(played) == ["committed", "iterationEnded", "runEnded"]
        assert (played.exit_code, ordered(played, order.PushWork)) == (5, [])

    def test_a_timeout_that_does_not_stop_is_validated_and_pushed(self) -> None:
        late = turn(fields=None, end=timeout.end, files=1, validates=(True,))
        played = play(late, max_iterations=1, **BOTH)
        assert after_settling(played)[:3] == ["validated", "committed", "pushed"]

    def test_a_lost_iteration_is_committed_as_its_own_and_not_pushed_by_itself(self) -> None:
        played = held(Awaits.EXIT)
        played.simulated.change(edits_only)
        played.simulated.n_turns += 1
        played.simulated.afterwards = no_progress
        played.config = settings(max_iterations=2, **BOTH)
        played.resume(config=played.config)
        lost = played.events_of("iterationEnded")[0]
        assert (lost.outcome.value, lost.uncommitted) == ("lost", False)
        first = ordered(played, order.CommitWork)[0]
        assert first.base == played.events_of("iterationStarted")[0].baseline
        assert "Ralph-Iteration: 1\n" in first.message
        assert lost.commit == played.simulated.commits[0][0]
        assert [one.iteration for one in ordered(played, order.PushWork)] == [2]


class TestCommitted:
    def test_nothing_to_commit_is_reported_with_nothing(self) -> None:
        played = play(no_progress, max_iterations=1, **BOTH)
        assert not played.events_of("committed")
        (ended,) = played.events_of("iterationEnded")
        assert (ended.commit, ended.uncommitted) == (None, False)

    def test_what_keeps_it_is_reported_and_the_run_continues(self) -> None:
        simulated = SimulatedProject(script=[edits_only, no_progress], hook="line 7 is ugly")
        played = play(simulated=simulated, max_iterations=2, **LOOP)
        first, second = played.events_of("iterationEnded")
        assert (first.outcome.value, first.commit, first.uncommitted) == ("progress", None, True)
        assert played.warnings() == ["commit-failed"] * 2
        assert played.events_of("warned")[0].message == (
            "the work of iteration 1 is not committed; it is still in the work tree: line 7 is ugly"
        )
        assert (second.outcome.value, second.uncommitted) == ("noProgress", True)

    def test_a_run_whose_last_commit_failed_is_not_complete(self) -> None:
        """Exit code 0 would leave work of the loop behind that is in no commit."""
        finishing = turn(files=1, ticks=("write the letter",), promises=(promise("complete"),))
        simulated = SimulatedProject(
            script=[finishing] * 3, tasks={"write the letter": "todo"}, hook="line 7 is ugly"
        )
        played = play(simulated=simulated, gate_rule="verified", **LOOP)
        assert played.exit_code == 5
        assert played.run.end is not None
        assert "the work of iteration 1 is not committed" in played.run.end.message
        simulated.hook = ""
        played.resume()
        assert played.exit_code == 0
        assert len(simulated.commits) == 1

    def test_what_is_left_out_is_reported(self) -> None:
        played = held(Awaits.COMMIT)
        notices = (Notice(code="secrets-left-out", message="left out of the commit: .env"),)
        played.queue.clear()
        played.go_on(WorkCommitted(notices=notices))
        assert "secrets-left-out" in played.warnings()

    def test_the_loops_commit_is_a_new_head(self) -> None:
        played = play(*[edits_only] * 3, max_iterations=3, max_stuck=1, **LOOP)
        assert [event.stuck_count for event in played.events_of("iterationEnded")] == [0, 0, 0]
        assert played.run.stuck_iterations == 0

    @pytest.mark.parametrize(("commits", "progress"), [("loop", True), ("agent", False)])
    def test_what_it_will_commit_counts_where_a_new_head_does(
        self, commits: str, progress: bool
    ) -> None:
        played = play(edits_only, max_iterations=1, commits=commits, progress_evidence=["head"])
        assert played.events_of("evidenceGathered")[0].evidence.progress is progress

    def test_nothing_of_it_is_reported_where_the_user_stopped_it(self) -> None:
        played = held(Awaits.COMMIT)
        played.queue.clear()
        played.go_on(*CTRL_C_TWICE, WorkCommitted(problem="it was stopped"), WorkPushed())
        assert (played.warnings(), played.events_of("committed")) == ([], [])
        (ended,) = played.events_of("iterationEnded")
        assert (ended.outcome.value, ended.uncommitted) == ("stopped", True)
        assert played.exit_code == 130

    def test_a_stop_after_the_iteration_lets_it_be_committed_and_pushed(self) -> None:
        played = held(Awaits.COMMIT)
        played.feed(command("stop"))
        played.go_on()
        assert after_settling(played) == ["committed", "pushed", "iterationEnded", "runEnded"]
        assert played.exit_code == 130


class TestPushed:
    def test_it_is_reported(self) -> None:
        played = play(edits_only, max_iterations=1, **BOTH)
        (pushed,) = played.events_of("pushed")
        assert (pushed.ok, pushed.remote, pushed.branch, pushed.created) == (
            True,
            "origin",
            "main",
            True,
        )

    def test_nothing_to_push_is_reported_with_nothing(self) -> None:
        played = play(
            simulated=SimulatedProject(script=[edits_only], remote=None), max_iterations=1, **BOTH
        )
        assert not played.events_of("pushed")

    def test_three_failures_are_fatal_with_what_to_look_at(self) -> None:
        simulated = SimulatedProject(script=[edits_only], refusals=("no route\n to host",))
        played = play(simulated=simulated, **BOTH)
        assert played.run.end is not None
        assert played.exit_code == 5
        assert played.run.end.message == (
            "pushing main to origin failed 3 times: no route to host; check the network, your "
            "permission to push, conflicting commits on the remote and its URL (git remote -v); "
            "then continue with: ralph run --resume"
        )
        assert played.events_of("iterationEnded")[0].uncommitted is False

    def test_a_finishing_iteration_that_cannot_be_pushed_is_fatal(self) -> None:
        simulated = SimulatedProject(script=[finishes], refusals=("no route to host",))
        assert play(simulated=simulated, **BOTH).exit_code == 5

    def test_a_rejected_one_says_how_to_get_what_the_remote_has(self) -> None:
        simulated = SimulatedProject(script=[edits_only], refusals=("[rejected] (fetch first)",))
        played = play(simulated=simulated, **BOTH)
        assert played.run.end is not None
        assert "git pull --rebase origin main" in played.run.end.message
        assert "ralph never forces a push" in played.run.end.message

    def test_a_branch_that_is_none_names_no_remote(self) -> None:
        played = held(Awaits.PUSH)
        played.queue.clear()
        played.go_on(WorkPushed(ok=False, branch="a detached HEAD", tries=1))
        assert played.run.end is not None
        message = played.run.end.message
        assert message.startswith("pushing a detached HEAD failed 1 time: git printed nothing; ")

    def test_notices_are_reported(self) -> None:
        played = held(Awaits.PUSH)
        played.queue.clear()
        played.go_on(WorkPushed(notices=(Notice(code="a", message="b"),)))
        assert "a" in played.warnings()

    def test_one_that_the_user_stopped_is_not_reported(self) -> None:
        played = held(Awaits.PUSH)
        played.queue.clear()
        played.go_on(*CTRL_C_TWICE, WorkPushed(ok=False, tries=1))
        assert not played.events_of("pushed")
        assert played.exit_code == 130
        assert played.events_of("iterationEnded")[0].uncommitted is False

    @pytest.mark.parametrize("late", [WorkCommitted(), WorkPushed()], ids=["committed", "pushed"])
    def test_late_answers_move_nothing(self, late: WorkCommitted | WorkPushed) -> None:
        played = held(Awaits.EXIT)
        assert played.feed(late).ignored


def test_a_crash_is_tried_again_before_anything_is_committed() -> None:
    played = play(crash, edits_only, max_iterations=1, **BOTH)
    assert len(ordered(played, order.CommitWork)) == 1
    assert played.events_of("committed")[0].iteration == 1


def test_a_session_does_not_matter() -> None:
    played = play(turn(files=1, session=SessionSeen(id="s-1")), max_iterations=1, **BOTH)
    assert after_settling(played)[:2] == ["committed", "pushed"]
