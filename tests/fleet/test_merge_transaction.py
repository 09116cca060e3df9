"""A branch moves inside the transaction that marks its task merged, whatever happens between."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import sqlalchemy as sa

from ralph_ls.engine.fleet.database import open_engine
from ralph_ls.engine.fleet.ledger import Ledger
from ralph_ls.engine.fleet.merge import merge_task
from ralph_ls.engine.fleet.roster import Roster
from tests.engine.project_builder import git
from tests.fleet.cluster import Cluster
from tests.fleet.fleet_project import FleetProject
from tests.fleet.merging import Merging

HOOK = """\
#!/bin/sh
case "$1" in refs/heads/*) ;; *) exit 0;; esac
echo >{kept}/pushing
while [ ! -e {kept}/go ]; do sleep 0.02; done
"""


class HeldMerge:
    """A merge that waits in the middle of its push until ``go``."""

    def __init__(self, project: FleetProject, cluster: Cluster, **given: Any) -> None:
        self.kept = project.kept
        self.merging = Merging(project, address=cluster.address, **given)
        hook = Path(git(self.merging.remote, "rev-parse", "--absolute-git-dir").strip()) / "hooks"
        hook.mkdir(exist_ok=True)
        (hook / "update").write_text(HOOK.format(kept=self.kept))
        (hook / "update").chmod(0o755)
        self._thread = Thread(target=self.merging.merge)
        self._thread.start()
        while not (self.kept / "pushing").exists():
            assert self._thread.is_alive()
        self.other = Ledger(open_engine(cluster.address))

    def end(self) -> dict[str, Any]:
        (self.kept / "go").touch()
        self._thread.join()
        row = self.other.task(self.merging.run, self.merging.task)
        assert row is not None
        return dict(row)

    def close(self) -> None:
        self.end()
        self.other.engine.dispose()
        self.merging.ledger.engine.dispose()


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FleetProject:
    made = FleetProject(tmp_path / "fleet")
    for name, value in made.environment("desk").items():
        monkeypatch.setenv(name, value)
    return made


@pytest.fixture
def held(project: FleetProject, cluster: Cluster) -> Iterator[HeldMerge]:
    made = HeldMerge(project, cluster)
    yield made
    made.close()


def test_no_other_epoch_is_given_while_a_branch_moves(held: HeldMerge) -> None:
    merging, other = held.merging, held.other
    with other.engine.connect() as waiting:
        waiting.execute(sa.text("SET lock_timeout = 100"))
        for change in (
            "state = 'waiting', refusals = refusals + 1",
            "state = 'parked'",
            "epoch = epoch + 1",
        ):
            with pytest.raises(sa.exc.OperationalError, match="lock timeout"):
                waiting.execute(sa.text(f"UPDATE ralph_fleet_tasks SET {change}"))
            waiting.rollback()
            waiting.execute(sa.text("SET lock_timeout = 100"))
    # Taking over from its worker does not wait for it, and changes nothing of it.
    with other.engine.begin() as connection:
        connection.execute(sa.text("UPDATE ralph_fleet_workers SET seen_at = 0"))
    assert Roster(other.engine).bury("w2", 30) == ["w1"]

    after = held.end()

    assert (after["state"], after["epoch"]) == ("merged", merging.epoch)
    assert merging.branch() == ["Task A"]
    other.refuse_merge(merging.run, merging.task, merging.epoch, "too late")
    row = other.task(merging.run, merging.task)
    assert row is not None
    assert dict(row) == after


def test_a_merge_that_was_committed_by_the_remote_alone_is_found_there(held: HeldMerge) -> None:
    merging, other = held.merging, held.other
    end_sessions(other)

    after = held.end()

    # The branch moved, the transaction did not; the worker read it from the remote.
    assert after["state"] == "merged"
    assert after["merged"] == git(merging.remote, "rev-parse", "ralph/fleet").strip()
    assert merging.branch() == ["Task A"]


def test_a_task_that_was_returned_meanwhile_cannot_be_pushed_any_more(
    project: FleetProject, cluster: Cluster
) -> None:
    script = f"#!/bin/sh\ntest ! -e {project.kept}/pushing\n"
    approved = "approved = {}"
    held = HeldMerge(project, cluster, files={".ralph/validate.sh": script}, settings=approved)
    merging, other = held.merging, held.other
    # The lock of a machine that was lost is gone, and another one tries to merge the task.
    end_sessions(other)
    row = other.task(merging.run, merging.task)
    assert row is not None
    second = merging.on_another_machine(project)
    merge_task(second, merging.run, merging.task, row["turn"])
    returned = other.task(merging.run, merging.task)
    assert returned is not None
    assert (returned["state"], returned["refusals"]) == ("waiting", 1)

    after = held.end()

    assert after["state"] == "waiting"
    assert git(merging.remote, "branch", "--list", "ralph/fleet") == ""
    # What its next attempt continues from is still there.
    listed = git(merging.remote, "for-each-ref", "--format=%(objectname)", "refs/ralph").split()
    assert listed == [merging.head]
    second.ledger.engine.dispose()
    held.close()


def end_sessions(ledger: Ledger) -> None:
    """End all sessions of the database but this one, with their transactions."""
    with ledger.engine.begin() as connection:
        connection.execute(
            sa.text(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        )
