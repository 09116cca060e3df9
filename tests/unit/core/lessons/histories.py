"""Builds records and figures of runs for tests of lessons."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from ralph_ls.core.lessons.history import AsideRecord, IterationRecord, RunRecord
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.json_output import IterationMetrics
from ralph_ls.protocol.run.events import TaskSetAside, Validated
from ralph_ls.protocol.run.values import Outcome, TaskRef

RUN = "20260131T120000Z-0a1b"
OTHER_RUN = "20260201T120000Z-3c4d"
AT = datetime(2026, 1, 31, 12, tzinfo=UTC)


def task(title: str) -> TaskRef:
    return TaskRef(id=f"id-{title}", title=title)


def validated(script: str = "", *, tail: str = "", scripts: tuple[str, ...] = ()) -> Validated:
    """A validation; one that failed names its script."""
    return Validated(
        seq=1,
        at=AT,
        run=RUN,
        iteration=1,
        start=1,
        ok=not script,
        script=script,
        scripts=scripts,
        tail=tail,
    )


def iteration(number: int = 1, title: str = "Add a parser", **more: Any) -> IterationRecord:
    """One iteration of a task; ``done`` as True finishes it."""
    about = task(title)
    if more.get("done") is True:
        more["done"] = (about.id,)
    return IterationRecord(**{"run": RUN, "iteration": number, "task": about, **more})


def aside(number: int = 1, title: str = "Migrate the database", **more: Any) -> AsideRecord:
    event = TaskSetAside(
        **{
            "seq": 1,
            "at": AT,
            "run": RUN,
            "iteration": number,
            "start": number,
            "task": task(title),
            "reason": "the database is not reachable",
            **more,
        }
    )
    return AsideRecord(iteration=number, event=event)


def run(*iterations: IterationRecord, **more: Any) -> RunRecord:
    return RunRecord(**{"run": RUN, "config": Config(), "iterations": iterations, **more})


def figure(title: str | None, *lessons: str, **more: Any) -> IterationMetrics:
    """The figures of one iteration."""
    return IterationMetrics(
        **{
            "run": RUN,
            "iteration": 1,
            "start": 1,
            "mode": "build",
            "task": None if title is None else task(title),
            "outcome": Outcome.PROGRESS,
            "clean": True,
            "ended_at": AT,
            "seconds": 1.0,
            "lessons": lessons,
            **more,
        }
    )
