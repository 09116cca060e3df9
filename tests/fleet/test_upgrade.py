"""A rolling upgrade: workers of two builds on one Postgres, in either order.

The next build is a copy of this one with a higher protocol, which its settings need.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import ralph_ls
from ralph_ls.protocol.fleet import FLEET_PROTOCOL, FleetTaskState
from tests.fleet.cluster import Cluster
from tests.fleet.fleet_project import WORK, FleetProject

NEXT_PROTOCOL = FLEET_PROTOCOL + 1
CHANGES = {
    "protocol/fleet.py": (
        (f"FLEET_PROTOCOL = {FLEET_PROTOCOL}", f"FLEET_PROTOCOL = {NEXT_PROTOCOL}"),
        ("return 1 if self.release is FleetRelease.MERGE else 2", f"return {NEXT_PROTOCOL}"),
    ),
    "__init__.py": (('__version__ = "', '__version__ = "9.9+'),),
}


@pytest.fixture
def upgraded(fleet: FleetProject, cluster: Cluster) -> FleetProject:
    """A fleet whose machine ``next`` has the next build."""
    package = fleet.folder / "next" / "ralph_ls"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(ralph_ls.__file__).parent, package, ignore=ignored)
    for name, pairs in CHANGES.items():
        text = (package / name).read_text()
        for before, after in pairs:
            assert before in text
            text = text.replace(before, after)
        (package / name).write_text(text)
    fleet.variables["next"] = {"PYTHONPATH": str(package.parent)}
    fleet.database = cluster.address
    return fleet


def wait_for(fleet: FleetProject, what: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not what():
        logs = [path.read_text() for path in fleet.folder.glob("*.log")]
        assert time.monotonic() < deadline, (logs, fleet.status())
        time.sleep(0.1)


def machines(fleet: FleetProject) -> dict[str, str]:
    """On which machine each task was begun."""
    path = fleet.kept / "started"
    lines = path.read_text().splitlines() if path.exists() else []
    words = [line.split() for line in lines]
    return {one[0]: Path(one[2].partition("/machines/")[2]).parts[0] for one in words}


def is_merged(fleet: FleetProject) -> bool:
    return {one.state for one in fleet.status().tasks} == {FleetTaskState.MERGED}


def test_an_old_worker_finishes_what_it_has_and_takes_nothing_newer(
    upgraded: FleetProject,
) -> None:
    fleet = upgraded
    fleet.agent(f"while [ ! -e {fleet.kept}/go ]; do sleep 0.05; done\n{WORK}")
    remote = fleet.repository("api", ["Task A", "Task B"])
    assert fleet.ralph("run", "--submit").returncode == 0
    fleet.start_worker("old")
    wait_for(fleet, lambda: machines(fleet))
    (first,) = machines(fleet)

    submitted = fleet.ralph("run", "--submit", machine="next")
    assert submitted.returncode == 0, submitted.stderr
    log = fleet.folder / "old.log"
    wait_for(fleet, lambda: f"protocol {NEXT_PROTOCOL}, and this worker has" in log.read_text())
    (fleet.kept / "go").touch()
    # Its commits are pushed and its state is known; the merge is for the newer one.
    wait_for(fleet, lambda: FleetTaskState.QUEUED in {one.state for one in fleet.status().tasks})
    fleet.start_worker("next")
    wait_for(fleet, lambda: is_merged(fleet))

    assert fleet.merged(remote) == {"A": 1, "B": 1}
    second = "B" if first == "A" else "A"
    assert machines(fleet) == {first: "old", second: "next"}
    assert log.read_text().count("was started by ralph 9.9+") == 1


def test_a_new_worker_takes_what_older_ones_queued_beside_them(upgraded: FleetProject) -> None:
    fleet = upgraded
    both = f'while [ "$(wc -l <{fleet.kept}/started)" -lt 2 ]; do sleep 0.05; done\n'
    fleet.agent(f"{both}{WORK}")
    remote = fleet.repository("api", ["Task A", "Task B"], settings="lanes = 2")
    # One task on each worker.
    fleet.file.write_text("lanes = 1\n" + fleet.file.read_text())
    assert fleet.ralph("run", "--submit").returncode == 0

    fleet.start_worker("next")
    wait_for(fleet, lambda: machines(fleet))
    fleet.start_worker("old")
    wait_for(fleet, lambda: is_merged(fleet))

    assert fleet.merged(remote) == {"A": 1, "B": 1}
    assert set(machines(fleet).values()) == {"old", "next"}
