"""The budgets of a run: iterations, duration, tokens and cost (SPEC §7 code 1, §9.6).

What an agent does not tell counts as nothing used: a budget that nobody can measure never ends
a run by itself. Tokens are those that went in and came out. What a cache gave is told apart and
is not added: it costs a fraction, and ``max_cost_usd`` is the budget that weighs it.

It must never know what happens to a run whose budget is used up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ralph_ls.protocol.config import Config
from ralph_ls.protocol.report import Usage

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

    @property
    def is_used_up(self) -> bool:
        return self.used >= self.limit


def _budgets(
    config: Config, counted: int, seconds: float, usage: Usage | None
) -> Iterator[_Budget]:
    """The budgets that are set, in the order in which they are told."""
    if (iterations := config.max_iterations) is not None:
        yield _budget("iterations", counted, iterations, f"{counted} of {iterations} iterations")
    if (duration := config.max_duration) is not None:
        state = f"{amount(round(seconds, 1))} of {amount(duration)} s are used up"
        end = f"the duration of {amount(duration)} s is used up"
        yield _Budget(name="duration", used=seconds, limit=duration, state=state, end=end)
    if (max_tokens := config.max_tokens) is not None:
        tokens = tokens_of(usage) or 0
        yield _budget("tokens", tokens, max_tokens, f"{tokens} of {max_tokens} tokens")
    if (max_cost := config.max_cost_usd) is not None:
        cost = 0.0 if usage is None else usage.cost_usd or 0.0
        about = "about " if usage is not None and usage.estimated else ""
        dollars = f"{about}{amount(cost)} of {amount(max_cost)} US dollars"
        yield _budget("cost", cost, max_cost, dollars)


def _budget(name: str, used: float, limit: float, how_much: str) -> _Budget:
    words = f"{how_much} are used up"
    return _Budget(name=name, used=used, limit=limit, state=words, end=words)
