from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from ralph_ls.protocol.errors import StateUnusable, WorkspaceBusy
from ralph_ls.store.run.lock import (
    EngineLock,
    LockOwner,
    is_held,
    is_same_process,
    own_start_time,
    read_owner,
)
from tests.unit.store.store_builders import RUN, start_python

HOLDER = """if True:
    import subprocess, sys
    from pathlib import Path
    from ralph_ls.store.run.lock import EngineLock, LockOwner, own_start_time
    import os

    lock = EngineLock(Path(sys.argv[1]))
    lock.acquire()
    if "unclaimed" not in sys.argv:
        started = own_start_time()
        lock.claim(LockOwner(pid=os.getpid(), process_start_time=started, run=sys.argv[2],
                         state_dir="/var/state"))
    agent = None
    if "with-agent" in sys.argv:
        agent = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    print("holding", agent.pid if agent else 0, flush=True)
    sys.stdin.readline()
    lock.release()
    print("let go", flush=True)
    sys.stdin.readline()
"""


@contextmanager
def holder(git_dir: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A process that holds the lock until it reads a line, and the pid of its agent."""
    process = start_python(HOLDER, git_dir, RUN, *arguments)
    try:
        assert process.stdout is not None
        _, agent = process.stdout.readline().split()
        yield process, int(agent)
    finally:
        process.kill()
        process.communicate()


def tell(process: subprocess.Popen[str]) -> str:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("\n")
    process.stdin.flush()
    return process.stdout.readline()


def this_process(run: str = RUN) -> LockOwner:
    return LockOwner(
        pid=os.getpid(), process_start_time=own_start_time(), run=run, state_dir="/var/state"
    )


def dead_process() -> LockOwner:
    """Who a process was that has ended; its pid may be in use again one day."""
    child = subprocess.Popen(["true"])
    child.wait()
    return LockOwner(pid=child.pid, process_start_time=1.0, run=RUN, state_dir="/var/state")


class TestAcquire:
    def test_the_lock_file_is_empty_private_and_stays(self, tmp_path: Path) -> None:
        with EngineLock(tmp_path):
            assert (tmp_path / "ralph.lock").stat().st_mode & 0o777 == 0o600
        assert (tmp_path / "ralph.lock").read_bytes() == b""

    @pytest.mark.slow
    def test_a_second_holder_is_refused_with_the_pid_and_the_run(self, tmp_path: Path) -> None:
        with holder(tmp_path) as (process, _):
            with pytest.raises(WorkspaceBusy, match=rf"\(pid {process.pid}\) .* run {RUN}; "):
                EngineLock(tmp_path).acquire()
            assert is_held(tmp_path)

    @pytest.mark.slow
    def test_one_that_has_not_recorded_its_name_refuses_a_second_all_the_same(
        self, tmp_path: Path
    ) -> None:
        with (
            holder(tmp_path, "unclaimed"),
            pytest.raises(WorkspaceBusy, match="another engine owns this work tree; "),
        ):
            EngineLock(tmp_path).acquire()

    @pytest.mark.slow
    def test_it_is_free_once_its_holder_lets_go_though_that_one_still_lives(
        self, tmp_path: Path
    ) -> None:
        with holder(tmp_path) as (process, _):
            assert tell(process) == "let go\n"
            assert not is_held(tmp_path)
            with EngineLock(tmp_path):
                assert process.poll() is None

    @pytest.mark.slow
    def test_kill_9_frees_it_even_while_the_agent_of_its_holder_lives(self, tmp_path: Path) -> None:
        with holder(tmp_path, "with-agent") as (process, agent):
            try:
                process.send_signal(signal.SIGKILL)
                process.wait()
                assert psutil.pid_exists(agent)
                assert not is_held(tmp_path)
                with EngineLock(tmp_path) as lock:
                    lock.claim(this_process())
                    assert is_held(tmp_path)
            finally:
                os.kill(agent, signal.SIGKILL)

    def test_another_thread_than_the_one_that_took_it_may_let_it_go(self, tmp_path: Path) -> None:
        lock = EngineLock(tmp_path)
        lock.acquire()
        lock.claim(this_process())
        thread = threading.Thread(target=lock.release)
        thread.start()
        thread.join()
        assert not is_held(tmp_path)

    def test_a_git_directory_that_cannot_be_written_is_reported(self, tmp_path: Path) -> None:
        (tmp_path / "ralph.lock").mkdir()
        with pytest.raises(StateUnusable, match=r"ralph\.lock cannot be opened: .*git directory"):
            EngineLock(tmp_path).acquire()


class TestProbe:
    def test_nothing_is_held_where_no_run_ever_was(self, tmp_path: Path) -> None:
        assert not is_held(tmp_path)
        assert list(tmp_path.iterdir()) == []

    def test_a_pipe_in_the_place_of_the_owner_names_nobody(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "ralph.json")
        assert read_owner(tmp_path) is None

    def test_nothing_is_held_where_only_the_name_of_an_owner_is_left(self, tmp_path: Path) -> None:
        with EngineLock(tmp_path) as lock:
            lock.claim(dead_process())
        assert not is_held(tmp_path)
        (tmp_path / "ralph.lock").unlink()
        assert not is_held(tmp_path)

    def test_a_lock_file_that_cannot_be_opened_is_held_by_nobody(self, tmp_path: Path) -> None:
        with EngineLock(tmp_path) as lock:
            lock.claim(dead_process())
        (tmp_path / "ralph.lock").unlink()
        (tmp_path / "ralph.lock").mkdir()
        assert not is_held(tmp_path)

    @pytest.mark.slow
    @pytest.mark.parametrize("last_owner", [dead_process, this_process])
    def test_a_viewer_that_polls_all_the_time_never_makes_a_start_fail(
        self, tmp_path: Path, last_owner: object
    ) -> None:
        assert callable(last_owner)
        with EngineLock(tmp_path) as lock:
            lock.claim(last_owner())
        code = """if True:
            import sys, threading
            from pathlib import Path
            from ralph_ls.store.run.lock import is_held

            done = threading.Event()
            threading.Thread(target=lambda: (sys.stdin.readline(), done.set())).start()
            print("looking", flush=True)
            n_looks = 0
            while not done.is_set():
                is_held(Path(sys.argv[1]))
                n_looks += 1
            print(n_looks, flush=True)
        """
        with start_python(code, tmp_path) as viewer:
            assert viewer.stdout is not None
            viewer.stdout.readline()
            for _ in range(200):
                with EngineLock(tmp_path):
                    pass
            assert int(tell(viewer)) > 0

    @pytest.mark.slow
    def test_a_start_waits_for_a_viewer_that_is_slow_to_let_go(self, tmp_path: Path) -> None:
        with EngineLock(tmp_path) as lock:
            lock.claim(dead_process())
        with holder(tmp_path, "unclaimed") as (process, _):
            taken = threading.Event()

            def start() -> None:
                with EngineLock(tmp_path):
                    taken.set()

            starting = threading.Thread(target=start)
            starting.start()
            assert tell(process) == "let go\n"
            starting.join()
            assert taken.is_set()


class TestOwner:
    def test_who_claimed_is_read_again(self, tmp_path: Path) -> None:
        with EngineLock(tmp_path) as lock:
            lock.claim(this_process("20260131T110000Z-0000"))
            lock.claim(this_process())
        assert read_owner(tmp_path) == this_process()
        assert (tmp_path / "ralph.json").stat().st_mode & 0o777 == 0o600

    @pytest.mark.parametrize("content", [b"", b"{", b"{}", b'{"pid":"x"}', b"\xff", b"[]"])
    def test_what_cannot_be_read_names_nobody(self, tmp_path: Path, content: bytes) -> None:
        (tmp_path / "ralph.json").write_bytes(content)
        assert read_owner(tmp_path) is None
        assert not is_held(tmp_path)
        with EngineLock(tmp_path):
            pass

    def test_a_field_of_a_newer_engine_is_passed_over(self, tmp_path: Path) -> None:
        text = this_process().model_dump_json(by_alias=True)
        (tmp_path / "ralph.json").write_text(text[:-1] + ',"host":"a"}', encoding="utf-8")
        assert read_owner(tmp_path) == this_process()


class TestSameProcess:
    def test_this_one_is_itself(self) -> None:
        assert is_same_process(os.getpid(), own_start_time())

    def test_a_pid_that_was_used_again_is_another_process(self) -> None:
        assert not is_same_process(os.getpid(), own_start_time() - 60)

    @pytest.mark.parametrize("pid", [-1, 0, 2**22 + 1, 2**40])
    def test_a_pid_that_cannot_be_is_none(self, pid: int) -> None:
        assert not is_same_process(pid, own_start_time())

    def test_a_dead_one_that_nobody_has_waited_for_is_dead(self) -> None:
        child = subprocess.Popen(["true"])
        started = psutil.Process(child.pid).create_time()
        # Waits for the end but leaves the child unreaped, as a parent does that is busy.
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert not is_same_process(child.pid, started)
        child.wait()
