"""From the start of the server's process to its answer to ``initialize``, against a bare pygls.

The two take turns, so that whatever else the machine does meets both alike.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

from tests.bench import client
from tests.bench.client import Client
from tests.bench.figures import Figure
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
