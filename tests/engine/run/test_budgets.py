"""What an agent uses up, what keeps it from working, and what it asks (docs/rules.md#budgets)."""

from __future__ import annotations

import pytest

from tests.engine.ralph_runner import Project, told, warnings
from tests.engine.steered_run import answers, parked

pytestmark = pytest.mark.slow

WORKS = "work; commit"
LIMITED_FIRST = f"""\
if [ ! -e "$kept/limited" ]; then
  : >"$kept/limited"; limited $(($(date +%s) + 1)); says one 0.5 'You are at your limit.'; exit
fi
{WORKS}; says one 0.5 working
"""
DENIED = ',"permission_denials":[{"tool_name":"Bash","tool_use_id":"t1"}]'


def test_a_usage_limit_is_waited_for_and_the_iteration_is_not_counted(project: Project) -> None:
    done = project.run_claude(LIMITED_FIRST, "1")
    assert done.exit_code == 1
    first, second = told(done, "iterationEnded")
    assert (first.outcome, second.outcome) == ("limited", "progress")
    assert told(done, "runEnded")[0].message == "reached the 1-iteration limit"
    (waited,) = told(done, "waitStarted")
    assert waited.reason == "limit"
    # The agent says when: on a whole second, and not five minutes from now.
    assert waited.until.microsecond == 0
    assert (waited.until - waited.at).total_seconds() <= 1
    assert told(done, "iterationStarted")[1].at >= waited.until
    assert ("waiting", "limit") in [
        (event.phase, event.reason) for event in told(done, "phaseChanged")
    ]
    rows = project.file(".ralph/logs/summary.csv").read_text(encoding="utf-8").splitlines()
    assert [row.partition(",")[0] for row in rows] == ["iteration", "1"]


def test_without_a_time_the_setting_says_how_long_to_wait(project: Project) -> None:
    project.plan(files={".ralph/config.toml": 'limit_wait = "10ms"\n'})
    body = LIMITED_FIRST.replace("$(($(date +%s) + 1))", "null")
    done = project.run_claude(body, "1")
    (waited,) = told(done, "waitStarted")
    assert (waited.until - waited.at).total_seconds() == 0.01
    assert [event.outcome for event in told(done, "iterationEnded")] == ["limited", "progress"]


def test_words_about_a_limit_are_none(project: Project) -> None:
    done = project.run_claude(f"{WORKS}; says one 0.5 'You have hit your 5-hour limit.'", "1")
    assert told(done, "waitStarted") == []
    assert [event.outcome for event in told(done, "iterationEnded")] == ["progress"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        pytest.param(
            "max_tokens = 2000\n", "reached the 2000-token limit (2200 used)", id="tokens"
        ),
        pytest.param(
            "max_cost_usd = 0.75\n", "reached the $0.75 cost limit ($1.00 used)", id="cost"
        ),
    ],
)
def test_a_budget_that_is_used_up_ends_the_run_with_1(
    project: Project, settings: str, message: str
) -> None:
    project.plan(files={".ralph/config.toml": settings})
    done = project.run_claude(f"{WORKS}; says s$RALPH_START 0.5 working", "9")
    assert (done.exit_code, len(told(done, "iterationEnded"))) == (1, 2)
    (end,) = told(done, "runEnded")
    assert end.reason == "limit"
    assert message in end.message


def test_two_iterations_with_denied_tools_open_the_breaker_and_name_them(project: Project) -> None:
    # With progress a denial opens nothing.
    done = project.run_claude(f"says one 0.5 working '{DENIED}'", "9")
    assert done.exit_code == 4
    ended = told(done, "iterationEnded")
    assert [(event.permission_denials, event.denied_tools) for event in ended] == [
        (1, ("Bash",))
    ] * 2
    (end,) = told(done, "runEnded")
    assert "Bash" in end.message
    assert "tools.allow" in end.message
    assert "permission-denied" in warnings(done)


CLARIFIES_FIRST = """\
if [ $RALPH_START = 1 ]; then
  work; commit
  say '---CLARITY_STATUS---' 'STATUS: NEEDS_CLARIFICATION' 'CLARIFICATION_NEEDED: true' \
    'CLARIFICATION_QUESTIONS: Which colour, red or blue?' '---END_CLARITY_STATUS---'
  exit
fi
work; mark x First; commit; say 'All tasks are complete.'; report 'EXIT_SIGNAL: true'
"""


def test_a_clarification_is_a_question_that_the_user_answers(project: Project) -> None:
    running = parked(project, CLARIFIES_FIRST, "decide")
    decide = project.file(".ralph/decide.txt").read_text(encoding="utf-8")
    assert "Which colour, red or blue?" in decide
    assert project.tell("answer", "Blue.").exit_code == 0
    done = running.wait()
    assert done.exit_code == 0
    assert answers(done) == [("answer", "accepted")]
    assert "Which colour, red or blue?" in project.prompt(2)
    assert "Blue." in project.prompt(2)
    assert not project.file(".ralph/decide.txt").exists()


def test_a_question_without_a_signal_is_reported_and_nothing_is_invented(project: Project) -> None:
    project.agent("work; commit; say 'I have looked at it.' '' 'Should the lamp be red or blue?'")
    done = project.run("1")
    assert (done.exit_code, told(done, "questionAsked")) == (1, [])
    warned = {event.code: event.message for event in told(done, "warned")}
    assert "Should the lamp be red or blue?" in warned["asked-without-signal"]
    assert not project.file(".ralph/decide.txt").exists()


def test_a_used_up_cost_is_raised_by_the_command_that_next_names(project: Project) -> None:
    body = f"{WORKS}; says s$RALPH_ITERATION 0.5 working"
    done = project.run_claude(body, "--max-cost", "0.75")
    assert (done.exit_code, len(told(done, "iterationEnded"))) == (1, 2)
    flags = "--resume --max-cost 1.5"
    assert done.stdout.endswith(
        f"Next:        raise the limit ($1.00 of $0.75): ralph run {flags}\n"
    )
    again = project.run_claude(body, "--resume")
    assert (again.exit_code, len(told(again, "iterationEnded"))) == (1, 2)
    message = "this run already reached the $0.75 cost limit ($1.00 used)"
    assert f"Ended: limit: {message}; raise it with: --max-cost 1.5\n" in again.stdout
    # What was used before counts for the new total.
    further = project.run_claude(body, *flags.split())
    assert (further.exit_code, len(told(further, "iterationEnded"))) == (1, 3)
    assert further.stdout.endswith(
        "raise the limit ($1.50 of $1.50): ralph run --resume --max-cost 3\n"
    )


@pytest.mark.parametrize(
    ("flags", "code", "said"),
    [
        (("--max-cost", "5"), 64, "--max-cost cannot be enforced, because the agent 'command'"),
        (("--max-tokens", "5"), 64, "--max-tokens cannot be enforced, because the agent 'command'"),
        (("3", "--max-iterations", "4"), 64, "give one of them"),
        (("--max-time", "0"), 64, "leaves no time"),
        (("--max-time", "soon"), 64, "--max-time: 'soon' is not a duration"),
        (("--max-cost", "0"), 64, "--max-cost must be more than 0"),
    ],
)
def test_a_limit_that_cannot_hold_is_refused_before_anything_begins(
    project: Project, flags: tuple[str, ...], code: int, said: str
) -> None:
    project.agent(WORKS)
    for more in ((), ("--dry-run",)):
        done = project.run(*flags, *more)
        assert (done.exit_code, done.kinds()) == (code, [])
        assert said in done.stderr


def test_a_limit_that_nobody_can_measure_can_be_allowed(project: Project) -> None:
    project.plan(files={".ralph/config.toml": "max_cost_usd = 5\n"}).agent(WORKS)
    refused = project.run("1")
    assert (refused.exit_code, refused.kinds()) == (78, [])
    assert "max_cost_usd cannot be enforced" in refused.stderr
    done = project.run("1", "--allow-unmetered")
    assert (done.exit_code, len(told(done, "iterationEnded"))) == (1, 1)
