"""Steering of a parallel run: orders of users and signals, passed on to the lanes."""

from __future__ import annotations

import pytest

from ralph_ls.core.loop.effects import TakeApprovals
from ralph_ls.core.loop.inputs import Interrupted
from ralph_ls.core.loop.lanes import LaneEngineGone, LaneObserved, OpenLane, SteerLane
from ralph_ls.core.loop.machine.run_flow import BY_CTRL_C, BY_TERM
from ralph_ls.protocol.run.commands import Approval
from ralph_ls.protocol.run.values import MergeProblem, Phase
from tests.unit.core.loop.parallel.simulated_lanes import SimulatedSession, session
from tests.unit.core.loop.simulated_run import command


def working(*names: str, **fields: object) -> SimulatedSession:
    """A run whose first lanes work."""
    run = session(*(names or ("a", "b")), **fields).start()  # type: ignore[arg-type]
    return run.go_on(lambda: run.queue[0][0].startswith("work"))


def answer_of(run: SimulatedSession) -> tuple[str, str]:
    """The last answer to a command: its code, or its text where it was accepted."""
    event = [one for one in run.events if one.kind in {"commandAccepted", "commandRejected"}][-1]
    return event.kind, str(getattr(event, "code", None) or getattr(event, "text", ""))


def observe(run: SimulatedSession, task: str, phase: Phase, reason: str | None = None) -> None:
    lane = run.world.run_of(task)
    assert lane is not None
    lane.park(phase, reason, f"{task}: which?" if reason == "decide" else None)
    run.feed(run.world.observed(task))


@pytest.mark.parametrize(
    ("now", "verb", "text"),
    [
        (False, "stop", "each lane ends after its iteration"),
        (True, "stopNow", "ended the agents"),
    ],
)
def test_a_stop_is_passed_on_and_the_run_ends_when_the_lanes_have(
    now: bool, verb: str, text: str
) -> None:
    run = working()
    run.send("stop", now=now)
    assert answer_of(run) == ("commandAccepted", text)
    assert run.steered() == [("a", verb), ("b", verb)]
    assert run.run.phase is Phase.STOPPING
    run.queue = [one for one in run.queue if one[0].startswith("steer")]
    run.go_on()
    assert run.run.end is not None
    assert run.run.end.reason == "stopped"
    assert run.run.end.message.startswith("stopped by Ada; 0 tasks merged into ")
    assert run.states() == {"a": "working", "b": "working"}
    run.resume().go_on()
    assert [one.resume for one in run.ordered(OpenLane)[2:]] == [True, True]
    assert run.run.end is not None
    assert run.run.end.reason == "complete"


def test_a_graceful_stop_merges_what_is_done_and_stops_now_does_not() -> None:
    run = working()
    run.go_on(lambda: run.queue[0][0] == "rebase a")
    run.send("stop")
    run.go_on()
    assert run.states() == {"a": "merged", "b": "merged"}
    at_once = working()
    at_once.go_on(lambda: at_once.queue[0][0] == "rebase a")
    at_once.send("stop", now=True)
    at_once.go_on()
    assert at_once.states() == {"a": "merged", "b": "queued"}
    at_once.resume().go_on()
    assert at_once.states() == {"a": "merged", "b": "merged"}


def test_a_lane_s_judge_is_overruled_in_its_lane() -> None:
    run = working()
    run.send("overrule")
    assert answer_of(run) == ("commandRejected", "lane")


@pytest.mark.parametrize(("now", "verb"), [(False, "stop"), (True, "stopNow")])
def test_a_lane_that_was_being_opened_is_stopped_when_it_is(now: bool, verb: str) -> None:
    run = session("a").start()
    run.take(0)
    run.send("stop", now=now)
    assert run.run.phase is Phase.STOPPING
    assert not run.steered()
    run.take(0)
    assert run.steered() == [("a", verb)]
    assert run.ordered(SteerLane)[0].by == "Ada"


def test_a_stop_before_anything_works_ends_at_once() -> None:
    run = session("a").start()
    run.send("stop")
    assert run.run.end is not None
    assert run.run.end.by == "Ada"


def test_a_lane_whose_engine_dies_while_the_run_stops_is_continued_later() -> None:
    run = working("a")
    run.send("stop")
    run.queue.clear()
    run.feed(LaneEngineGone(task="a"))
    assert run.run.end is not None
    assert run.states() == {"a": "working"}
    run.world.runs["a"][0].is_live = False
    run.resume().go_on()
    assert run.states() == {"a": "merged"}


def test_a_conflict_while_the_run_stops_is_repaired_later() -> None:
    run = session("a", refusals={"a": [MergeProblem.CONFLICT]}).start()
    run.go_on(lambda: run.queue[0][0] == "rebase a")
    run.send("stop")
    run.go_on()
    assert run.states() == {"a": "working"}
    run.resume().go_on()
    assert run.ordered(OpenLane)[-1].repair is MergeProblem.CONFLICT
    assert run.states() == {"a": "merged"}


def test_signals_stop_the_lanes_first_after_their_iteration_then_at_once() -> None:
    run = working("a")
    run.feed(Interrupted(by=BY_CTRL_C))
    run.feed(Interrupted(by=BY_CTRL_C))
    assert run.steered() == [("a", "stop"), ("a", "stopNow")]
    assert run.kinds().count("phaseChanged") == 4
    term = working("a")
    term.feed(Interrupted(by=BY_TERM))
    assert term.steered() == [("a", "stopNow")]
    term.queue = [one for one in term.queue if one[0].startswith("steer")]
    term.go_on()
    assert term.exit_code == 143


def test_a_stop_by_another_user_is_recorded_with_the_name() -> None:
    run = working("a")
    run.send("stop")
    run.send("stop", by="Bob")
    assert run.run.stop_requested == "Bob"


def test_a_pause_is_passed_on_and_ends_with_resume() -> None:
    run = working("a", "b", "c")
    run.send("pause")
    assert answer_of(run) == ("commandAccepted", "each lane pauses after its iteration")
    assert run.run.phase is Phase.PAUSED
    assert run.steered() == [("a", "pause"), ("b", "pause")]
    run.go_on()
    assert run.run.phase is Phase.PAUSED
    assert run.states() == {"a": "merged", "b": "merged"}, "what is done is merged"
    run.send("pause")
    assert answer_of(run) == ("commandRejected", "paused")
    run.send("resume")
    run.go_on()
    assert run.states() == {"a": "merged", "b": "merged", "c": "merged"}


def test_a_lane_that_was_being_opened_is_paused_when_it_is() -> None:
    run = session("a").start()
    run.take(0)
    run.send("pause")
    run.take(0)
    assert run.steered() == [("a", "pause")]
    assert run.ordered(SteerLane)[0].by == "ralph run"
    run.send("resume")
    assert run.steered() == [("a", "pause"), ("a", "resume")]
    assert answer_of(run) == ("commandAccepted", "the run continues")


def test_a_run_that_stops_is_neither_paused_nor_resumed() -> None:
    run = working()
    run.send("stop")
    for kind in ("pause", "resume", "reset"):
        run.send(kind)
        assert answer_of(run) == ("commandRejected", "stopping")


def test_nothing_to_resume_is_said_so() -> None:
    run = working()
    run.send("resume")
    assert answer_of(run) == ("commandRejected", "not-paused")


def test_resume_tries_what_is_parked_again() -> None:
    run = session("a", "b", turns={"a": ["fail"]}, settings={"on_halt": "wait"}).start().go_on()
    assert run.run.phase is Phase.PARKED
    run.send("resume")
    run.go_on()
    assert run.states() == {"a": "merged", "b": "merged"}


def test_a_lane_is_tried_again_with_a_number_that_is_free() -> None:
    turns = {"a": ["fail"]}
    run = session("a", "b", "c", turns=turns, settings={"on_halt": "wait"}).start()
    run.go_on(lambda: run.states().get("c") == "working")
    assert run.lane("a").state == "parked"
    taken = {run.lane("b").lane, run.lane("c").lane}
    run.send("resume")
    assert run.lane("a").lane not in taken
    opened = [one.task for one in run.ordered(OpenLane)]
    assert opened.count("a") == 1, "there are two lanes, and both have an agent"
    run.go_on()
    assert run.states() == {"a": "merged", "b": "merged", "c": "merged"}


def test_a_parked_lane_whose_run_had_not_ended_is_continued() -> None:
    turns = {"a": ["crash"] * 3}
    run = session("a", "b", turns=turns, settings={"on_halt": "wait"}).start().go_on()
    assert run.lane("a").state == "parked"
    run.send("resume")
    run.go_on()
    assert run.states() == {"a": "merged", "b": "merged"}


def test_resume_is_no_answer() -> None:
    run = session("a", turns={"a": ["asks"]}, settings={"on_halt": "wait"}).start().go_on()
    run.send("resume")
    rejected = run.of_kind("commandRejected")[-1]
    assert rejected.code == "parked"
    assert rejected.reason == (
        "the run is waiting for something else: an answer to: a: which? (lane 1)"
    )


def test_resume_continues_lanes_that_wait_for_it() -> None:
    settings = {"on_halt": "wait"}
    run = session("a", turns={"a": ["blocked"]}, settings=settings).start().go_on()
    run.send("reset")
    assert run.steered() == [("a", "resume")]
    run.go_on()
    assert run.states() == {"a": "merged"}


def test_the_answer_goes_to_the_lane_that_asks() -> None:
    run = working()
    run.send("answer", text="polling")
    assert answer_of(run) == ("commandRejected", "no-question")
    observe(run, "a", Phase.PARKED, "decide")
    run.send("answer", text="polling", untrusted=True)
    assert answer_of(run) == ("commandAccepted", "lane 1 gets the answer")
    assert run.ordered(SteerLane) == [
        SteerLane(task="a", verb="answer", text="polling", untrusted=True, by="Ada")
    ]


def test_an_answer_with_two_lanes_asking_is_refused() -> None:
    run = working()
    observe(run, "a", Phase.PARKED, "decide")
    observe(run, "b", Phase.PARKED, "decide")
    run.send("answer", text="polling")
    assert answer_of(run) == ("commandRejected", "several-questions")


def test_a_question_beside_a_blocker_is_what_the_run_waits_for() -> None:
    run = working(settings={"on_halt": "wait"})
    observe(run, "a", Phase.PARKED, "blocked")
    observe(run, "b", Phase.PARKED, "decide")
    assert (run.run.phase, run.run.phase_reason) == (Phase.PARKED, "decide")
    lane = run.world.run_of("b")
    assert lane is not None
    lane.work()
    run.feed(LaneObserved(task="b", phase=Phase.RUNNING))
    assert run.run.phase is Phase.RUNNING


def test_a_note_goes_to_every_lane_that_works() -> None:
    run = working()
    run.send("note", text="use tabs")
    assert [(one.verb, one.text) for one in run.ordered(SteerLane)] == [("note", "use tabs")] * 2
    assert answer_of(run) == ("commandAccepted", "2 lanes will get it in the next iteration")
    early = session("a").start()
    early.send("note", text="use tabs")
    assert answer_of(early) == ("commandRejected", "no-lane")


def test_a_skipped_task_is_not_started() -> None:
    run = working("a", "b", "c")
    run.send("skip", task="c")
    run.send("skip", task="c")
    assert answer_of(run) == ("commandRejected", "skipped")
    run.send("skip", task="a")
    assert answer_of(run) == ("commandRejected", "in-work")
    run.go_on()
    assert run.states() == {"a": "merged", "b": "merged"}
    assert run.run.end is not None
    assert run.run.end.reason == "stuck"


def test_a_task_that_is_reset_is_tried_again() -> None:
    settings = {"on_halt": "wait"}
    run = session("a", "b", turns={"a": ["fail"]}, settings=settings).start().go_on()
    run.send("resetTask", task="b")
    assert answer_of(run) == ("commandAccepted", "its attempts are reset and it is not skipped")
    run.send("resetTask", task="a")
    run.go_on()
    assert run.states() == {"a": "merged", "b": "merged"}


def test_a_task_without_a_lane_is_reset_as_well() -> None:
    run = working("a", "b", "c")
    run.send("skip", task="c")
    run.send("resetTask", task="c")
    run.go_on()
    assert run.states() == {"a": "merged", "b": "merged", "c": "merged"}


def test_an_approval_is_for_the_run_and_its_lanes() -> None:
    run = working("a")
    approvals = (Approval(key="validate", sha256="0" * 64),)
    run.send("allow", approvals=approvals)
    assert run.ordered(TakeApprovals) == [TakeApprovals(approvals=approvals)]
    assert run.ordered(SteerLane)[0].approvals == approvals


def test_a_command_is_answered_once_and_only_for_this_run() -> None:
    run = working()
    twice = command("pause", id="twice-000001")
    run.feed(twice)
    run.feed(twice)
    assert run.ignored == ["this command was already answered"]
    run.feed(command("pause", run="20260131T120000Z-ffff"))
    assert answer_of(run) == ("commandRejected", "other-run")
