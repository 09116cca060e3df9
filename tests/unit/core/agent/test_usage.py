"""Adding up what agents used."""

from __future__ import annotations

from ralph_ls.core.agent.usage import add_known, add_usage
from ralph_ls.protocol.run.report import Usage


def test_counts_add_up_and_the_context_is_the_later_ones() -> None:
    earlier = Usage(
        input_tokens=1, output_tokens=2, cost_usd=0.1, turns=1, context_tokens=9, context_window=50
    )
    later = Usage(input_tokens=10, cached_tokens=4, cost_usd=0.2, turns=2, context_tokens=3)
    assert add_usage(earlier, later) == Usage(
        input_tokens=11,
        output_tokens=2,
        cached_tokens=4,
        cost_usd=0.3,
        turns=3,
        context_tokens=3,
        context_window=50,
    )


def test_what_is_not_known_stays_unknown() -> None:
    known = Usage(context_tokens=5)
    assert add_usage(None, None) is None
    assert add_usage(None, known) == add_usage(known, None) == known
    assert add_usage(known, Usage()) == known
    assert add_known(None, None) is None
    assert add_known(None, 0) == 0
