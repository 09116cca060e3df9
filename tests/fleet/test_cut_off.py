"""A worker whose network is cut: it stops in time, others take over, and nothing is done twice."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from ralph_ls.protocol.fleet import FleetTaskState
from tests.engine.project_builder import git
from tests.fleet.cluster import Cluster
from tests.fleet.conftest import require_postgres
from tests.fleet.fleet_project import WORK, FleetProject
from tests.fleet.network import Namespace, Proxies, cuttable_network, free_port

HANG_FAR_AWAY = """\
case "$task $(pwd)" in B*machines/far*) sleep 600;; esac
pwd >"$task.where"
"""

HOLD_FIRST_PUSH = """\
#!/bin/sh
case "$1" in refs/ralph/*/1) ;; *) exit 0;; esac
[ ! -e {kept}/pushing ] || exit 0
echo >{kept}/pushing
while [ ! -e {kept}/late ]; do sleep 0.05; done
"""


@contextmanager
def serving(folder: Path, host: str, port: int) -> Iterator[None]:
    """Serve the remotes in a folder by git's protocol."""
    words = ["git", "daemon", "--reuseaddr", f"--listen={host}", f"--port={port}", "--export-all"]
    words += [f"--base-path={folder}", "--enable=receive-pack", str(folder)]
    folder.mkdir()
    server = subprocess.Popen(words, start_new_session=True, stderr=subprocess.DEVNULL)
    try:
        wait_for(lambda: is_listening(host, port))
        yield
    finally:
        for one in psutil.Process(server.pid).children(recursive=True):
            one.kill()
        server.kill()
        server.wait()


def is_listening(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port)).close()
    except OSError:
        return False
    return True


def wait_for(what: Callable[[], object], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, what
        time.sleep(0.1)


def test_a_worker_that_is_cut_off_loses_its_tasks_and_does_none_of_them_twice(
    fleet: FleetProject,
) -> None:
    require_postgres()
    with cuttable_network() as network:
        ports = {"database": free_port(network.host), "git": free_port(network.host)}
        cluster = Cluster(network.host, ports["database"])
        try:
            with serving(fleet.folder / "remotes", network.host, ports["git"]):
                cut_off(fleet, network, ports)
        finally:
            fleet.stop_workers()
            cluster.close()


def cut_off(fleet: FleetProject, network: Namespace | Proxies, ports: dict[str, int]) -> None:
    host = network.host
    fleet.prefixes["far"], far = network.join(ports)
    fleet.database = f"postgresql://ralph@{host}:{ports['database']}/ralph"
    fleet.remotes_at = f"git://{host}:{ports['git']}"
    fleet.variables["far"] = {
        "RALPH_FLEET_DATABASE": f"postgresql://ralph@{host}:{far['database']}/ralph",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.git://{host}:{far['git']}/.insteadOf",
        "GIT_CONFIG_VALUE_0": f"{fleet.remotes_at}/",
    }
    fleet.agent(f"{HANG_FAR_AWAY}{WORK}")
    remote = fleet.repository("api", ["Task A", "Task B"], settings="lanes = 2")
    hook = remote / "hooks" / "update"
    hook.write_text(HOLD_FIRST_PUSH.format(kept=fleet.kept))
    hook.chmod(0o755)
    queued = fleet.ralph("run", "--submit")
    assert queued.returncode == 0, queued.stderr
    fleet.start_worker("far")
    wait_for((fleet.kept / "pushing").exists)
    wait_for(lambda: any(line[0] == "B" for line in started(fleet)))
    (agent,) = (int(line[1]) for line in started(fleet) if line[0] == "B")

    network.cut()
    fleet.start_worker("near")

    # The agent far away stops by itself, and another worker does both tasks.
    wait_for(lambda: not psutil.pid_exists(agent))
    wait_for(lambda: {one.state for one in fleet.status().tasks} == {FleetTaskState.MERGED})
    assert fleet.merged(remote) == {"A": 1, "B": 1}
    # What was on its way arrives late: in a ref that nobody reads.
    (fleet.kept / "late").touch()
    if network.keeps_connections:
        wait_for(lambda: git(remote, "for-each-ref", "refs/ralph"))
    network.restore()
    log = fleet.folder / "far.log"
    wait_for(lambda: log.read_text().count("takes tasks") == 2)
    fleet.stop_workers()

    assert "others have its tasks" in log.read_text()
    assert fleet.merged(remote) == {"A": 1, "B": 1}
    for task in "AB":
        assert "machines/near" in git(remote, "show", f"ralph/fleet:{task}.where")
    left = git(remote, "for-each-ref", "--format=%(refname)").split()
    assert left == ["refs/heads/main", "refs/heads/ralph/fleet"]
    assert list((fleet.folder / "machines").glob("*/fleet/lanes/*/*")) == []
    assert list((fleet.folder / "machines").glob("*/fleet/leases/*")) == []


def started(fleet: FleetProject) -> list[list[str]]:
    """Task, process and folder of each agent that was started."""
    path = fleet.kept / "started"
    return [line.split() for line in path.read_text().splitlines()] if path.exists() else []
