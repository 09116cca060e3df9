from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator

import psutil
import pytest

from ralph_ls.engine.process.process_tree import (
    TreeEnd,
    end_orphan,
    end_tree,
    find_marked,
    find_members,
    is_alive,
    start_identity,
    wait_until_gone,
)

# A separate one for each process of tests: it ends whatever carries it.
MARKER = f"20260131T120000Z-{secrets.token_hex(8)}/7"

SLEEPER = "print('ready', flush=True); signal.pause()"
STUBBORN = """
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print('ready', flush=True)
while True: signal.pause()
"""
# Prints the pid of a grandchild in a separate session, and waits.
WITH_DAEMON = """
read_end, write_end = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.write(write_end, str(os.getpid()).encode())
        os.close(write_end)
        os.close(1)
        signal.pause()
    os._exit(0)
os.wait()
os.close(write_end)
print(os.read(read_end, 20).decode(), flush=True)
"""
# Hands over to a successor in a separate session whenever it is asked to end.
HYDRA = """
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
print('ready', flush=True)
while True:
    signal.sigwait([signal.SIGTERM])
    if os.fork(): os._exit(0)
    os.setsid()
"""

Spawn = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def spawn() -> Iterator[Spawn]:
    """Starts Python code as a process and waits for its first line; ends all it started."""
    children: list[subprocess.Popen[str]] = []

    def start(
        code: str, *, marker: str | None = None, new_session: bool = True
    ) -> subprocess.Popen[str]:
        environment = {"PATH": os.environ["PATH"]}
        if marker is not None:
            environment["RALPH_ITERATION_ID"] = marker
        child = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", f"import os, signal\n{code}"],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=new_session,
        )
        children.append(child)
        return child

    yield start
    for child in children:
        child.kill()
        child.wait()
        assert child.stdout is not None
        child.stdout.close()


def first_line(child: subprocess.Popen[str]) -> str:
    assert child.stdout is not None
    return child.stdout.readline().strip()


def ready(child: subprocess.Popen[str]) -> int:
    assert first_line(child) == "ready"
    return child.pid


def lives(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_a_process_is_known_by_pid_and_start_time(spawn: Spawn) -> None:
    pid = ready(spawn(SLEEPER))
    start_time = start_identity(pid)
    assert start_time is not None
    assert is_alive(pid, start_time)
    assert not is_alive(pid, start_time - 60)


def test_a_zombie_does_not_live(spawn: Spawn) -> None:
    child = spawn("os._exit(0)")
    start_time = start_identity(child.pid)
    assert start_time is not None
    assert wait_until_gone([psutil.Process(child.pid)], 10)
    assert not is_alive(child.pid, start_time)


def test_a_pid_without_a_process_has_no_start_time(spawn: Spawn) -> None:
    child = spawn("os._exit(0)")
    child.wait()
    assert start_identity(child.pid) is None


def test_a_daemon_in_a_separate_session_is_found_by_its_marker(spawn: Spawn) -> None:
    daemon = int(first_line(spawn(WITH_DAEMON, marker=MARKER)))
    other = ready(spawn(SLEEPER, marker=MARKER + "0"))
    assert [process.pid for process in find_marked(MARKER)] == [daemon]
    assert end_tree(group=None, marker=MARKER, grace_seconds=60) == TreeEnd(terminated=1)
    assert not lives(daemon)
    assert lives(other)


def test_this_process_is_never_found() -> None:
    assert os.getpid() not in [
        process.pid for process in find_members(group=os.getpgrp(), marker=None)
    ]


def test_our_own_group_is_never_ended(spawn: Spawn) -> None:
    sibling = ready(spawn(SLEEPER, new_session=False))
    assert end_tree(group=os.getpgrp(), marker=None, grace_seconds=1) == TreeEnd()
    assert lives(sibling)


def test_without_a_group_a_marker_or_a_pid_there_is_nothing_to_end() -> None:
    assert end_tree(group=None, marker=None, grace_seconds=1) == TreeEnd()


def test_a_process_that_obeys_is_not_killed(spawn: Spawn) -> None:
    child = spawn(SLEEPER)
    ready(child)
    assert end_tree(group=child.pid, marker=None, grace_seconds=60) == TreeEnd(terminated=1)
    assert child.wait() == -signal.SIGTERM


def test_a_process_that_ignores_the_request_is_killed_after_the_grace(spawn: Spawn) -> None:
    child = spawn(STUBBORN)
    ready(child)
    assert end_tree(group=child.pid, marker=None, grace_seconds=0.05) == TreeEnd(
        terminated=1, killed=1
    )
    assert child.wait() == -signal.SIGKILL


def test_a_stopped_process_is_woken_to_end(spawn: Spawn) -> None:
    child = spawn(SLEEPER)
    ready(child)
    os.kill(child.pid, signal.SIGSTOP)
    os.waitpid(child.pid, os.WUNTRACED)
    assert end_tree(group=child.pid, marker=None, grace_seconds=60) == TreeEnd(terminated=1)
    assert child.wait() == -signal.SIGTERM


def test_group_and_marked_processes_end_together(spawn: Spawn) -> None:
    leader = spawn(SLEEPER)
    marked = spawn(STUBBORN, marker=MARKER)
    ready(leader)
    ready(marked)
    assert end_tree(group=leader.pid, marker=MARKER, grace_seconds=0.05) == TreeEnd(
        terminated=2, killed=1
    )
    assert (leader.wait(), marked.wait()) == (-signal.SIGTERM, -signal.SIGKILL)


def test_a_descendant_outside_the_group_and_without_the_marker_is_ended(spawn: Spawn) -> None:
    leader = spawn(
        "import subprocess, sys\n"
        "code = \"import signal; print('ready', flush=True); signal.pause()\"\n"
        "subprocess.Popen([sys.executable, '-c', code], env={}, start_new_session=True)\n"
        "signal.pause()"
    )
    ready(leader)
    [child] = psutil.Process(leader.pid).children()
    ended = end_tree(group=leader.pid, marker=None, grace_seconds=60, pid=leader.pid)
    assert ended == TreeEnd(terminated=2)
    assert not lives(child.pid)


def test_successors_forked_on_the_way_are_ended_too(spawn: Spawn) -> None:
    hydra = spawn(HYDRA, marker=MARKER)
    ready(hydra)
    ended = end_tree(group=hydra.pid, marker=MARKER, grace_seconds=60)
    assert (ended.killed, ended.survivors) == (1, ())
    assert find_marked(MARKER) == []


def test_an_orphan_is_known_by_its_start_time(spawn: Spawn) -> None:
    child = spawn(SLEEPER)
    pid = ready(child)
    start_time = start_identity(pid)
    assert start_time is not None
    spared = end_orphan(
        pid=pid, start_time=start_time - 60, group=pid, marker=MARKER, grace_seconds=60
    )
    assert spared == TreeEnd()
    assert lives(pid)
    ended = end_orphan(pid=pid, start_time=start_time, group=pid, marker=MARKER, grace_seconds=60)
    assert ended == TreeEnd(terminated=1)
    assert child.wait() == -signal.SIGTERM


def test_an_orphans_group_counts_while_a_marked_process_is_in_it(spawn: Spawn) -> None:
    # The leader is dead; a child of it without the marker is in the group, and a marked one.
    leader = spawn(
        "import subprocess, sys\n"
        "code = \"import signal; print('ready', flush=True); signal.pause()\"\n"
        "for env in ({}, dict(os.environ)):\n"
        "    subprocess.Popen([sys.executable, '-c', code], env=env)\n",
        marker=MARKER,
    )
    assert [first_line(leader), first_line(leader)] == ["ready", "ready"]
    leader.wait()
    members = find_members(group=leader.pid, marker=None)
    assert len(members) == 2
    ended = end_orphan(
        pid=leader.pid, start_time=1.0, group=leader.pid, marker=MARKER, grace_seconds=60
    )
    assert ended == TreeEnd(terminated=2)
    assert not any(map(lives, (process.pid for process in members)))


def test_a_wait_that_is_over_says_who_still_lives(spawn: Spawn) -> None:
    pid = ready(spawn(SLEEPER))
    assert not wait_until_gone([psutil.Process(pid)], 0.0)
    assert wait_until_gone([], 0.0)


def test_without_process_descriptors_the_processes_are_looked_at(
    spawn: Spawn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "pidfd_open")
    child = spawn(STUBBORN)
    ready(child)
    assert end_tree(group=child.pid, marker=None, grace_seconds=0.05) == TreeEnd(
        terminated=1, killed=1
    )
    assert wait_until_gone([psutil.Process(child.pid)], 0.0)


def test_without_proc_the_marker_is_found_through_psutil(
    spawn: Spawn, monkeypatch: pytest.MonkeyPatch
) -> None:
    pid = ready(spawn(SLEEPER, marker=MARKER))
    monkeypatch.setattr(psutil, "LINUX", False)
    assert [process.pid for process in find_marked(MARKER)] == [pid]
