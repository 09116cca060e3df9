"""A ledger on SQLite, and a fleet of repositories in folders."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ralph_ls.core.fleet_rules import FleetTask
from ralph_ls.core.loop.lanes import OpenTask
from ralph_ls.engine.fleet.database import make_tables, open_engine
from ralph_ls.engine.fleet.ledger import Ledger
from ralph_ls.engine.fleet.roster import Roster
from ralph_ls.protocol.fleet import FleetRepository, FleetTaskState
from ralph_ls.protocol.run.values import TaskRef
from tests.fleet.fleet_project import FleetProject

RUN = "20261128T120000Z-0001"


def task(key: str, *foreign: str, waits_for: tuple[str, ...] = ()) -> FleetTask:
    repository, _, name = key.partition("#")
    return FleetTask(
        repository=repository,
        state=FleetTaskState.WAITING,
        foreign=frozenset(foreign),
        task=OpenTask(task=TaskRef(id=name, title=name), waits_for=frozenset(waits_for)),
    )


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    engine = open_engine(f"sqlite:///{tmp_path / 'fleet.sqlite'}")
    make_tables(engine)
    yield Ledger(engine)
    engine.dispose()


@pytest.fixture
def roster(ledger: Ledger) -> Roster:
    made = Roster(ledger.engine)
    made.join("w1", ["linux"], "1.0")
    made.join("w2", [], "1.0")
    return made


@pytest.fixture
def started(ledger: Ledger) -> Ledger:
    """A run of two repositories with two lanes each."""
    values = {"version": "1.0", "lanes": 2, "timezone": "UTC", "max_cost_usd": None}
    ledger.open_run(RUN, values)
    for name in ("api", "web"):
        settings = FleetRepository(
            path=f"/{name}", lanes=2, labels=("gpu",) if name == "web" else ()
        )
        ledger.put_repository(
            RUN,
            name,
            {
                "address": f"/{name}",
                "settings": settings.model_dump(mode="json", exclude={"approved"}),
                "approved": {},
                "base": "0" * 40,
            },
        )
    ledger.put_tasks(RUN, "api", [task("api#1"), task("api#2", waits_for=("1",))])
    ledger.put_tasks(RUN, "web", [task("web#3", "api#1")])
    return ledger


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FleetProject:
    made = FleetProject(tmp_path / "fleet")
    for name, value in made.environment("desk").items():
        monkeypatch.setenv(name, value)
    return made
