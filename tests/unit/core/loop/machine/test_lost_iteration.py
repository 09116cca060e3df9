"""Settling an iteration that lost its engine: its own part, and disputes about the rest."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ralph_ls.core.loop import effects as order
from ralph_ls.core.loop.evidence.ownership import Ownership, OwnershipOrder
from ralph_ls.core.loop.fold import fold
from ralph_ls.core.loop.inputs import Interrupted, IterationRead, PlanFacts, Prepared, Resumed
from ralph_ls.core.loop.machine.iteration_end import uncommitted_work
from ralph_ls.core.loop.machine.run_flow import BY_TERM
from ralph_ls.core.loop.state import Awaits, LoopState
from ralph_ls.protocol.run.events import RolledBack
from ralph_ls.protocol.run.values import Baseline, Phase, PlanCountsView
from tests.unit.core.loop.simulated_project import SimulatedProject, edits_only, no_progress, turn
from tests.unit.core.loop.simulated_run import BEGIN, SimulatedRun, command, facts, settings

LOOP: dict[str, Any] = {"commits": "loop", "push": True}
DISPUTED = Ownership(both=("plan.md",), unknown=("x",), users=("mine",))


def lost(*, wait: bool = False, **fields: Any) -> SimulatedRun:
    """A run whose engine died while its agent worked, which did its work nevertheless."""
    config = settings(wait=wait, **{**LOOP, "max_iterations": 2, **fields})
    played = SimulatedRun(simulated=SimulatedProject(script=[edits_only]), config=config).until(
        Awaits.EXIT
    )
    played.simulated.change(edits_only)
    played.simulated.n_turns += 1
    played.simulated.afterwards = no_progress
    return played


def take_up(played: SimulatedRun, **fields: Any) -> order.ReadIteration:
    """The first step of a new engine; what it has read."""
    played.state = LoopState(run=fold(played.events))
    played.queue.clear()
    played.exit_code = None
    played.feed(Resumed(by="Ada", facts=facts(played.simulated, played.config), **fields))
    read = played.effects[-1]
    assert isinstance(read, order.ReadIteration)
    return read


def read_of(played: SimulatedRun) -> IterationRead:
    """What the world says that was read."""
    given = played.queue.popleft()
    answer = given() if callable(given) else given
    assert isinstance(answer, IterationRead)
    return answer


class TestTakenUp:
    def test_what_was_found_to_be_the_users_is_in_the_journal(self) -> None:
        played = lost()
        read = take_up(played, users=("mine",), held=("a" * 40,))
        assert (read.taken_up, read.lost, read.order) == (True, True, None)
        (resumed,) = played.events_of("runResumed")
        assert (resumed.users, resumed.held) == (("mine",), ("a" * 40,))
        current = fold(played.events).current
        assert current is not None
        assert current.users == ("mine",)
        take_up(played, users=("more", "mine"), held=("b" * 40,))
        state = fold(played.events)
        assert state.current is not None
        assert state.current.users == ("mine", "more")
        assert state.held == ("a" * 40, "b" * 40)

    def test_a_halt_file_that_the_journal_does_not_know_is_of_the_lost_iteration(self) -> None:
        played = lost()
        played.simulated.blocked = "no key"
        take_up(played)
        (raised,) = played.events_of("blockedRaised")
        assert (raised.reason, raised.iteration, raised.start) == ("no key", 1, 1)

    def test_what_the_user_ordered_is_passed_on(self) -> None:
        read = take_up(lost(), order=OwnershipOrder.LEAVE)
        assert read.order is OwnershipOrder.LEAVE

    def test_a_push_names_the_commits_that_hold_it_back(self) -> None:
        played = lost()
        take_up(played, held=("a" * 40,))
        played.go_on()
        pushes = [one for one in played.effects if isinstance(one, order.PushWork)]
        assert {one.held for one in pushes} == {("a" * 40,)}

    def test_what_is_left_to_the_user_is_named(self) -> None:
        played = lost()
        take_up(played)
        played.go_on(replace(read_of(played), ownership=Ownership(users=("mine",))))
        (named,) = [one for one in played.events_of("warned") if one.code == "left-to-user"]
        assert named.message.endswith(": mine")
        assert played.events_of("iterationEnded")[0].outcome.value == "lost"

    def test_an_own_commit_of_a_lost_iteration_says_that_it_is_not_pushed_yet(self) -> None:
        played = lost().resume()
        assert played.warnings().count("lost-not-pushed") == 1
        quiet = lost(push=False).resume()
        assert "lost-not-pushed" not in quiet.warnings()

    def test_it_is_validated_and_committed_only_when_valid(self) -> None:
        played = lost()
        take_up(played)
        played.simulated.said[1, 1] = turn(files=1, validates=(False,))
        played.go_on(replace(read_of(played), must_validate=True))
        assert played.exit_code == 5
        assert not played.events_of("committed")
        (ended,) = played.events_of("iterationEnded")
        assert (ended.outcome.value, ended.uncommitted) == ("lost", True)


class TestDispute:
    def dispute(self, *, wait: bool = False) -> SimulatedRun:
        played = lost(wait=wait)
        take_up(played)
        played.queue.clear()
        played.feed(IterationRead(ownership=DISPUTED))
        return played

    def test_the_run_ends_as_blocked_and_nothing_is_settled(self) -> None:
        played = self.dispute()
        assert played.exit_code == 2
        assert not played.events_of("iterationEnded")
        assert not [one for one in played.effects if isinstance(one, order.CommitWork)]
        (end,) = played.events_of("runEnded")
        assert "plan.md" in end.message
        assert "--take-all" in end.message

    def test_the_next_resume_settles_it(self) -> None:
        played = self.dispute()
        take_up(played, order=OwnershipOrder.TAKE_ALL)
        played.go_on()
        assert played.events_of("iterationEnded")[0].outcome.value == "lost"

    def test_a_run_that_waits_inspects_the_tree_again_when_all_is_resolved(self) -> None:
        played = self.dispute(wait=True)
        assert (played.run.phase, played.run.phase_reason) == (Phase.PARKED, "blocked")
        played.queue.clear()
        played.feed(command("resume"))
        read = played.effects[-1]
        assert isinstance(read, order.ReadIteration)
        assert (read.taken_up, read.lost) == (True, True)
        played.go_on()
        assert played.events_of("iterationEnded")[0].outcome.value == "lost"

    def test_a_run_that_waits_can_be_stopped(self) -> None:
        played = self.dispute(wait=True)
        played.feed(command("stop"))
        assert played.exit_code == 2
        assert "your decision about the changes" in played.events_of("runEnded")[0].message

    def test_a_run_that_waits_can_be_interrupted(self) -> None:
        played = self.dispute(wait=True)
        played.feed(Interrupted(by=BY_TERM))
        assert played.run.phase is Phase.ENDED

    @pytest.mark.parametrize("wait", [True, False])
    def test_another_user_who_stops_the_run_meanwhile_is_obeyed(self, *, wait: bool) -> None:
        played = lost(wait=wait)
        take_up(played)
        played.queue.clear()
        played.feed(command("stop"))
        played.feed(IterationRead(ownership=DISPUTED))
        assert played.exit_code == 130


class TestOwedWork:
    def prepared(self, dirty: dict[str, str]) -> list[str]:
        """What follows from a finished plan and such a tree, where ``code`` is owed as ``c1``."""
        config = settings(gate_rule="verified", **LOOP)
        played = SimulatedRun(simulated=SimulatedProject(script=[]), config=config).until(
            Awaits.PREPARED
        )
        base = Baseline(head="1")
        run = played.run.model_copy(update={"commit_base": base, "owed": {"code": "c1"}})
        played.state = replace(played.state, run=run)
        counts = PlanCountsView(total=1, done=1, required=1, required_done=1)
        tree = base.model_copy(update={"dirty": dirty})
        played.queue.clear()
        played.feed(Prepared(baseline=tree, plan=PlanFacts(counts=counts)))
        return [one.kind for one in played.events[3:]]

    def test_no_run_is_complete_while_its_work_is_in_no_commit(self) -> None:
        assert "iterationStarted" in self.prepared({"code": "c1"})

    @pytest.mark.parametrize("dirty", [{}, {"code": "c2"}])
    def test_work_that_another_user_committed_or_changed_is_not_owed(
        self, dirty: dict[str, str]
    ) -> None:
        assert self.prepared(dirty)[-1] == "runEnded"

    def test_an_iteration_that_was_not_committed_says_what_it_left(self) -> None:
        played = lost()
        played.simulated.hook = "no"
        take_up(played)
        played.go_on(replace(read_of(played), left={"code": "c1"}))
        first = played.events_of("iterationEnded")[0]
        assert (first.uncommitted, first.left) == (True, {"code": "c1"})
        known = fold([one for one in played.events if one.seq <= first.seq])
        assert known.owed == {"code": "c1"}

    def test_what_was_rolled_back_is_not_left_and_what_was_owed_before_is(self) -> None:
        played = lost(on_validate_fail="rollback")
        run = played.run.model_copy(update={"owed": {"older": "o1"}})
        assert run.current is not None
        undone = RolledBack(seq=1, at=BEGIN, run="r", iteration=1, ok=True)
        current = run.current.model_copy(update={"rolled_back": undone})
        run = run.model_copy(update={"commit_base": Baseline(head="0")})
        given = IterationRead(left={"code": "c1"})
        assert uncommitted_work(run, current, given, cut_short=True) == {"older": "o1"}
