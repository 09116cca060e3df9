"""The helper that forks ``ralph`` for tests."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from tests.engine.forked_ralph import ForkedProcess


def test_a_process_that_is_gone_before_its_end_is_reported_can_be_killed() -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    status, reported = os.pipe()
    os.write(reported, b"%d\n" % gone.pid)
    forked = ForkedProcess(status)
    assert forked.poll() is None
    forked.kill()
    os.write(reported, b"%d\n" % -signal.SIGKILL)
    assert forked.wait() == -signal.SIGKILL
    os.close(reported)
    forked.close()


def test_several_threads_may_wait_for_its_end() -> None:
    status, reported = os.pipe()
    os.write(reported, b"1\n")
    forked = ForkedProcess(status)
    with ThreadPoolExecutor(max_workers=4) as pool:
        waits = [pool.submit(forked.wait, 60) for _ in range(4)]
        os.write(reported, b"0\n")
        # As what forks it does; a thread that comes late finds the end of the pipe.
        os.close(reported)
        assert [one.result() for one in waits] == [0] * 4
    forked.close()
