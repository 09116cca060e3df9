"""A database that is gone for longer than a lease: workers wait, and no task is blamed."""

from __future__ import annotations

import time

import psutil

from ralph_ls.protocol.fleet import FleetTaskState
from tests.fleet.cluster import Cluster
from tests.fleet.fleet_project import LEASE_SECONDS, WORK, FleetProject

HANG_ONCE = """\
if [ ! -e {kept}/once ]; then echo $$ >{kept}/once; sleep 600; fi
"""


def test_workers_survive_an_outage_of_the_database(fleet: FleetProject, cluster: Cluster) -> None:
    fleet.database = cluster.address
    fleet.agent(f"{HANG_ONCE.format(kept=fleet.kept)}{WORK}")
    remote = fleet.repository("api", ["Task A"])
    assert fleet.ralph("run", "--submit").returncode == 0
    for machine in ("one", "two"):
        fleet.start_worker(machine)
    once = fleet.kept / "once"
    deadline = time.monotonic() + 60
    while not (once.exists() and once.read_text()):
        assert time.monotonic() < deadline
    agent = int(once.read_text())

    cluster.kill()
    began = time.monotonic()
    # The agent stops once its lease would have ended.
    while psutil.pid_exists(agent):
        assert time.monotonic() < deadline
    time.sleep(max(0.0, began + 2 * LEASE_SECONDS - time.monotonic()))
    cluster.start()
    while {one.state for one in fleet.status().tasks} != {FleetTaskState.MERGED}:
        assert time.monotonic() < deadline + 60, fleet.status()
        time.sleep(0.1)

    assert fleet.merged(remote) == {"A": 1}
    assert cluster.query("SELECT tries, refusals, state FROM ralph_fleet_tasks") == "0|0|merged\n"
    for machine in ("one", "two"):
        assert fleet.workers[machine].poll() is None
        log = (fleet.folder / f"{machine}.log").read_text()
        assert log.count("the database does not answer, trying again") == 1
        assert log.count("the database answers again") == 1
