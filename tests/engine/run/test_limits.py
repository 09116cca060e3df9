"""Limits of an iteration and of a minute, deadlines, and review points, with real processes."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.engine.ralph_runner import Project, told
from tests.engine.steered_run import answers

pytestmark = pytest.mark.slow

STREAMS = """\
turn() { printf '{"type":"assistant","message":{"id":"m%s","usage":{"input_tokens":%s},\
"content":[{"type":"tool_use","id":"t%s","name":"Bash","input":{"command":"make"}}]}}\\n' \
"$1" "$2" "$1"; }
result() { printf '{"type":"user","message":{"content":[{"type":"tool_result",\
"tool_use_id":"t%s"}]}}\\n' "$1"; }
"""
"""``turn N TOKENS`` calls a tool, as ``claude`` reports it while it works; ``result N`` ends it."""

OVERSPENDS = f"""\
{STREAMS}
if [ "$RALPH_START" = 1 ]; then
  turn 1 900; result 1; turn 2 900; work; commit; result 2; sleep 600
fi
work; mark x First; commit; says s 0.5 'All tasks are complete.\\n\
---RALPH_STATUS---\\nEXIT_SIGNAL: true\\n---END_RALPH_STATUS---'
"""


def test_an_agent_is_ended_after_the_turn_that_passes_its_tokens_and_its_work_counts(
    project: Project,
) -> None:
    project.plan(files={".ralph/config.toml": "max_tokens_per_iteration = 1500\n"})
    done = project.run_claude(OVERSPENDS, "9")
    assert done.exit_code == 0
    first, second = told(done, "agentExited")
    assert (first.overspent, first.stopped, first.timed_out) == (True, False, False)
    assert not second.overspent
    assert [event.outcome for event in told(done, "iterationEnded")] == ["progress", "progress"]
    (warned,) = [event for event in told(done, "warned") if event.code == "iteration-limit"]
    assert "1800 of 1500 tokens" in warned.message
    assert "The agent reached a limit and was ended after that turn" in done.stdout
    assert "2k tokens an iteration" in done.stdout


def test_a_cost_that_is_reported_only_at_the_end_is_warned_of(project: Project) -> None:
    project.plan(files={".ralph/config.toml": "max_cost_per_iteration_usd = 0.25\n"})
    done = project.run_claude("work; commit; says s 0.5 working", "1")
    (warned,) = [event for event in told(done, "warned") if event.code == "iteration-limit"]
    assert "only at its end" in warned.message
    assert "$0.50 of $0.25" in warned.message
    assert [event.outcome for event in told(done, "iterationEnded")] == ["progress"]


def test_a_run_that_made_its_calls_waits_and_continues_waiting_in_a_new_engine(
    project: Project,
) -> None:
    """The minute is not waited out: that the wait is there, until when, and who keeps it."""
    project.agent("work; commit; report 'STATUS: IN_PROGRESS'")
    project.file(".ralph").mkdir(exist_ok=True)
    project.file(".ralph/config.toml").write_text("max_calls_per_minute = 1\n", encoding="utf-8")
    running = project.start("9")
    waits: Any = running.wait_for("waitStarted")
    status = project.tell("status").stdout
    assert "waiting for the limit of calls a minute" in status
    assert "s left" in status
    running.kill()
    again = project.start("--resume")
    still: Any = again.wait_for("waitStarted")
    assert still.until == waits.until
    assert project.tell("stop").exit_code == 0
    done = again.wait()
    (exited,) = told(done, "agentExited")
    assert (waits.reason, waits.until - exited.at) == ("calls", timedelta(minutes=1))


REVIEWED = """\
work; if [ "$RALPH_START" = 2 ]; then mark x First; say 'All tasks are complete.'; fi
commit; report "EXIT_SIGNAL: $([ "$RALPH_START" = 2 ] && echo true || echo false)"
"""


def test_a_run_holds_for_a_review_until_it_is_approved(project: Project) -> None:
    project.agent(REVIEWED)
    running = project.start("9", "--review-every", "1", "--on-halt", "wait")
    running.wait_for("phaseChanged", phase="parked", reason="review")
    status = project.tell("status").stdout
    assert "it waits for your review: 1 iteration of this run is done" in status
    assert project.tell("note", "use tabs").exit_code == 0
    approved = project.tell("resume")
    assert (approved.exit_code, approved.stdout) == (0, "review approved; the run continues\n")
    done = running.wait()
    assert done.exit_code == 0
    assert answers(done) == [("note", "accepted"), ("resume", "accepted")]
    assert "use tabs" in project.prompt(2)


def test_a_run_that_waits_for_nobody_ends_at_a_review_and_is_taken_up_again(
    project: Project,
) -> None:
    points = '[review_points]\nafter_tasks = ["Second task"]\n'
    project.plan("First task", "Second task", files={".ralph/config.toml": points})
    project.agent("work; mark x Second; commit; report 'STATUS: IN_PROGRESS'")
    first = project.run("2")
    assert first.exit_code == 130
    (end,) = told(first, "runEnded")
    assert (end.reason, end.by) == ("stopped", "a review point")
    assert "done: Second task" in end.message
    second = project.run("2", "--resume")
    assert second.exit_code == 1
    assert [event.iteration for event in told(second, "iterationStarted")] == [1, 2]
