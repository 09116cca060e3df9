"""How full a context window is while its agent works (docs/rules.md#usage)."""

from __future__ import annotations

import pytest

from ralph_ls.core.agent.context import CODES, ContextMonitor, context_window_of
from ralph_ls.protocol.run.messages import TextMessage, UsageCounts, UsageMessage


def used(tokens: int | None, window: int | None = None) -> UsageMessage:
    counts = UsageCounts(context_tokens=tokens, context_window=window)
    return UsageMessage(start=1, offset=0, usage=counts)


def codes(watch: ContextMonitor, *told: UsageMessage) -> list[str]:
    return [notice.code for one in told for notice in watch.take(b"", [one])]


def test_each_level_is_reported_once_as_it_is_passed() -> None:
    watch = ContextMonitor(window=1000)
    usages = (used(499), used(500), used(699), used(700), used(100), used(900), used(950))
    assert codes(watch, *usages) == list(CODES)


def test_of_several_levels_at_once_the_most_urgent_is_reported() -> None:
    watch = ContextMonitor(window=1000)
    assert codes(watch, used(750), used(1000)) == ["context-70", "context-90"]
    assert codes(watch, used(1000)) == []


def test_what_the_agent_reports_is_no_estimate() -> None:
    (notice,) = ContextMonitor(window=7).take(b"x" * 4000, [used(950, 1000)])
    assert notice.message == (
        "context CRITICAL: 95 % of the agent's window is used (950 of 1000 tokens); the agent may "
        "start to loop; stop it with ralph stop --now, or let it reach its limit"
    )


def test_a_window_that_nobody_knows_is_marked_as_assumed() -> None:
    (notice,) = ContextMonitor().take(b"", [used(100_000)])
    assert "50 % of the agent's window is used (100000 of 200000 tokens, estimated: window " in (
        notice.message
    )


def test_without_counts_it_is_four_characters_to_a_token_of_what_was_given_and_printed() -> None:
    watch = ContextMonitor(window=100, prompt_characters=100)
    said = TextMessage(start=1, offset=0, text="unused")
    assert watch.take("é".encode() * 99, [said]) == ()
    (notice,) = watch.take(b"y", [used(None)])
    assert notice.code == "context-50"
    assert notice.message == (
        "context notice: about 50 % of the agent's window is used "
        "(50 of 100 tokens, estimated: characters / 4)"
    )
    (notice,) = watch.take(b"y" * 80, [])
    assert notice.code == "context-70"
    assert notice.message.endswith("; the agent may soon forget what it read first")


@pytest.mark.parametrize(
    ("model", "window"),
    [
        ("claude-sonnet-4-5[1m]", 1_000_000),
        ("claude-haiku-4-5", 200_000),
        ("gemini-3-pro", 1_048_576),
        ("gpt-5-codex", 400_000),
        ("gpt-4.1", 1_047_576),
        ("somebody-elses", None),
        (None, None),
    ],
)
def test_the_windows_of_models_that_are_known(model: str | None, window: int | None) -> None:
    assert context_window_of(model) == window
