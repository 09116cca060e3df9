"""Waits for a usage limit with real processes: ended by the user, by ``max_wait`` or by hours."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from tests.engine.ralph_runner import Project, told

pytestmark = pytest.mark.slow

LIMITED_ONCE = """\
if [ "$RALPH_START" = 1 ]; then limited $(( $(date +%s) + 10800 )); exit 1; fi
work; mark x First; commit
says s 0.5 'All done.\\n---RALPH_STATUS---\\nEXIT_SIGNAL: true\\n---END_RALPH_STATUS---'
"""
"""Reaches its usage limit, which resets in three hours; then it completes the plan."""


def test_a_wait_is_ended_by_the_user_from_another_terminal(project: Project) -> None:
    project.agent(
        'if [ "$RALPH_START" = 1 ]; then\n'
        '  say "Claude usage limit reached|$(( $(date +%s) + 10800 ))"; exit 1\n'
        "fi\nwork; mark x First; commit; say 'All done.'; report 'EXIT_SIGNAL: true'"
    )
    running = project.start("9")
    running.wait_for("waitStarted")
    status = project.tell("status").stdout
    assert "waiting for the usage limit until" in status
    assert "left" in status
    resumed = project.tell("resume")
    text = "the run continues without waiting any longer for the usage limit\n"
    assert (resumed.exit_code, resumed.stdout) == (0, text)
    done = running.wait()
    assert done.exit_code == 0
    assert [event.outcome for event in told(done, "iterationEnded")] == ["limited", "progress"]


def test_a_wait_that_is_too_long_ends_the_run_which_can_be_resumed(project: Project) -> None:
    done = project.run_claude(LIMITED_ONCE, "9", "--max-wait", "2h")
    assert done.exit_code == 1
    (end,) = told(done, "runEnded")
    assert "waiting for the usage limit takes" in end.message
    assert end.message.endswith("at most 2h are allowed (max_wait)")
    assert "ralph run --resume" in done.stdout


def test_a_wait_past_the_hours_ends_the_run(project: Project) -> None:
    in_an_hour = datetime.now().astimezone() + timedelta(hours=1)
    done = project.run_claude(LIMITED_ONCE, "9", "--until", f"{in_an_hour:%H:%M}")
    assert done.exit_code == 1
    (end,) = told(done, "runEnded")
    assert end.message.endswith(f"past {in_an_hour:%H:%M} (run.until)")
