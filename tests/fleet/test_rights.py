"""What a worker may do: under a role with least rights, and on whose remotes."""

from __future__ import annotations

import time
from collections import Counter

import pytest

from ralph_ls.protocol.fleet import FleetTaskState
from tests.fleet.cluster import Cluster
from tests.fleet.fleet_project import FleetProject


def wait_until_merged(fleet: FleetProject) -> None:
    deadline = time.monotonic() + 60
    while {one.state for one in fleet.status().tasks} != {FleetTaskState.MERGED}:
        logs = [path.read_text() for path in fleet.folder.glob("*.log")]
        assert time.monotonic() < deadline, logs
        time.sleep(0.1)


def test_a_worker_works_under_a_role_that_can_decide_nothing(
    fleet: FleetProject, cluster: Cluster
) -> None:
    for sql in (
        "CREATE ROLE ralph_owner LOGIN",
        "CREATE ROLE ralph_worker LOGIN",
        "CREATE DATABASE fleet OWNER ralph_owner",
        "REVOKE ALL ON DATABASE fleet FROM PUBLIC",
    ):
        cluster.query(sql)
    cluster.query("REVOKE CREATE ON SCHEMA public FROM PUBLIC", "fleet")
    owner, worker = (
        f"postgresql://{role}@/fleet?host={cluster.folder}"
        for role in ("ralph_owner", "ralph_worker")
    )
    remote = fleet.repository("api", ["Task A"])
    fleet.database = owner
    fleet.variables["one"] = {"RALPH_FLEET_DATABASE": worker}
    made = fleet.ralph("migrate", "ralph_worker")
    assert made.returncode == 0, made.stderr
    assert fleet.ralph("run", "--submit").returncode == 0

    fleet.start_worker("one")
    wait_until_merged(fleet)
    fleet.stop_workers()

    assert fleet.merged(remote) == Counter(["A"])
    assert fleet.status().workers == ()
    # It cannot change what others run, queue anything, or make and drop tables.
    for sql in (
        "UPDATE ralph_fleet_repositories SET settings = '{}'",
        "UPDATE ralph_fleet_repositories SET approved = '{}'",
        "UPDATE ralph_fleet_runs SET protocol = 1",
        "INSERT INTO ralph_fleet_runs SELECT * FROM ralph_fleet_runs",
        "INSERT INTO ralph_fleet_tasks SELECT * FROM ralph_fleet_tasks",
        "DELETE FROM ralph_fleet_tasks",
        "CREATE TABLE mine (one int)",
        "DROP TABLE ralph_fleet_tasks",
    ):
        with pytest.raises(AssertionError, match=r"permission denied|must be owner"):
            cluster.query(f"SET ROLE ralph_worker; {sql}", "fleet")


def test_a_worker_pushes_only_where_the_file_of_its_machine_allows_it(
    fleet: FleetProject, cluster: Cluster
) -> None:
    fleet.database = cluster.address
    remote = fleet.repository("api", ["Task A"])
    own = fleet.folder / "own.toml"
    fleet.variables["other"] = {"RALPH_FLEET_FILE": str(own)}
    assert fleet.ralph("run", "--submit").returncode == 0

    refused = fleet.start_worker("other")

    assert refused.wait(60) != 0
    log = (fleet.folder / "other.log").read_text()
    assert f"may not push to file://{remote}" in log
    assert f"ralph fleet add file://{remote} --push" in log
    assert fleet.status().tasks[0].epoch == 0
