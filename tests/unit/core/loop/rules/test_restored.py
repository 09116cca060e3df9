"""Restored changes: what the next prompt reports, and when no completion is accepted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ralph_ls.core.loop.inputs import RevertedChange
from ralph_ls.core.loop.rules.commits import GUARD_RULES, restoration_message, restored_lines
from ralph_ls.protocol.run.iteration_events import Forbidden
from ralph_ls.protocol.run.report import AgentFailure
from ralph_ls.protocol.run.values import TaskRef
from tests.unit.core.loop.simulated_project import (
    SimulatedProject,
    crash,
    finishes,
    is_blocked,
    no_progress,
    promise,
    turn,
)
from tests.unit.core.loop.simulated_run import RUN, SimulatedRun, play

DROPPED = RevertedChange(
    path="plan.md",
    what=Forbidden.DROPPED,
    tasks=(TaskRef(id="a", title="Write\nthe manual"),),
    n_tasks=2,
    text="the agent's version",
    commit="1a2b",
)
BROKEN = RevertedChange(path="tasks.json", what=Forbidden.CHANGED, why="it is not JSON\nany more")
LINES = (
    f"plan.md (Write the manual; …): {GUARD_RULES[Forbidden.DROPPED]}",
    "tasks.json: it is not JSON any more",
)
DROPS = turn(STATUS="IN_PROGRESS", restores=(DROPPED, BROKEN))


class TestNextAgent:
    def events_of(self, played: SimulatedRun) -> list[tuple[str, ...]]:
        return [prompt.restored for prompt in played.prompts]

    def test_the_next_prompt_has_what_and_why_and_the_one_after_it_has_not(self) -> None:
        played = play(DROPS, no_progress, no_progress, max_iterations=3)
        assert self.events_of(played) == [(), LINES, ()]
        assert all(not one.text for one in played.run.reverted)
        (event, _) = played.events_of("guardReverted")
        assert (event.commit, event.why, event.text) == ("1a2b", None, "the agent's version")

    def test_one_that_failed_was_reported_and_a_second_try_knows_no_more(self) -> None:
        played = play(replace(crash, restores=(DROPPED,)), no_progress, max_iterations=1)
        assert self.events_of(played) == [(), ()]

    def test_one_that_was_cut_off_is_reported_again(self) -> None:
        def stops(played: SimulatedRun) -> None:
            if played.run.iteration == 2 and len(played.prompts) == 2:
                played.send("stop", now=True)

        played = play(DROPS, no_progress, max_iterations=4, person=stops)
        assert played.run.end is not None
        played.person = None
        assert self.events_of(played.resume())[2] == LINES

    def test_each_thing_is_reported_once(self) -> None:
        events = play(DROPS, max_iterations=1).events_of("guardReverted")
        assert restored_lines([*events, *events]) == LINES


def test_every_kind_has_its_rule() -> None:
    assert set(GUARD_RULES) == set(Forbidden)


def test_the_message_of_the_commit_names_files_and_rules_and_no_stranger_s_words() -> None:
    message = restoration_message(RUN, 3, ["plan.md"], [DROPPED, DROPPED])
    assert message == (
        "ralph: restore plan.md\n\nThe agent committed changes that no iteration may make:\n\n- "
        f"plan.md: {GUARD_RULES[Forbidden.DROPPED]}\n\nRalph-Run: {RUN}\nRalph-Start: 3\n"
    )
    several = restoration_message(RUN, 3, ["plan.md", "tasks.json"], [DROPPED, BROKEN])
    assert several.startswith("ralph: restore 2 guarded files\n\n")
    assert "- tasks.json: no iteration may change this file\n" in several


OFFENCE = "plan.md in HEAD contains a forbidden change: a; commit the one of the work tree"
OVERLOADED = replace(crash, failure_kind=AgentFailure.OVERLOADED)
COMPLETE = replace(finishes, promises=(promise("complete"),))


def held(*script: Any, **fields: Any) -> SimulatedRun:
    simulated = SimulatedProject(script=[*script], committed_offence=OFFENCE)
    return play(simulated=simulated, **{"gate_rule": "verified", **fields})


class TestCompletion:
    @pytest.mark.parametrize(
        "fields",
        [
            pytest.param({}, id="the plan is done"),
            pytest.param({"gate_rule": "dual"}, id="the agent says so"),
            pytest.param({"task": "write the letter"}, id="one task"),
        ],
    )
    def test_the_user_is_asked_where_head_holds_what_no_agent_may_do(
        self, fields: dict[str, Any]
    ) -> None:
        played = held(COMPLETE, **fields)
        assert played.exit_code == 2
        assert played.run.end is not None
        assert played.run.end.message == OFFENCE
        assert [event.why for event in played.events_of("completionRefused")] == [OFFENCE]
        assert played.run.breaker.consecutive_refusals == 0

    def test_a_refusal_is_of_its_iteration_whatever_starts_did_not_count(self) -> None:
        (refused,) = held(OVERLOADED, COMPLETE).events_of("completionRefused")
        assert (refused.iteration, refused.start) == (1, 2)

    def test_a_resumed_run_is_complete_once_it_is_gone(self) -> None:
        played = held(COMPLETE)
        played.resume()
        assert played.exit_code == 2
        played.simulated.committed_offence = ""
        played.resume()
        assert played.exit_code == 0
        assert played.run.iteration == 1

    def test_a_parked_run_looks_again_when_it_is_resumed(self) -> None:
        def commits(played: SimulatedRun) -> None:
            if played.run.phase.value == "parked":
                played.simulated.committed_offence = ""
                played.send("resume")

        assert held(COMPLETE, wait=True, person=commits).exit_code == 0

    def test_what_the_agent_is_blocked_by_is_raised_as_ever(self) -> None:
        blocked = replace(COMPLETE, promises=is_blocked("no key").promises)
        played = held(blocked, gate_rule="dual")
        assert played.exit_code == 2
        assert played.run.end is not None
        assert played.run.end.message == "no key"

    def test_with_work_left_nothing_is_held_back(self) -> None:
        simulated = SimulatedProject(
            script=[no_progress, COMPLETE],
            tasks={"write the letter": "todo"},
            committed_offence=OFFENCE,
        )
        played = play(simulated=simulated, gate_rule="verified", max_iterations=1)
        assert played.events_of("completionRefused") == []
