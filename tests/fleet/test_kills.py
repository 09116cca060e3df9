"""Three workers, a database and remotes, ended and suspended at random: every task merged once."""

from __future__ import annotations

import contextlib
import os
import random
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import psutil

from ralph_ls.protocol.fleet import FleetTaskState
from tests.engine.project_builder import git
from tests.fleet.cluster import Cluster
from tests.fleet.fleet_project import LEASE_SECONDS, WORK, FleetProject

N_KILLS = int(os.environ.get("RALPH_FLEET_KILLS", "20"))
SEED = int(os.environ.get("RALPH_FLEET_SEED", "1"))
MACHINES = ("one", "two", "three")


class Killer:
    """Ends, suspends or restarts something at random; what it did is in ``done``."""

    def __init__(self, fleet: FleetProject, cluster: Cluster, chance: random.Random) -> None:
        self.fleet, self.cluster, self.chance = fleet, cluster, chance
        self.done: Counter[str] = Counter()

    def strike(self) -> None:
        what = self.chance.choices(
            (
                self.worker,
                self.machine,
                self.engine,
                self.git_command,
                self.suspend,
                self.cut_off,
                self.database,
            ),
            (4, 3, 4, 4, 1, 1, 1),
        )[0]
        what()
        self.done[what.__name__] += 1

    def worker(self) -> None:
        """Its engines live on until their leases end."""
        machine = self.chance.choice(MACHINES)
        self.fleet.workers[machine].kill()
        self.fleet.workers[machine].wait()
        self.fleet.start_worker(machine)

    def machine(self) -> None:
        """The worker and everything that it has started."""
        machine = self.chance.choice(MACHINES)
        for process in self._of(machine):
            try_to(process.kill)
        self.fleet.workers[machine].wait()
        self.fleet.start_worker(machine)

    def engine(self) -> None:
        """A process on one of the machines that is not its worker."""
        machine = self.chance.choice(MACHINES)
        own = self.fleet.workers[machine].pid
        found = [one for one in self._of(machine) if one.pid != own]
        if found:
            try_to(self.chance.choice(found).kill)

    def git_command(self) -> None:
        """A git in the middle of what it does, such as a push."""
        found = [one for machine in MACHINES for one in self._of(machine) if name_of(one) == "git"]
        if found:
            try_to(self.chance.choice(found).kill)

    def suspend(self) -> None:
        """A machine sleeps for longer than its leases, then continues."""
        machine = self.chance.choice(MACHINES)
        found = self._of(machine)
        for process in found:
            try_to(process.suspend)
        time.sleep(LEASE_SECONDS * 1.7)
        for process in found:
            try_to(process.resume)

    def cut_off(self) -> None:
        """A worker reaches neither database nor remote for a while; its engines work on."""
        worker = psutil.Process(self.fleet.workers[self.chance.choice(MACHINES)].pid)
        try_to(worker.suspend)
        time.sleep(LEASE_SECONDS * 1.7)
        try_to(worker.resume)

    def database(self) -> None:
        self.cluster.kill()
        self.cluster.start()

    def _of(self, machine: str) -> list[psutil.Process]:
        """The processes of a machine, by the folder of its state in their environment."""
        marker = f"RALPH_STATE_DIR={self.fleet.folder / 'machines' / machine}\0".encode()
        found = []
        for process in psutil.process_iter():
            try:
                data = Path(f"/proc/{process.pid}/environ").read_bytes()
            except OSError:
                continue
            if marker in data:
                found.append(process)
        return found


def try_to(act: Callable[[], None]) -> None:
    """Do something to a process that may be gone."""
    with contextlib.suppress(psutil.Error):
        act()


def name_of(process: psutil.Process) -> str:
    try:
        return process.name()
    except psutil.Error:
        return ""


def test_every_task_is_merged_once_whatever_is_killed(
    fleet: FleetProject, cluster: Cluster
) -> None:
    names = [f"T{number}" for number in range(1, 7)]
    fleet.database = cluster.address
    # Long enough to be killed in the middle of it.
    fleet.agent(f"sleep 0.3\n{WORK}")
    one = fleet.repository("api", [f"Task {name}" for name in names], settings="lanes = 3")
    two = fleet.repository(
        "web",
        [f"Task {name}" for name in names[:-1]] + ["Task T6\n  - Depends on: api#Task T6"],
        settings="lanes = 3",
    )
    queued = fleet.ralph("run", "--submit")
    assert queued.returncode == 0, queued.stderr
    fleet.keep_workers(MACHINES)
    killer = Killer(fleet, cluster, random.Random(SEED))
    for _ in range(N_KILLS):
        time.sleep(killer.chance.uniform(0.1, 1.2))
        killer.strike()
        fleet.keep_workers(MACHINES)

    settle(fleet, killer)
    # Once more each, so that what the kills left is found.
    fleet.stop_workers()
    fleet.keep_workers(MACHINES)
    time.sleep(LEASE_SECONDS)
    fleet.stop_workers()

    expected = Counter(names)
    assert fleet.merged(one) == expected, (SEED, killer.done)
    assert fleet.merged(two) == expected, (SEED, killer.done)
    for remote in (one, two):
        assert "[ ]" not in git(remote, "show", "ralph/fleet:@fix_plan.md")
        left = git(remote, "for-each-ref", "--format=%(refname)").split()
        assert left == ["refs/heads/main", "refs/heads/ralph/fleet"]
    assert list((fleet.folder / "machines").glob("*/fleet/lanes/*/*")) == []
    assert list((fleet.folder / "machines").glob("*/fleet/leases/*")) == []


def settle(fleet: FleetProject, killer: Killer) -> None:
    """Let the fleet finish, with workers that are started again and parked tasks tried again."""
    deadline = time.monotonic() + 150
    while True:
        fleet.keep_workers(MACHINES)
        status = fleet.status()
        states = Counter(task.state for task in status.tasks)
        if states[FleetTaskState.MERGED] == len(status.tasks):
            return
        if states[FleetTaskState.PARKED]:
            fleet.ralph("retry")
        left = "SELECT * FROM dbos.workflow_status WHERE status <> 'SUCCESS'"
        late = time.monotonic() > deadline
        assert not late, (SEED, killer.done, status, killer.cluster.query(left))
        time.sleep(0.5)
