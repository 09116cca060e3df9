"""Dashboard: the figures of runs by folder, range, day, agent and task (docs/rules.md#metrics).

Pure functions over metrics. The page draws what is computed here and adds nothing up itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from itertools import chain
from typing import Any

from ralph_ls.core.views.report.sums import (
    add_groups,
    add_up,
    context_share,
    group_of,
    grouped,
    rounded,
    sum_run,
    sum_up,
    tokens_used,
    total_of_sums,
)
from ralph_ls.protocol.dashboard import (
    Dashboard,
    DashboardFolder,
    DashboardRange,
    DashboardRun,
    FigureGroup,
    IterationColumns,
    RunDigest,
)
from ralph_ls.protocol.json_output import IterationMetrics, RunAnywhere, RunMetrics
from ralph_ls.protocol.lsp.row_methods import KeptRun

RANGES = (1, 7, 30, 90)
"""Lengths of the ranges beside all time, in days."""

SHOWN_TASKS = 15
"""How many of the tasks that took the most iterations are listed."""

Place = tuple[str, RunDigest]
"""A work tree, and one of its runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderRuns:
    """A work tree as the dashboard is made of it."""

    name: str
    workspace: str
    runs: Sequence[RunDigest]
    """Oldest first."""
    now: RunAnywhere | None
    stopped: str | None


def digest_of(run: RunMetrics, zone: tzinfo | None) -> RunDigest:
    """What lists and dashboards show of a run; its days are those of the time zone."""
    days = grouped((f"{one.ended_at.astimezone(zone).date()}", one) for one in run.iterations)
    agents = grouped(
        ((one.agent, one.model), one) for one in run.iterations if one.agent is not None
    )
    tasks = grouped(
        (one.task.id, one) for one in run.iterations if one.task is not None and one.counted
    )
    known = sum_run(run)
    return RunDigest(
        run=known.run,
        sums=known.sums.model_copy(update={"key": run.run, "name": run.run}),
        modes=known.modes,
        failures=known.failures,
        reviews=known.reviews,
        days=tuple(sum_up(members, key=day, name=day) for day, members in days.items()),
        agents=tuple(
            sum_up(members, key=f"{agent}/{model or ''}", name=agent, model=model)
            for (agent, model), members in agents.items()
        ),
        tasks=tuple(
            sum_up(members, key=task, name=_title_of(members[-1]))
            for task, members in tasks.items()
        ),
        done=tuple(dict.fromkeys(one.task.id for one in run.receipts)),
        columns=_columns(run.iterations),
    )


def dashboard(folders: Sequence[FolderRuns], *, now: datetime, version: str) -> Dashboard:
    """The document of these work trees, with every range that can be chosen."""
    chosen: list[int | None] = [*range(len(folders))]
    if len(folders) != 1:
        chosen.append(None)
    ranges: list[DashboardRange] = []
    for index in chosen:
        members = folders if index is None else (folders[index],)
        places = [(one.workspace, run) for one in members for run in one.runs]
        ranges += _ranges_of(index, places, now=now)
    return Dashboard(
        made_at=now,
        version=version,
        folders=tuple(map(_folder, folders)),
        ranges=tuple(ranges),
    )


def _folder(folder: FolderRuns) -> DashboardFolder:
    return DashboardFolder(
        workspace=folder.workspace,
        name=folder.name,
        now=folder.now,
        stopped=folder.stopped,
        runs=tuple(DashboardRun(**_run(one)) for one in folder.runs),
        iterations=_all_columns([one.columns for one in folder.runs]),
    )


def _run(digest: RunDigest) -> dict[str, Any]:
    run = digest.run
    return group_of(digest.sums).model_dump() | {
        "started_at": run.started_at,
        "ended_at": run.ended_at,
        "seconds": run.seconds,
        "files": run.files,
        "end": run.end,
        "answers": run.answers,
        "resets": run.resets,
        "edits": run.edits,
        "parallel": run.parallel,
    }


def kept_run(digest: RunDigest, clean: Callable[[str], str]) -> KeptRun:
    """A run as a list of runs shows it, with its tasks as ``clean`` leaves their titles."""
    titles = tuple(map(clean, digest.columns.task_titles))
    return KeptRun(**_run(digest), tasks=titles, pruned=digest.run.pruned is not None)


def _columns(iterations: Sequence[IterationMetrics]) -> IterationColumns:
    tasks, agents = dict[str, int](), dict[str, int]()
    return IterationColumns(
        runs=(0,) * len(iterations),
        numbers=tuple(one.iteration for one in iterations),
        ended_at=tuple(round(one.ended_at.timestamp() * 1000) for one in iterations),
        counted=tuple(one.counted for one in iterations),
        clean=tuple(one.clean for one in iterations),
        outcomes=tuple(one.outcome for one in iterations),
        modes=tuple(one.mode for one in iterations),
        seconds=tuple(one.seconds for one in iterations),
        files=tuple(one.files for one in iterations),
        commits=tuple(one.commits for one in iterations),
        tasks_done=tuple(one.tasks_done for one in iterations),
        tokens=tuple(map(tokens_used, iterations)),
        cost_usd=tuple(one.cost_usd for one in iterations),
        estimated=tuple(one.estimated for one in iterations),
        context=tuple(map(_rounded_share, iterations)),
        validated=tuple(one.validated for one in iterations),
        breakers=tuple(one.breaker for one in iterations),
        tasks=tuple(_index(tasks, _title_of(one)) for one in iterations),
        agents=tuple(_index(agents, _agent_of(one)) for one in iterations),
        failures=tuple(one.failure for one in iterations),
        task_titles=tuple(tasks),
        agent_names=tuple(agents),
    )


def _all_columns(parts: Sequence[IterationColumns]) -> IterationColumns:
    """The columns of several runs, one below the other; names are listed once."""
    columns: dict[str, tuple[Any, ...]] = {
        name: tuple(chain.from_iterable(getattr(part, name) for part in parts))
        for name in IterationColumns.model_fields.keys() - _RENUMBERED
    }
    columns["runs"] = tuple(index for index, part in enumerate(parts) for _ in part.runs)
    for name, names in (("tasks", "task_titles"), ("agents", "agent_names")):
        pairs = [(getattr(part, name), getattr(part, names)) for part in parts]
        columns[name], columns[names] = _renumbered(pairs)
    # Checked when the parts were read.
    return IterationColumns.model_construct(None, **columns)


def _renumbered(
    parts: Iterable[tuple[Sequence[int | None], Sequence[str]]],
) -> tuple[tuple[int | None, ...], tuple[str, ...]]:
    """Indices of several lists of names as those of one list, and this list."""
    known, indices = dict[str, int](), list[int | None]()
    for part, names in parts:
        places = [known.setdefault(each, len(known)) for each in names]
        indices += [None if at is None else places[at] for at in part]
    return tuple(indices), tuple(known)


_RENUMBERED = frozenset({"runs", "tasks", "agents", "task_titles", "agent_names"})
"""Columns that hold an index, and the names behind the indices."""


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
                "now": None if folder.now is None else clean_run(folder.now, clean),
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


def clean_run(run: RunAnywhere, clean: Callable[[str], str]) -> RunAnywhere:
    """The run with every text from plans and agents as ``clean`` leaves it."""
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


def _is_active_since(digest: RunDigest, since: datetime) -> bool:
    """Whether anything of the run is known to have happened since then."""
    moments = (digest.run.started_at, digest.run.ended_at, digest.sums.ended_at)
    return any(moment is not None and moment >= since for moment in moments)


def _figures_of(places: Sequence[Place]) -> DashboardRange:
    runs = [run for _, run in places]
    days = add_groups(day for run in runs for day in run.days)
    agents = add_groups(agent for run in runs for agent in run.agents)
    return DashboardRange(
        totals=total_of_sums(runs),
        per_day=tuple(map(group_of, sorted(days, key=lambda day: day.key))),
        agents=tuple(map(group_of, sorted(agents, key=lambda agent: -agent.iterations))),
        tasks=_tasks_of(places),
    )


def _tasks_of(places: Sequence[Place]) -> tuple[FigureGroup, ...]:
    """The tasks that took the most iterations; one task has one id in its work tree.

    Beyond the limit there is the open one with the most, where all before it are done.
    """
    done: set[tuple[str, str]] = set()
    for workspace, run in places:
        # What a later run works on was open again.
        done.difference_update((workspace, task.key) for task in run.tasks)
        done.update((workspace, task) for task in run.done)
    by_task = grouped(
        ((workspace, task.key), task) for workspace, run in places for task in run.tasks
    )
    summed = [(workspace, add_up(members)) for (workspace, _), members in by_task.items()]
    # The sort is stable: of equal ones the first tried comes first.
    most = sorted(summed, key=lambda pair: -pair[1].iterations)
    is_open = [(workspace, sums.key) not in done for workspace, sums in most]
    shown = most[:SHOWN_TASKS]
    if not any(is_open[:SHOWN_TASKS]) and any(is_open):
        shown.append(most[is_open.index(True)])
    return tuple(
        group_of(sums).model_copy(
            update={"workspace": workspace, "is_done": (workspace, sums.key) in done}
        )
        for workspace, sums in shown
    )


def _title_of(one: IterationMetrics) -> str:
    return "" if one.task is None else one.task.title
