"""From the start of the server's process to its answer to ``initialize``, against a bare pygls;
CPU of the command lines that have to answer at once, against a Python that imports what they need.

The two take turns, so that whatever else the machine does meets both alike.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

from tests.bench import client
from tests.bench.client import Client
from tests.bench.figures import Figure, environment
from tests.bench.workspace import run_in_a_scratch_home

N_STARTS = 15


def measure() -> Iterator[Figure]:
    """The median of each, and how much longer ours takes."""
    ours, bare = [], []
    with run_in_a_scratch_home() as (root, _):

        def seconds(start: Callable[[], AbstractContextManager[Client]]) -> float:
            before = time.perf_counter()
            with start() as editor:
                editor.initialize(root)
                return time.perf_counter() - before

        for _ in range(N_STARTS):
            ours.append(seconds(client.ours))
            bare.append(seconds(client.stock))
    our_time, bare_time = statistics.median(ours), statistics.median(bare)
    yield Figure(
        name="start: to initialize",
        figure=f"{our_time * 1000:.0f} ms (median of {N_STARTS})",
        ratio=f"{our_time / bare_time:.2f} x bare pygls ({bare_time * 1000:.0f} ms)",
        target="<= 1.35 x",
    )
    yield from _command_lines()


def _command_lines() -> Iterator[Figure]:
    """CPU of a TAB at a task id, and of ``ralph`` alone with a run."""
    with run_in_a_scratch_home() as (root, _):
        for name, arguments, wanted, target in (
            ("start: TAB at a task id", ("--complete", "zsh", "skip", ""), "pass", "<= 10 x"),
            ("start: ralph alone", (), "import pydantic; pydantic.BaseModel", "<= 5 x"),
        ):
            ours, bare = [], []
            for _ in range(N_STARTS):
                ours.append(_cpu(["-m", "ralph_ls", *arguments], root))
                bare.append(_cpu(["-c", wanted], root))
            our_time, bare_time = statistics.median(ours), statistics.median(bare)
            yield Figure(
                name=name,
                figure=f"{our_time * 1000:.0f} ms of CPU (median of {N_STARTS})",
                ratio=f"{our_time / bare_time:.2f} x python -c {wanted.partition(';')[0]!r}",
                target=target,
            )


def _cpu(arguments: list[str], folder: Path) -> float:
    """Seconds of CPU of one Python process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-P", *arguments]
    subprocess.run(command, cwd=folder, env=environment(), check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
