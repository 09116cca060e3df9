"""After an outage of the database every worker looks dead, so nobody is declared so at once."""

from __future__ import annotations

import os

import pytest
import sqlalchemy as sa

from ralph_ls.engine.clock import boot_seconds
from ralph_ls.engine.fleet import durable
from ralph_ls.engine.fleet.database import WORKERS
from ralph_ls.engine.fleet.roster import Roster
from ralph_ls.engine.fleet.worker import FleetWorker
from tests.fleet.fleet_project import FleetProject


def test_others_get_a_lease_to_give_a_sign_of_life(
    project: FleetProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(durable, "inherit", lambda _worker: None)
    monkeypatch.setattr(durable, "find_orphans", lambda _workers: None)
    address = f"sqlite:///{project.folder / 'fleet.sqlite'}"
    worker = FleetWorker(address, os.environ)
    engine = worker.ledger.engine
    roster = Roster(engine)
    for name in (worker.place.worker, "silent"):
        roster.join(name, [], "1.0")
    with engine.begin() as connection:
        silent = sa.update(WORKERS).where(WORKERS.c.worker == "silent")
        connection.execute(silent.values(seen_at=0.0))

    worker._answers_since = boot_seconds()
    assert worker._beat()
    assert "silent" in {row["worker"] for row in roster.workers()}

    worker._answers_since = 0.0
    assert worker._beat()
    assert "silent" not in {row["worker"] for row in roster.workers()}
    worker.place.close()
    engine.dispose()
