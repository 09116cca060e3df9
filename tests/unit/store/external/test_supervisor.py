"""Programs that run to their end, take too long, are ended from elsewhere, or cannot be ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from ralph_ls.protocol.errors import RalphError
from ralph_ls.store.external import git_command, supervisor
from ralph_ls.store.external.git_command import run_git
from ralph_ls.store.external.supervisor import (
    FinishedProgram,
    Supervisor,
    current,
    run,
    run_supervisor,
)

DEAF = "trap '' TERM INT HUP; "


@pytest.fixture(autouse=True)
def one() -> Iterator[Supervisor]:
    with run_supervisor() as mine:
        yield mine


def sh(script: str, folder: Path, seconds: float = 60.0, **more: object) -> FinishedProgram:
    return run(
        ["/bin/sh", "-c", script],
        cwd=folder,
        environment={"PATH": os.environ["PATH"]},
        seconds=seconds,
        **more,  # type: ignore[arg-type]
    )


def wait_until(is_so: Callable[[], bool]) -> None:
    for _ in range(6000):
        if is_so():
            return
        threading.Event().wait(0.01)
    raise AssertionError("it never came")


def wait_for(path: Path) -> str:
    wait_until(lambda: path.exists() and path.read_text().endswith("\n"))
    return path.read_text()


def end_after(path: Path) -> None:
    wait_for(path)
    current().end()


def is_alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def in_thread(
    script: str, folder: Path, **more: object
) -> tuple[threading.Thread, list[FinishedProgram]]:
    done: list[FinishedProgram] = []
    thread = threading.Thread(target=lambda: done.append(sh(script, folder, **more)))  # type: ignore[arg-type]
    thread.start()
    return thread, done


def test_what_it_prints_and_is_given(tmp_path: Path) -> None:
    done = sh("cat; echo no >&2; exit 3", tmp_path, stdin=b"x\x00y")
    assert done == (3, b"x\x00y", b"no\n")


def test_much_of_both(tmp_path: Path) -> None:
    data = b"0123456789abcdef" * (1 << 18)
    assert sh("cat; head -c 3000000 /dev/zero >&2", tmp_path, stdin=data) == (
        0,
        data,
        b"\0" * 3_000_000,
    )


def test_a_daemon_that_it_leaves_is_neither_waited_for_nor_ended(tmp_path: Path) -> None:
    sh("setsid sleep 1000 & echo $! >daemon", tmp_path)
    pid = int(wait_for(tmp_path / "daemon"))
    try:
        assert is_alive(pid)
    finally:
        os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("deaf", ["", DEAF], ids=["obedient", "deaf"])
def test_one_that_takes_too_long_is_ended_with_all_below_it(tmp_path: Path, deaf: str) -> None:
    (tmp_path / "child").write_text(f"{deaf} echo $$ >pid; sleep 1000")
    script = f"{deaf} setsid sh ./child & sleep 1000"
    began = time.perf_counter()
    with pytest.raises(subprocess.TimeoutExpired) as caught:
        sh(script, tmp_path, seconds=0.5)
    assert caught.value.timeout == 0.5
    assert time.perf_counter() - began < 2.0
    assert not is_alive(int(wait_for(tmp_path / "pid")))
    assert current().survivors() == ()
    assert current().pids() == frozenset()


def test_a_stopped_one_is_ended_as_well(tmp_path: Path) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        sh("kill -STOP $$", tmp_path, seconds=0.2)


def test_one_order_ends_what_runs_in_any_thread_and_what_comes_later(tmp_path: Path) -> None:
    threads = [in_thread(f"echo $$ >pid-{n}; sleep 1000", tmp_path) for n in range(3)]
    pids = {int(wait_for(tmp_path / f"pid-{n}")) for n in range(3)}
    # A program may run before its start has come to its end.
    wait_until(lambda: current().pids() == pids)
    current().end()
    for thread, done in threads:
        thread.join(10)
        assert [one.code for one in done] == [-signal.SIGTERM]
    assert not any(map(is_alive, pids))
    assert sh("echo >started", tmp_path) == (-signal.SIGTERM, b"", b"")
    assert not (tmp_path / "started").exists()


def test_a_separate_registry_ends_only_what_is_run_with_it(tmp_path: Path) -> None:
    mine = Supervisor()
    thread, done = in_thread("echo $$ >mine; sleep 1000", tmp_path, supervisor=mine)
    other, others = in_thread("echo $$ >other; sleep 1000", tmp_path)
    wait_for(tmp_path / "mine")
    wait_for(tmp_path / "other")
    mine.end_in(0.01)
    thread.join(10)
    assert [one.code for one in done] == [-signal.SIGTERM]
    assert mine.wait(0)
    assert (other.is_alive(), current().is_over) == (True, False)
    current().end()
    other.join(10)
    assert [one.code for one in others] == [-signal.SIGTERM]


def test_without_descriptors_of_processes_it_is_inspected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As on a system that has neither: one that ends, one that is late, one that a stop ends.
    monkeypatch.delattr(os, "pidfd_open", raising=False)
    monkeypatch.delattr(os, "eventfd", raising=False)
    monkeypatch.delattr(os, "memfd_create", raising=False)
    monkeypatch.delattr(os, "waitid", raising=False)
    assert sh("cat; exit 7", tmp_path, stdin=b"x") == (7, b"x", b"")
    with pytest.raises(subprocess.TimeoutExpired):
        sh("sleep 1000", tmp_path, seconds=0.1)
    thread, done = in_thread("echo $$ >pid; sleep 1000", tmp_path)
    wait_for(tmp_path / "pid")
    current().end()
    thread.join(10)
    assert [one.code for one in done] == [-signal.SIGTERM]


def test_what_nothing_ends_is_given_up_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As one that hangs in the kernel: no signal reaches it.
    monkeypatch.setattr(supervisor, "KILL_PATIENCE", 0.05)
    monkeypatch.setattr(supervisor, "GRACE_SECONDS", 0.05)
    with monkeypatch.context() as patch:
        patch.setattr(supervisor, "_signal", lambda *_: None)
        with pytest.raises(subprocess.TimeoutExpired):
            sh("echo $$ >pid; sleep 1000 & wait", tmp_path, seconds=0.5)
    pid = int(wait_for(tmp_path / "pid"))
    (child,) = psutil.Process(pid).children()
    left = current().survivors()
    assert {one.pid for one in left} == {pid, child.pid}
    assert {one.name for one in left} == {"sh -c echo $$ >pid; sleep 1000 & wait"}
    os.kill(child.pid, signal.SIGKILL)
    os.kill(pid, signal.SIGKILL)
    psutil.wait_procs([child, psutil.Process(pid)], timeout=10)
    assert current().survivors() == ()


ENDED_BY_SIGNAL = """
import sys, threading
from pathlib import Path
from ralph_ls.store.external.supervisor import end_programs_with_process, run
end_programs_with_process()
def work():
    run(["/bin/sh", "-c", "trap '' TERM; echo $$ >$0; sleep 1000", sys.argv[1]],
        cwd=Path("/"), environment={"PATH": "/usr/bin:/bin"}, seconds=1000)
if sys.argv[2] == "thread":
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
work()
"""


@pytest.mark.parametrize(
    ("number", "where"),
    [
        (signal.SIGTERM, "main"),
        (signal.SIGTERM, "thread"),
        (signal.SIGHUP, "thread"),
        (signal.SIGQUIT, "thread"),
        (signal.SIGINT, "main"),
    ],
)
def test_a_process_that_a_signal_ends_takes_its_programs_with_it(
    tmp_path: Path, number: signal.Signals, where: str
) -> None:
    file = tmp_path / "pid"
    process = subprocess.Popen(
        [sys.executable, "-c", ENDED_BY_SIGNAL, str(file), where], stderr=subprocess.DEVNULL
    )
    pid = int(wait_for(file))
    process.send_signal(number)
    assert process.wait(20) == -number
    assert not is_alive(pid)


class TestGit:
    def test_one_that_hangs_is_named_with_what_to_check(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(git_command, "READ_SECONDS", 0.5)
        with hanging_git(tmp_path), pytest.raises(RalphError) as caught:
            run_git(tmp_path, "status", "--porcelain")
        assert "git status --porcelain did not finish within 0.5 s" in caught.value.message
        assert ".gitattributes" in caught.value.message
        assert not is_alive(int(wait_for(tmp_path / "filter.pid")))
        assert not (tmp_path / ".git/index.lock").exists()

    def test_one_that_a_stop_ends_says_so(self, tmp_path: Path) -> None:
        with hanging_git(tmp_path):
            threading.Thread(target=end_after, args=(tmp_path / "filter.pid",)).start()
            with pytest.raises(RalphError, match="because the run is ending"):
                run_git(tmp_path, "status", "--porcelain")
        assert not is_alive(int(wait_for(tmp_path / "filter.pid")))

    def test_one_that_holds_the_index_leaves_no_lock(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(git_command, "READ_SECONDS", 0.5)
        with hanging_git(tmp_path), pytest.raises(RalphError, match="did not finish"):
            run_git(tmp_path, "update-index", "-q", "--refresh")
        assert not (tmp_path / ".git/index.lock").exists()


@contextmanager
def hanging_git(root: Path) -> Iterator[None]:
    """A repository in which a filter hangs, as git-lfs does without its server."""
    (root / "a").write_text("one\n")
    for words in (["init", "-q"], ["add", "a"], ["commit", "-qm", "A"]):
        subprocess.run(["git", *words], cwd=root, check=True)
    hangs = f"echo $$ >{root}/filter.pid; exec sleep 1000"
    subprocess.run(["git", "config", "--global", "filter.stuck.clean", hangs], cwd=root, check=True)
    (root / ".gitattributes").write_text("a filter=stuck\n")
    (root / "a").write_text("two\n")
    yield


PUT_OFF = """
import os, signal, sys, threading
from ralph_ls.store.external.supervisor import signals_delayed
from ralph_ls.store.external.supervisor import end_programs_with_process
end_programs_with_process()
def work():
    with signals_delayed():
        os.kill(os.getpid(), signal.SIGTERM)
        # The handler has run once this is so.
        import ralph_ls.store.external.supervisor as delay
        while delay._Starts.waiting is None:
            os.sched_yield()
    threading.Event().wait()
thread = threading.Thread(target=work, daemon=True)
signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
thread.start()
while thread.is_alive():
    thread.join(0.05) if not sys.argv[1:] else thread.join()
"""


def test_a_signal_that_was_put_off_in_a_thread_reaches_a_main_thread_that_waits() -> None:
    code = PUT_OFF.replace(
        "os.kill(os.getpid()", "signal.pthread_kill(threading.main_thread().ident"
    )
    process = subprocess.Popen([sys.executable, "-c", code, "join"])
    try:
        assert process.wait(20) == -signal.SIGTERM
    finally:
        process.kill()
