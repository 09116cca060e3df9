"""Sums: the figures of iterations that add up, and totals and groups made of them.

A run is summed up once, and whatever shows several runs adds their sums, so that all of them have
the same figures (docs/rules.md#metrics). Sums are rounded when they are shown, never before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from functools import reduce
from typing import TypeVar

from ralph_ls.core.agent.usage import add_known
from ralph_ls.protocol.dashboard import FigureGroup, FigureSums, ReviewSums, RunSums
from ralph_ls.protocol.json_output import (
    IterationMetrics,
    ModeMetrics,
    ReviewMetrics,
    RunMetrics,
    TotalMetrics,
)
from ralph_ls.protocol.run.values import BreakerState, EndReason, Mode

Key = TypeVar("Key", bound=Hashable)
Item = TypeVar("Item")

_REVIEW_MODES = frozenset({Mode.REVIEW.value, Mode.REVIEW_FIX.value})


def total_of(runs: Iterable[RunMetrics]) -> TotalMetrics:
    """Totals of all runs."""
    return total_of_sums([sum_run(run) for run in runs])


def sum_run(run: RunMetrics) -> RunSums:
    """A run in figures that add up."""
    modes = grouped((one.mode, one) for one in run.iterations)
    cycle = [one for one in run.iterations if one.mode in _REVIEW_MODES]
    given = [one.review for one in cycle if one.review is not None]
    return RunSums(
        run=run.model_copy(update={"iterations": (), "receipts": ()}),
        sums=sum_up(run.iterations),
        modes=tuple(sum_up(members, key=mode) for mode, members in modes.items()),
        failures=Counter(one.failure.value for one in run.iterations if one.failure is not None),
        reviews=ReviewSums(
            reviews=len(given),
            findings=sum(review.findings for review in given),
            with_findings=sum(review.findings > 0 for review in given),
            approved=sum(review.approved for review in given),
            approved_at_cap=sum(review.approved and review.at_cap for review in given),
        ),
    )


def sum_up(
    members: Sequence[IterationMetrics], *, key: str = "", name: str = "", model: str | None = None
) -> FigureSums:
    """The figures of iterations of one run."""
    counted = [one for one in members if one.counted]
    shares = [share for one in members if (share := context_share(one)) is not None]
    validated = [one.validated for one in members if one.validated is not None]
    return FigureSums(
        key=key,
        name=name,
        model=model,
        started_at=members[0].started_at if members else None,
        ended_at=members[-1].ended_at if members else None,
        iterations=len(counted),
        clean=sum([one.clean for one in counted]),
        seconds=sum([one.seconds for one in members]),
        counted_seconds=sum([one.seconds for one in counted]),
        files=sum([one.files for one in members]),
        commits=sum([one.commits for one in members]),
        tasks_done=sum([one.tasks_done for one in members]),
        tokens=add_known(*map(tokens_used, members)),
        without_tokens=[*map(tokens_used, counted)].count(None),
        cost_usd=add_known(*(one.cost_usd for one in members)),
        estimated=any(one.estimated for one in members),
        without_cost=[one.cost_usd for one in counted].count(None),
        shares=len(shares),
        share_sum=sum(shares),
        largest_share=max(shares, default=None),
        validations=len(validated),
        failed_validations=validated.count(False),
        opens=_n_opens(members),
    )


def _n_opens(members: Iterable[IterationMetrics]) -> int:
    """How often the breaker was open after an iteration and had not been before."""
    states = [one.breaker is BreakerState.OPEN for one in members]
    return sum(
        after and not before for before, after in zip([False, *states], states, strict=False)
    )


def add_up(sums: Sequence[FigureSums]) -> FigureSums:
    """Sums of several groups together, in their order; the last one names them."""
    if len(sums) == 1:
        return sums[0]
    if not sums:
        return FigureSums()
    first, last = sums[0], sums[-1]
    largest = [one.largest_share for one in sums if one.largest_share is not None]
    return FigureSums(
        key=last.key,
        name=last.name,
        model=last.model,
        started_at=first.started_at,
        ended_at=last.ended_at,
        iterations=sum([one.iterations for one in sums]),
        clean=sum([one.clean for one in sums]),
        seconds=sum([one.seconds for one in sums]),
        counted_seconds=sum([one.counted_seconds for one in sums]),
        files=sum([one.files for one in sums]),
        commits=sum([one.commits for one in sums]),
        tasks_done=sum([one.tasks_done for one in sums]),
        tokens=add_known(*(one.tokens for one in sums)),
        without_tokens=sum([one.without_tokens for one in sums]),
        cost_usd=add_known(*(one.cost_usd for one in sums)),
        estimated=any(one.estimated for one in sums),
        without_cost=sum([one.without_cost for one in sums]),
        shares=sum([one.shares for one in sums]),
        share_sum=sum([one.share_sum for one in sums]),
        largest_share=max(largest, default=None),
        validations=sum([one.validations for one in sums]),
        failed_validations=sum([one.failed_validations for one in sums]),
        opens=sum([one.opens for one in sums]),
    )


def add_groups(sums: Iterable[FigureSums]) -> list[FigureSums]:
    """The groups of several runs, those of one key and model together, as they came first."""
    groups = grouped(((one.key, one.model), one) for one in sums)
    return [add_up(members) for members in groups.values()]


def group_of(sums: FigureSums) -> FigureGroup:
    """The group as it is shown."""
    cost = _dollars(sums.cost_usd)
    return FigureGroup(
        key=sums.key,
        name=sums.name,
        model=sums.model,
        started_at=sums.started_at,
        ended_at=sums.ended_at,
        iterations=sums.iterations,
        clean=sums.clean,
        success_rate=share_of(sums.clean, sums.iterations),
        seconds=rounded(sums.seconds),
        files=sums.files,
        commits=sums.commits,
        tasks_done=sums.tasks_done,
        tokens=sums.tokens,
        cost_usd=cost,
        estimated=sums.estimated,
        without_cost=sums.without_cost,
        cost_per_task=_cost_per_task(cost, sums.tasks_done),
        largest_context=None if sums.largest_share is None else rounded(sums.largest_share),
        validations=sums.validations,
        failed_validations=sums.failed_validations,
        opens=sums.opens,
    )


def total_of_sums(digests: Sequence[RunSums]) -> TotalMetrics:
    """Totals of runs that are summed up."""
    runs = [one.run for one in digests]
    sums = add_up([one.sums for one in digests])
    modes = add_groups(mode for one in digests for mode in one.modes)
    ends = Counter(run.end for run in runs)
    failures = sum((Counter(one.failures) for one in digests), Counter[str]())
    n_over = sum(run.exit_code is not None for run in runs)
    hands = sum(run.answers + run.resets + run.edits for run in runs)
    cost = _dollars(sums.cost_usd)
    return TotalMetrics(
        runs=len(runs),
        iterations=sums.iterations,
        clean=sums.clean,
        seconds=rounded(sum(run.seconds for run in runs)),
        iteration_seconds=rounded(sums.counted_seconds),
        commits=sums.commits,
        files=sum(run.files for run in runs),
        more_files=any(run.more_files for run in runs),
        tasks_done=sums.tasks_done,
        tokens=sums.tokens,
        cost_usd=cost,
        estimated=sums.estimated,
        without_tokens=sums.without_tokens,
        without_cost=sums.without_cost,
        answers=sum(run.answers for run in runs),
        resets=sum(run.resets for run in runs),
        edits=sum(run.edits for run in runs),
        iteration_success_rate=share_of(sums.clean, sums.iterations),
        run_success_rate=share_of(ends[EndReason.COMPLETE.value], n_over),
        human_intervention_rate=share_of(hands, sums.iterations),
        average_iteration_seconds=share_of(sums.counted_seconds, sums.iterations),
        average_task_seconds=share_of(sums.counted_seconds, sums.tasks_done),
        average_task_cost_usd=_cost_per_task(cost, sums.tasks_done),
        average_context=share_of(sums.share_sum, sums.shares),
        largest_context=None if sums.largest_share is None else rounded(sums.largest_share),
        ends=dict(sorted(ends.items())),
        failures=dict(sorted(failures.items())),
        modes=tuple(map(_mode_of, modes)),
        reviews=_reviews_of(digests, modes, sums),
    )


def _mode_of(sums: FigureSums) -> ModeMetrics:
    return ModeMetrics(
        mode=sums.key,
        iterations=sums.iterations,
        seconds=rounded(sums.seconds),
        tokens=sums.tokens,
        cost_usd=_dollars(sums.cost_usd),
        estimated=sums.estimated,
    )


def _reviews_of(
    digests: Sequence[RunSums], modes: Sequence[FigureSums], everything: FigureSums
) -> ReviewMetrics | None:
    """The review cycle: what it cost beside the rest, and what it found."""
    cycle = [mode for mode in modes if mode.key in _REVIEW_MODES]
    if not cycle:
        return None
    spent = add_up(cycle)
    given = reduce(_add_reviews, (one.reviews for one in digests), ReviewSums())
    cost, total_cost = _dollars(spent.cost_usd), _dollars(everything.cost_usd)
    return ReviewMetrics(
        **given.model_dump(),
        seconds=rounded(spent.seconds),
        cost_usd=cost,
        estimated=spent.estimated,
        share_of_time=_part(spent.seconds, everything.seconds),
        share_of_cost=None if cost is None else _part(cost, total_cost or 0.0),
        findings_per_review=share_of(given.findings, given.reviews),
    )


def _add_reviews(one: ReviewSums, other: ReviewSums) -> ReviewSums:
    return ReviewSums(
        **{name: getattr(one, name) + getattr(other, name) for name in ReviewSums.model_fields}
    )


def grouped(items: Iterable[tuple[Key, Item]]) -> dict[Key, list[Item]]:
    """The items by their keys, in the order in which the keys came first."""
    found: dict[Key, list[Item]] = {}
    for key, item in items:
        found.setdefault(key, []).append(item)
    return found


def _dollars(cost: float | None) -> float | None:
    return None if cost is None else rounded(cost)


def _cost_per_task(cost: float | None, tasks: int) -> float | None:
    """Known cost for each task that became done; None without any cost or task."""
    return None if cost is None else share_of(cost, tasks)


def context_share(one: IterationMetrics) -> float | None:
    """Used share of an iteration's context window, 0 to 1; None where it is unknown."""
    used, window = one.context_tokens, one.context_window
    return None if used is None or not window else used / window


def tokens_used(one: IterationMetrics) -> int | None:
    """Input and output tokens, as the budget counts them; None where they are unknown."""
    given, made = one.input_tokens, one.output_tokens
    if given is None or made is None:
        return made if given is None else given
    return given + made


def _part(part: float, whole: float) -> float | None:
    return rounded(part / whole) if whole else None


def share_of(part: float, whole: int) -> float | None:
    """A share or an average; None where there is nothing that it could be a share of."""
    return _part(part, whole)


def rounded(number: float) -> float:
    """A sum without the digits that are artefacts of adding floats."""
    return round(number, 6)
