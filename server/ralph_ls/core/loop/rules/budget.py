"""Budgets: limits of iterations, duration, tokens, cost and calls, for a run and for one iteration.

A run's budgets are totals over all its resumptions. An agent that does not report its use counts as
using nothing: a budget that cannot be measured never ends a run, so ``core.agent.metering`` refuses
a start with one. Tokens are input and output; those from a cache are reported separately and not
added, since they cost a fraction, and ``max_cost_usd`` is the budget that weighs them.

An iteration's limits of tokens and cost are checked while its agent works, together with the rest
of the run's (docs/rules.md#budgets). An agent is ended after the turn that passes a limit, never in
the middle of one. One that reports its use only at its end is judged then. Work done before is
evidence as usual, and the loop continues.

``max_calls_per_minute`` counts the turns that agents report. Their times are not reported, so the
turns of an iteration count as spread evenly over the time in which its agent worked. An agent
without turns counts as one call.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import floor
from typing import TYPE_CHECKING

from ralph_ls.core.agent.usage import add_usage, with_estimated_cost
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.config.tables import PriceConfig
from ralph_ls.protocol.run.events import IterationEnded
from ralph_ls.protocol.run.report import Usage
from ralph_ls.protocol.run.state import AgentCalls, RunState

if TYPE_CHECKING:
    from ralph_ls.protocol.run.messages import AgentMessage

NEARLY_PERCENT = 80
"""The share of a budget at which the user is warned (docs/rules.md#budgets)."""

ITERATIONS_TO_WARN = 5
"""Runs of fewer iterations are over before a warning could be of use."""


def limit_reached(
    config: Config, *, counted: int, seconds: float, usage: Usage | None
) -> str | None:
    """The message of a budget that is used up; None where none is."""
    for budget in _budgets(config, counted, seconds, usage):
        if budget.is_used_up:
            return budget.end
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class UsedUp:
    """A budget that is used up, and the flag that raises it."""

    used: str
    """``$5.02 of $5.00``."""
    flag: str
    """``--max-cost 10``: a total that leaves room for more."""


def used_up_budgets(
    config: Config, *, counted: int, seconds: float, usage: Usage | None
) -> tuple[UsedUp, ...]:
    """Each budget that is used up, and must be raised before the run can continue."""
    return tuple(
        UsedUp(used=budget.shown, flag=f"{budget.flag} {budget.raised}")
        for budget in _budgets(config, counted, seconds, usage)
        if budget.is_used_up
    )


def nearly_used_budgets(
    config: Config, *, counted: int, seconds: float, usage: Usage | None
) -> tuple[tuple[str, str], ...]:
    """Name and message of each budget of which 80 % and more, but not all, is used up."""
    nearly = [
        budget
        for budget in _budgets(config, counted, seconds, usage)
        if not budget.is_used_up and is_nearly_used(budget.used, budget.limit)
    ]
    return tuple(
        (budget.name, budget.state)
        for budget in nearly
        if budget.name != "iterations" or budget.limit >= ITERATIONS_TO_WARN
    )


def is_nearly_used(used: float | None, limit: float | None) -> bool:
    """Whether most of a budget is used up, or all of it; nothing known or set is not."""
    return used is not None and limit is not None and 100 * used >= NEARLY_PERCENT * limit


def is_usage_spent(config: Config, usage: Usage | None) -> bool:
    """Whether the tokens or the cost of a run are used up, whatever other limits it has."""
    tokens, cost = tokens_of(usage), None if usage is None else usage.cost_usd
    return (config.max_tokens is not None and (tokens or 0) >= config.max_tokens) or (
        config.max_cost_usd is not None and (cost or 0.0) >= config.max_cost_usd
    )


def tokens_of(usage: Usage | None) -> int | None:
    """Input and output tokens, as the budget counts them; None where no agent has reported any."""
    counts = () if usage is None else (usage.input_tokens, usage.output_tokens)
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def amount_words(number: float) -> str:
    """``1200``, ``4.8``, ``0.0005``: no more digits than it needs."""
    return f"{number:.4f}".rstrip("0").rstrip(".")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Budget:
    """One budget that is set, and how much of it is used."""

    name: str
    used: float
    limit: float
    state: str
    """How much of it is used, in words."""
    end: str
    """That it is used up, in words."""
    shown: str
    """How much of it is used, in few words."""
    flag: str
    """The flag of ``ralph run`` that sets it."""

    @property
    def is_used_up(self) -> bool:
        return self.used >= self.limit

    @property
    def raised(self) -> str:
        """A new total, as its flag takes it: the smallest multiple with room for half a limit."""
        if not self.limit:
            return _RAISED_FROM_NOTHING
        total = self.limit * (floor(self.used / self.limit + 0.5) + 1)
        return short_duration(total) if self.name == "duration" else amount_words(total)


def _budgets(
    config: Config, counted: int, seconds: float, usage: Usage | None
) -> Iterator[_Budget]:
    """The budgets that are set, in the order of messages."""
    if (iterations := config.max_iterations) is not None:
        # A run may be resumed with a limit below what it has used.
        is_passed = counted > iterations
        more = f" ({counted} have run)" if is_passed else ""
        yield _Budget(
            name="iterations",
            used=counted,
            limit=iterations,
            state=f"{counted} of {iterations} iterations used",
            end=f"reached the {iterations}-iteration limit{more}",
            shown=(
                f"{counted} iterations (limit {iterations})"
                if is_passed
                else f"{counted} of {iterations} iterations"
            ),
            flag="--max-iterations",
        )
    if (duration := config.max_duration) is not None:
        end = f"reached the {short_duration(duration)} time limit"
        shown = f"{short_duration(seconds)} of {short_duration(duration)}"
        yield _amount("duration", seconds, duration, shown, end)
    if (max_tokens := config.max_tokens) is not None:
        tokens = tokens_of(usage) or 0
        end = f"reached the {max_tokens}-token limit ({tokens} used)"
        yield _amount("tokens", tokens, max_tokens, f"{tokens} of {max_tokens} tokens", end)
    if (max_cost := config.max_cost_usd) is not None:
        cost = 0.0 if usage is None else usage.cost_usd or 0.0
        used = f"{'≈' if usage is not None and usage.estimated else ''}{_money(cost)}"
        end = f"reached the {_money(max_cost)} cost limit ({used} used)"
        yield _amount("cost", cost, max_cost, f"{used} of {_money(max_cost)}", end)


_FLAGS = {"duration": "--max-time", "tokens": "--max-tokens", "cost": "--max-cost"}


def _amount(name: str, used: float, limit: float, shown: str, end: str) -> _Budget:
    """A budget of an amount; ``shown``: what is used and the limit, in words."""
    return _Budget(
        name=name,
        used=used,
        limit=limit,
        state=f"{shown} used",
        end=end,
        shown=shown,
        flag=_FLAGS[name],
    )


_RAISED_FROM_NOTHING = "1h"
"""A duration of 0 is the one limit that no multiple raises."""


def _money(dollars: float) -> str:
    """``$5.02``; what is less than a cent keeps its digits."""
    return f"${dollars:.2f}" if dollars >= 0.01 or not dollars else f"${amount_words(dollars)}"


def short_duration(seconds: float) -> str:
    """``1h30m``, ``90s``: as a flag takes it."""
    if seconds < 1:
        return f"{amount_words(seconds * 1000)}ms"
    whole = round(seconds)
    hours, minutes, rest = whole // 3600, whole % 3600 // 60, whole % 60
    parts = [f"{n}{unit}" for n, unit in ((hours, "h"), (minutes, "m"), (rest, "s")) if n]
    return "".join(parts)


ITERATION_LIMIT = "iteration-limit"
"""The code of the warning that an iteration passed one."""


def iteration_limit_passed(config: Config, usage: Usage | None) -> str | None:
    """``2200 of 2000 tokens``: the first limit of an iteration that is passed; None: none is."""
    tokens, max_tokens = tokens_of(usage), config.max_tokens_per_iteration
    if tokens is not None and max_tokens is not None and tokens > max_tokens:
        return f"{tokens} of {max_tokens} tokens"
    cost, max_cost = None if usage is None else usage.cost_usd, config.max_cost_per_iteration_usd
    if cost is not None and max_cost is not None and cost > max_cost:
        about = "≈" if usage is not None and usage.estimated else ""
        return f"{about}{_money(cost)} of {_money(max_cost)}"
    return None


def iteration_limit_words(config: Config, usage: Usage | None, *, ended: bool) -> str | None:
    """The message that an iteration passed a limit, and whether its agent was ended; None where
    not.
    """
    how_much = iteration_limit_passed(config, usage)
    if how_much is None:
        return None
    what = (
        "the agent was ended after that turn" if ended else "the agent reported it only at its end"
    )
    return f"the iteration used {how_much}; {what}. Its work up to then counts"


class SpendingWatch:
    """Watches the usage that one agent process reports, and decides when to end it."""

    def __init__(
        self,
        config: Config,
        spent: Usage | None,
        *,
        price: PriceConfig | None = None,
        run_spent: Usage | None = None,
    ) -> None:
        """``spent`` is the usage of an earlier attempt of the same iteration.

        ``run_spent`` is the run's usage before the iteration. ``price`` is that of the model, for
        an agent that reports no cost.
        """
        self._config = config
        self._price = price
        self._spent = spent
        self._run_spent = run_spent
        self._has_passed = False
        self._open_calls: set[str] = set()
        self.is_over = False
        """Whether the turn has ended in which a limit was passed."""

    def take(self, messages: Sequence[AgentMessage]) -> None:
        """Take the messages of the agent, in order."""
        # Viewers load this module for its words, and need no messages.
        from ralph_ls.protocol.run.messages import TodoMessage, ToolMessage, ToolState, UsageMessage

        for one in messages:
            if isinstance(one, UsageMessage):
                # Usage announces the next turn, so the one before it has ended; with the
                # cost comes the agent's own end.
                is_next = one.usage.cost_usd is None
                self.is_over = self.is_over or (is_next and self._has_passed)
                usage = add_usage(
                    self._spent, with_estimated_cost(one.usage.to_usage(), self._price)
                )
                self._has_passed = self._passes(usage)
            elif isinstance(one, ToolMessage) and one.state is ToolState.STARTED:
                self._open_calls.add(one.call)
            elif isinstance(one, ToolMessage):
                self._end_call(one.call)
            elif isinstance(one, TodoMessage):
                self._end_call(None)

    def _passes(self, usage: Usage | None) -> bool:
        """Whether a limit of the iteration is passed, or one of the run used up."""
        if iteration_limit_passed(self._config, usage) is not None:
            return True
        in_all = add_usage(self._run_spent, usage)
        return is_usage_spent(self._config, in_all)

    def _end_call(self, call: str | None) -> None:
        """A turn ends with the last of the tools that it called."""
        if call is not None:
            self._open_calls.discard(call)
        self.is_over = self.is_over or (self._has_passed and not self._open_calls)


CALLS_WINDOW = timedelta(minutes=1)


def calls_after_iteration(run: RunState, ended: IterationEnded) -> tuple[AgentCalls, ...]:
    """The calls of the last minute, with those of an iteration that has just ended.

    ``run`` is the state in which it was still open. Without a limit nothing is kept.
    """
    if run.config.max_calls_per_minute is None:
        return ()
    made = (*run.calls, *_of_iteration(run, ended))
    return tuple(one for one in made if one.until > ended.at - CALLS_WINDOW)


def next_agent_start(
    calls: Sequence[AgentCalls], limit: int | None, now: datetime
) -> datetime | None:
    """When fewer than ``limit`` calls are within the last minute; None where that is so now."""
    if limit is None:
        return None
    left = limit
    # Where the clock was set back, the age of a call is not known.
    for one in (known for known in reversed(calls) if known.until <= now):
        if left <= one.count:
            start = _moment_of(one, left) + CALLS_WINDOW
            return start if start > now else None
        left -= one.count
    return None


def _of_iteration(run: RunState, ended: IterationEnded) -> tuple[AgentCalls, ...]:
    current = run.current
    if current is None or current.agent is None:
        return ()
    turns = None if ended.usage is None else ended.usage.turns
    until = ended.at if current.exit is None else current.exit.at
    seconds = max(0.0, (until - current.started.at).total_seconds())
    return (AgentCalls(until=until, seconds=seconds, count=turns or 1),)


def _moment_of(one: AgentCalls, number: int) -> datetime:
    """When the call was made that is ``number`` from the end, counted from 1."""
    before = one.seconds * (number - 1) / one.count
    return one.until - timedelta(milliseconds=floor(before * 1000))
