"""What one iteration may use up: tokens and cost, checked while its agent works (SPEC §9.6; S).

An agent is ended after the turn that passes a limit, never in the middle of one: what it has begun
to write is worth more than the few tokens that are left of the turn. The same holds for what is
left of the run's limits in tokens and cost. One that tells only at its end what it used is judged
then. Work done before is evidence like any other, and the loop goes on.

It must never know how an agent is ended.
"""

from __future__ import annotations

from collections.abc import Sequence

from ralph_ls.core.agent.decode.told import TodoTold, Told, ToolTold, UsageTold, usage_of
from ralph_ls.core.agent.prices import priced
from ralph_ls.core.agent.usage import add_usage
from ralph_ls.core.loop.budget import amount, is_spent, tokens_of
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.config.tables import PriceConfig
from ralph_ls.protocol.run.messages import ToolState
from ralph_ls.protocol.run.report import Usage

ITERATION_LIMIT = "iteration-limit"
"""The code of the warning that an iteration passed one."""


def limit_passed(config: Config, usage: Usage | None) -> str | None:
    """``2200 of 2000 tokens``: the first limit of an iteration that is passed; None: none is."""
    tokens, max_tokens = tokens_of(usage), config.max_tokens_per_iteration
    if tokens is not None and max_tokens is not None and tokens > max_tokens:
        return f"{tokens} of {max_tokens} tokens"
    cost, max_cost = None if usage is None else usage.cost_usd, config.max_cost_per_iteration_usd
    if cost is not None and max_cost is not None and cost > max_cost:
        about = "about " if usage is not None and usage.estimated else ""
        return f"{about}{amount(cost)} of {amount(max_cost)} US dollars"
    return None


def passed_words(config: Config, usage: Usage | None, *, ended: bool) -> str | None:
    """That an iteration passed a limit, and what became of its agent; None where it did not."""
    how_much = limit_passed(config, usage)
    if how_much is None:
        return None
    what = "the agent was ended after that turn" if ended else "the agent told so only at its end"
    return f"the iteration used {how_much} that one may use; {what}. What it did until then counts"


class SpendingWatch:
    """Hears what one agent process tells, and says when it has to end."""

    def __init__(
        self,
        config: Config,
        spent: Usage | None,
        *,
        price: PriceConfig | None = None,
        run_spent: Usage | None = None,
    ) -> None:
        """``spent`` is what an earlier attempt of the same iteration used up.

        ``run_spent`` is what the run had used up before the iteration. ``price`` is that of the
        model, for an agent that tells no cost.
        """
        self._config = config
        self._price = price
        self._spent = spent
        self._run_spent = run_spent
        self._has_passed = False
        self._open_calls: set[str] = set()
        self.is_over = False
        """Whether the turn has ended in which a limit was passed."""

    def hear(self, told: Sequence[Told]) -> None:
        """Take what it told, in its order."""
        for one in told:
            if isinstance(one, UsageTold):
                # The next turn is told by what it uses, so the one before it has ended; with the
                # cost comes the agent's own end.
                is_next = one.usage.cost_usd is None
                self.is_over = self.is_over or (is_next and self._has_passed)
                usage = add_usage(self._spent, priced(usage_of(one.usage), self._price))
                self._has_passed = self._passes(usage)
            elif isinstance(one, ToolTold) and one.state is ToolState.STARTED:
                self._open_calls.add(one.call)
            elif isinstance(one, ToolTold | TodoTold):
                self._end_call(one)

    def _passes(self, usage: Usage | None) -> bool:
        """Whether a limit of the iteration is passed, or one of the run used up."""
        if limit_passed(self._config, usage) is not None:
            return True
        in_all = add_usage(self._run_spent, usage)
        return is_spent(self._config, in_all)

    def _end_call(self, told: ToolTold | TodoTold) -> None:
        """A turn ends with the last of the tools that it called."""
        if isinstance(told, ToolTold):
            self._open_calls.discard(told.call)
        self.is_over = self.is_over or (self._has_passed and not self._open_calls)
