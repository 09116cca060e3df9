"""What one iteration may use up, and what becomes of an agent that passes it.

See docs/rules.md#budgets.
"""

from __future__ import annotations

import pytest

from ralph_ls.core.loop.inputs import AgentFinished
from ralph_ls.core.loop.rules.budget import (
    SpendingWatch,
    iteration_limit_passed,
    iteration_limit_words,
)
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.config.tables import PriceConfig
from ralph_ls.protocol.run.messages import (
    AgentMessage,
    TextMessage,
    TodoMessage,
    ToolMessage,
    ToolState,
    UsageCounts,
    UsageMessage,
)
from ralph_ls.protocol.run.report import Usage
from tests.unit.core.loop.simulated_project import finishes, turn
from tests.unit.core.loop.simulated_run import check_loop

BOTH = Config(max_tokens_per_iteration=1000, max_cost_per_iteration_usd=0.5)


@pytest.mark.parametrize(
    ("config", "usage", "expected"),
    [
        pytest.param(Config(), Usage(input_tokens=10**9, cost_usd=99.0), None, id="no limit"),
        pytest.param(BOTH, None, None, id="nothing told"),
        pytest.param(BOTH, Usage(cached_tokens=9000), None, id="neither told"),
        pytest.param(BOTH, Usage(input_tokens=600, output_tokens=400), None, id="just as many"),
        pytest.param(
            BOTH, Usage(input_tokens=601, output_tokens=400), "1001 of 1000 tokens", id="tokens"
        ),
        pytest.param(BOTH, Usage(cost_usd=0.5), None, id="just as dear"),
        pytest.param(BOTH, Usage(cost_usd=0.75), "$0.75 of $0.50", id="cost"),
    ],
)
def test_a_limit_is_passed_by_more_than_it(
    config: Config, usage: Usage | None, expected: str | None
) -> None:
    assert iteration_limit_passed(config, usage) == expected


def test_it_says_whether_the_agent_was_ended_for_it() -> None:
    usage = Usage(input_tokens=2000)
    ended, told = (iteration_limit_words(BOTH, usage, ended=ended) or "" for ended in (True, False))
    assert "2000 of 1000 tokens" in ended
    assert "was ended after that turn" in ended
    assert "only at its end" in told
    assert iteration_limit_words(BOTH, None, ended=True) is None


def uses(tokens: int, cost: float | None = None) -> UsageMessage:
    return UsageMessage(start=1, offset=0, usage=UsageCounts(input_tokens=tokens, cost_usd=cost))


def tool(call: str, state: ToolState) -> ToolMessage:
    return ToolMessage(start=1, offset=0, call=call, name="Bash", summary="", state=state)


BEGINS, ENDS, FAILS = (
    tool("a", ToolState.STARTED),
    tool("a", ToolState.DONE),
    tool("a", ToolState.FAILED),
)
SECOND, SECOND_ENDS = tool("b", ToolState.STARTED), tool("b", ToolState.DONE)
TODO = TodoMessage(start=1, offset=0, items=())
SAYS = TextMessage(start=1, offset=0, text="I go on.")


@pytest.mark.parametrize(
    ("told", "over"),
    [
        pytest.param([uses(900), BEGINS, ENDS, uses(1000)], False, id="within it"),
        pytest.param([uses(1001)], False, id="its turn goes on"),
        pytest.param([uses(1001), BEGINS], False, id="its tool works"),
        pytest.param([uses(1001), BEGINS, ENDS], True, id="its tool is through"),
        pytest.param([uses(1001), BEGINS, FAILS], True, id="its tool failed"),
        pytest.param([uses(1001), BEGINS, SECOND, ENDS], False, id="one of two tools works"),
        pytest.param([uses(1001), BEGINS, SECOND, ENDS, SECOND_ENDS], True, id="both are through"),
        pytest.param([uses(1001), TODO], True, id="it noted what is to be done"),
        pytest.param([uses(1001), SAYS], False, id="it only said something"),
        pytest.param([uses(1001), uses(1200)], True, id="the next turn began"),
        pytest.param([uses(1001), uses(1200, 0.1)], False, id="it came to its own end"),
        pytest.param([uses(10, 0.6)], False, id="too dear, and at its own end"),
        pytest.param([uses(10, 0.6), uses(20)], True, id="too dear, and it goes on"),
        pytest.param([uses(1001), BEGINS, ENDS, uses(10)], True, id="once over it stays so"),
    ],
)
def test_an_agent_ends_after_the_turn_that_passes_it(told: list[AgentMessage], over: bool) -> None:
    watch = SpendingWatch(BOTH, None)
    watch.take(told)
    assert watch.is_over is over


def test_what_an_earlier_attempt_used_counts() -> None:
    watch = SpendingWatch(BOTH, Usage(input_tokens=600))
    watch.take([uses(401), BEGINS, ENDS])
    assert watch.is_over


@pytest.mark.parametrize(
    ("config", "before", "told", "over"),
    [
        (Config(max_tokens=1000), 500, [uses(499), BEGINS, ENDS], False),
        (Config(max_tokens=1000), 500, [uses(500), BEGINS, ENDS], True),
        (Config(max_tokens=1000), 500, [uses(500), BEGINS], False),
        (Config(max_tokens=1000), 500, [uses(500, 0.1)], False),
        (Config(max_tokens=1000), 0, [uses(999), BEGINS, ENDS], False),
        (Config(max_iterations=1), 5000, [uses(999), BEGINS, ENDS], False),
    ],
)
def test_an_agent_ends_after_the_turn_that_uses_up_the_runs_tokens(
    config: Config, before: int, told: list[AgentMessage], over: bool
) -> None:
    watch = SpendingWatch(config, None, run_spent=Usage(input_tokens=before))
    watch.take(told)
    assert watch.is_over is over


@pytest.mark.parametrize(("before", "over"), [(0.1, False), (0.5, True)])
def test_an_agent_ends_after_the_turn_that_uses_up_the_runs_cost(before: float, over: bool) -> None:
    price = PriceConfig(input=1000)
    run_spent = Usage(cost_usd=before)
    watch = SpendingWatch(Config(max_cost_usd=1), None, price=price, run_spent=run_spent)
    watch.take([uses(600), BEGINS, ENDS])
    assert watch.is_over is over


OVERSPENT = AgentFinished(signal=15, overspent=True, seconds=9.0)
USED = Usage(input_tokens=2000)


def test_work_done_before_is_evidence_and_the_loop_continues() -> None:
    said = turn(fields=None, files=1, commit=True, usage=USED, end=OVERSPENT)
    played = check_loop(
        [said, finishes],
        max_tokens_per_iteration=1000,
        ends=("complete", 0),
        outcomes=["progress", "progress"],
        warned=["iteration-limit"],
    )
    (exited, _) = played.events_of("agentExited")
    assert exited.overspent
    assert "2000 of 1000 tokens" in played.events_of("warned")[0].message


def test_without_work_it_is_an_iteration_without_progress_and_no_crash() -> None:
    said = turn(fields=None, usage=USED, end=OVERSPENT)
    played = check_loop(
        [said, said, said],
        max_tokens_per_iteration=1000,
        ends=("stuck", 4),
        outcomes=["noProgress"] * 3,
    )
    assert "agent-failed" not in played.warnings()
    assert played.warnings().count("iteration-limit") == 3


def test_one_that_reports_it_only_at_its_end_is_warned_of_and_not_tried_again() -> None:
    fails = turn(fields=None, usage=USED, failure="it broke")
    played = check_loop(
        [fails, finishes],
        max_tokens_per_iteration=1000,
        ends=("complete", 0),
        outcomes=["noProgress", "progress"],
        warned=["iteration-limit"],
    )
    assert "only at its end" in played.events_of("warned")[0].message


def test_a_last_look_that_was_cut_off_confirms_nothing() -> None:
    script = [
        turn(files=1, ticks=("write the letter",)),
        turn(fields=None, usage=USED, end=OVERSPENT),
        finishes,
    ]
    played = check_loop(script, max_tokens_per_iteration=1000, iterations=3)
    assert played.exit_code == 0
