"""The budgets of a run: iterations, duration, tokens and cost, as totals over all its resumes.

What an agent does not tell counts as nothing used: a budget that nobody can measure never ends
a run by itself, so a start with one is refused by ``core.agent.metering``. Tokens are those that
went in and came out. What a cache gave is told apart and is not added: it costs a fraction, and
``max_cost_usd`` is the budget that weighs it.

It must never know what happens to a run whose budget is used up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import floor

from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.run.report import Usage

NEARLY_PERCENT = 80
"""SPEC §9.6: a person is warned at this share of a budget."""

ITERATIONS_TO_WARN = 5
"""Runs of fewer iterations are over before a warning could be of use."""


def limit_reached(
    config: Config, *, counted: int, seconds: float, usage: Usage | None
) -> str | None:
    """Which budget is used up, in words; None where none is."""
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


def used_up(
    config: Config, *, counted: int, seconds: float, usage: Usage | None
) -> tuple[UsedUp, ...]:
    """Each budget that is used up: what has to be raised before the run can go on."""
    return tuple(
        UsedUp(used=budget.shown, flag=f"{budget.flag} {budget.raised}")
        for budget in _budgets(config, counted, seconds, usage)
        if budget.is_used_up
    )


def nearly_used(
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


def is_spent(config: Config, usage: Usage | None) -> bool:
    """Whether the tokens or the cost of a run are used up, whatever else bounds it."""
    tokens, cost = tokens_of(usage), None if usage is None else usage.cost_usd
    return (config.max_tokens is not None and (tokens or 0) >= config.max_tokens) or (
        config.max_cost_usd is not None and (cost or 0.0) >= config.max_cost_usd
    )


def tokens_of(usage: Usage | None) -> int | None:
    """In and out, as the budget counts them; None where no agent has told any."""
    told = () if usage is None else (usage.input_tokens, usage.output_tokens)
    known = [count for count in told if count is not None]
    return sum(known) if known else None


def amount(number: float) -> str:
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
        return _flag_duration(total) if self.name == "duration" else amount(total)


def _budgets(
    config: Config, counted: int, seconds: float, usage: Usage | None
) -> Iterator[_Budget]:
    """The budgets that are set, in the order in which they are told."""
    if (iterations := config.max_iterations) is not None:
        words = f"{counted} of {iterations} iterations"
        yield _budget("iterations", counted, iterations, words, flag="--max-iterations")
    if (duration := config.max_duration) is not None:
        yield _Budget(
            name="duration",
            used=seconds,
            limit=duration,
            state=f"{amount(round(seconds, 1))} of {amount(duration)} s are used up",
            end=f"the duration of {amount(duration)} s is used up",
            shown=f"{_flag_duration(seconds)} of {_flag_duration(duration)}",
            flag="--max-time",
        )
    if (max_tokens := config.max_tokens) is not None:
        tokens = tokens_of(usage) or 0
        words = f"{tokens} of {max_tokens} tokens"
        yield _budget("tokens", tokens, max_tokens, words, flag="--max-tokens")
    if (max_cost := config.max_cost_usd) is not None:
        cost = 0.0 if usage is None else usage.cost_usd or 0.0
        is_estimate = usage is not None and bool(usage.estimated)
        words = f"{amount(cost)} of {amount(max_cost)} US dollars"
        budget = _budget(
            "cost", cost, max_cost, f"about {words}" if is_estimate else words, flag="--max-cost"
        )
        shown = f"{'≈' if is_estimate else ''}{_money(cost)} of {_money(max_cost)}"
        yield replace(budget, shown=shown)


_RAISED_FROM_NOTHING = "1h"
"""A duration of 0 is the one limit that no multiple raises."""


def _budget(name: str, used: float, limit: float, shown: str, *, flag: str) -> _Budget:
    words = f"{shown} are used up"
    return _Budget(
        name=name, used=used, limit=limit, state=words, end=words, shown=shown, flag=flag
    )


def _money(dollars: float) -> str:
    """``$5.02``; what is less than a cent keeps its digits."""
    return f"${dollars:.2f}" if dollars >= 0.01 or not dollars else f"${amount(dollars)}"


def _flag_duration(seconds: float) -> str:
    """``1h30m``, ``90s``: as a flag takes it."""
    if seconds < 1:
        return f"{amount(seconds * 1000)}ms"
    whole = round(seconds)
    hours, minutes, rest = whole // 3600, whole % 3600 // 60, whole % 60
    parts = [f"{n}{unit}" for n, unit in ((hours, "h"), (minutes, "m"), (rest, "s")) if n]
    return "".join(parts)
