"""Dashboard: the figures of runs by folder, range, day, agent and task (docs/rules.md#metrics).

Pure functions over metrics. The page draws what is computed here and adds nothing up itself.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo
from typing import TypeVar

from ralph_ls.core.views.report.metrics import (
    context_share,
    cost_of,
    cost_per_task,
    rounded,
    share_of,
    tokens_used,
    total_of,
)
from ralph_ls.protocol.dashboard import (
    Dashboard,
    DashboardFolder,
    DashboardRange,
    DashboardRun,
    FigureGroup,
    IterationColumns,
)
from ralph_ls.protocol.json_output import IterationMetrics, RunAnywhere, RunMetrics, Statistics
from ralph_ls.protocol.run.values import BreakerState

RANGES = (1, 7, 30, 90)
"""Lengths of the ranges beside all time, in days."""

SHOWN_TASKS = 15
"""How many of the tasks that took the most iterations are listed."""

Key = TypeVar("Key", bound=Hashable)
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderRuns:
    """A work tree as the dashboard is made of it."""

    name: str
    runs: Statistics
    now: RunAnywhere | None
    stopped: str | None


Place = tuple[str, RunMetrics, Sequence[date]]
"""A work tree, one of its runs, and the day on which each of its iterations ended."""


def dashboard(
    folders: Sequence[FolderRuns], *, now: datetime, zone: tzinfo | None, version: str
) -> Dashboard:
    """The document of these work trees, with every range that can be chosen."""
    chosen: list[int | None] = [*range(len(folders))]
    if len(folders) != 1:
        chosen.append(None)
    ranges: list[DashboardRange] = []
    for index in chosen:
        members = folders if index is None else (folders[index],)
        places = [
            (
                one.runs.workspace,
                run,
                [each.ended_at.astimezone(zone).date() for each in run.iterations],
            )
            for one in members
            for run in one.runs.runs
        ]
        ranges += _ranges_of(index, places, now=now)
    return Dashboard(
        made_at=now,
        version=version,
        folders=tuple(map(_folder, folders)),
        ranges=tuple(ranges),
    )


def _folder(folder: FolderRuns) -> DashboardFolder:
    return DashboardFolder(
        workspace=folder.runs.workspace,
        name=folder.name,
        now=folder.now,
        stopped=folder.stopped,
        runs=tuple(map(_run, folder.runs.runs)),
        iterations=_columns(folder.runs.runs),
    )


def _run(run: RunMetrics) -> DashboardRun:
    figures = _group(run.run, run.run, run.iterations).model_dump()
    return DashboardRun(
        **figures
        | {
            "started_at": run.started_at,
            "ended_at": run.ended_at,
            "seconds": run.seconds,
            "files": run.files,
            "end": run.end,
            "answers": run.answers,
            "resets": run.resets,
            "edits": run.edits,
        }
    )


def _columns(runs: Sequence[RunMetrics]) -> IterationColumns:
    pairs = [(index, one) for index, run in enumerate(runs) for one in run.iterations]
    all_of = [one for _, one in pairs]
    tasks, agents = dict[str, int](), dict[str, int]()
    return IterationColumns(
        runs=tuple(index for index, _ in pairs),
        numbers=tuple(one.iteration for one in all_of),
        ended_at=tuple(round(one.ended_at.timestamp() * 1000) for one in all_of),
        counted=tuple(one.counted for one in all_of),
        clean=tuple(one.clean for one in all_of),
        outcomes=tuple(one.outcome for one in all_of),
        modes=tuple(one.mode for one in all_of),
        seconds=tuple(one.seconds for one in all_of),
        files=tuple(one.files for one in all_of),
        commits=tuple(one.commits for one in all_of),
        tasks_done=tuple(one.tasks_done for one in all_of),
        tokens=tuple(map(tokens_used, all_of)),
        cost_usd=tuple(one.cost_usd for one in all_of),
        estimated=tuple(one.estimated for one in all_of),
        context=tuple(map(_rounded_share, all_of)),
        validated=tuple(one.validated for one in all_of),
        breakers=tuple(one.breaker for one in all_of),
        tasks=tuple(_index(tasks, _title_of(one)) for one in all_of),
        agents=tuple(_index(agents, _agent_of(one)) for one in all_of),
        failures=tuple(one.failure for one in all_of),
        task_titles=tuple(tasks),
        agent_names=tuple(agents),
    )


def _index(known: dict[str, int], name: str) -> int | None:
    """Index of a name, which is added if it is new; None for no name."""
    return known.setdefault(name, len(known)) if name else None


def _agent_of(one: IterationMetrics) -> str:
    return " · ".join(name for name in (one.agent, one.model) if name)


def _rounded_share(one: IterationMetrics) -> float | None:
    share = context_share(one)
    return None if share is None else rounded(share)


def with_clean_texts(document: Dashboard, clean: Callable[[str], str]) -> Dashboard:
    """The document with every text from plans and agents as ``clean`` leaves it."""
    folders = tuple(
        folder.model_copy(
            update={
                "now": None if folder.now is None else _clean_run(folder.now, clean),
                "stopped": None if folder.stopped is None else clean(folder.stopped),
                "iterations": folder.iterations.model_copy(
                    update={"task_titles": tuple(map(clean, folder.iterations.task_titles))}
                ),
            }
        )
        for folder in document.folders
    )
    ranges = tuple(
        one.model_copy(
            update={
                "tasks": tuple(
                    task.model_copy(update={"name": clean(task.name)}) for task in one.tasks
                )
            }
        )
        for one in document.ranges
    )
    return document.model_copy(update={"folders": folders, "ranges": ranges})


def _clean_run(run: RunAnywhere, clean: Callable[[str], str]) -> RunAnywhere:
    task = (
        None if run.task is None else run.task.model_copy(update={"title": clean(run.task.title)})
    )
    needs = None if run.needs is None else clean(run.needs)
    return run.model_copy(update={"activity": clean(run.activity), "needs": needs, "task": task})


def _ranges_of(
    folder: int | None, places: Sequence[Place], *, now: datetime
) -> Iterator[DashboardRange]:
    """All time, and each range that has fewer runs than a longer one."""
    known = _figures_of(places)
    n_known = len(places)
    yield known.model_copy(update={"folder": folder})
    for days in reversed(RANGES):
        since = now - timedelta(days=days)
        active = [place for place in places if _is_active_since(place[1], since)]
        if len(active) != n_known:
            # The ranges are nested, so as many runs are the same runs.
            known, n_known = _figures_of(active), len(active)
        yield known.model_copy(update={"folder": folder, "days": days, "since": since})


def _is_active_since(run: RunMetrics, since: datetime) -> bool:
    """Whether anything of the run is known to have happened since then."""
    moments = (run.started_at, run.ended_at, *(one.ended_at for one in run.iterations[-1:]))
    return any(moment is not None and moment >= since for moment in moments)


def _figures_of(places: Sequence[Place]) -> DashboardRange:
    dated = [pair for _, run, days in places for pair in zip(days, run.iterations, strict=True)]
    by_day = _grouped(dated)
    by_agent = _grouped(((one.agent, one.model), one) for _, one in dated)
    agents = [
        _group(f"{agent}/{model or ''}", agent, members).model_copy(update={"model": model})
        for (agent, model), members in by_agent.items()
        if agent is not None
    ]
    return DashboardRange(
        totals=total_of([run for _, run, _ in places]),
        per_day=tuple(_group(f"{day}", f"{day}", by_day[day]) for day in sorted(by_day)),
        agents=tuple(sorted(agents, key=lambda group: -group.iterations)),
        tasks=_tasks_of(places),
    )


def _tasks_of(places: Sequence[Place]) -> tuple[FigureGroup, ...]:
    """The tasks that took the most iterations; one task has one id in its work tree."""
    done = {(workspace, one.task.id) for workspace, run, _ in places for one in run.receipts}
    by_task = _grouped(
        ((workspace, one.task.id), one)
        for workspace, run, _ in places
        for one in run.iterations
        if one.task is not None and one.counted
    )
    # The sort is stable: of equal ones the first tried comes first.
    most = sorted(by_task.items(), key=lambda pair: -len(pair[1]))[:SHOWN_TASKS]
    return tuple(
        _group(key[1], _title_of(members[-1]), members).model_copy(
            update={"workspace": key[0], "is_done": key in done}
        )
        for key, members in most
    )


def _title_of(one: IterationMetrics) -> str:
    return "" if one.task is None else one.task.title


def _grouped(items: Iterable[tuple[Key, Item]]) -> dict[Key, list[Item]]:
    """The items by their keys, in the order in which the keys came first."""
    found: dict[Key, list[Item]] = {}
    for key, item in items:
        found.setdefault(key, []).append(item)
    return found


def _group(key: str, name: str, members: Sequence[IterationMetrics]) -> FigureGroup:
    counted = [one for one in members if one.counted]
    clean = sum([one.clean for one in counted])
    shares = [share for one in members if (share := context_share(one)) is not None]
    tokens = [used for one in members if (used := tokens_used(one)) is not None]
    validated = [one.validated for one in members if one.validated is not None]
    cost, done = cost_of(members), sum([one.tasks_done for one in members])
    return FigureGroup(
        key=key,
        name=name,
        started_at=members[0].started_at if members else None,
        ended_at=members[-1].ended_at if members else None,
        iterations=len(counted),
        clean=clean,
        success_rate=share_of(clean, len(counted)),
        seconds=rounded(sum([one.seconds for one in members])),
        files=sum([one.files for one in members]),
        commits=sum([one.commits for one in members]),
        tasks_done=done,
        tokens=sum(tokens) if tokens else None,
        cost_usd=cost,
        estimated=any(one.estimated for one in members),
        without_cost=[one.cost_usd for one in counted].count(None),
        cost_per_task=cost_per_task(cost, done),
        largest_context=rounded(max(shares)) if shares else None,
        validations=len(validated),
        failed_validations=validated.count(False),
        opens=_n_opens(members),
    )


def _n_opens(members: Sequence[IterationMetrics]) -> int:
    """How often the breaker was open after an iteration and had not been before, in each run."""
    opened, last = 0, dict[str, BreakerState]()
    for one in members:
        is_open = one.breaker is BreakerState.OPEN
        opened += is_open and last.get(one.run) is not BreakerState.OPEN
        last[one.run] = one.breaker
    return opened
