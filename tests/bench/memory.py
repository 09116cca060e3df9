"""What grows with a run: the engine, and the state of 10 000 iterations.

An engine of 10 000 iterations would take long, so a real one of some hundred shows by how much it
grows with each, once it has grown warm; its state is folded from 10 000 at speed.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator

from ralph_ls.core.loop.fold import fold
from ralph_ls.protocol.run.state import RunState
from ralph_ls.store.run.journal import JournalReader
from tests.bench.figures import Figure, resident, start_module
from tests.bench.replay import N_EVENTS, lines_of
from tests.bench.runs import place

N_ITERATIONS = 400
WARM = 100
MANY = 10_000
FLOOD = 1_000_000_000
MB = 1_000_000


def measure() -> Iterator[Figure]:
    """Memory in MB, as the system counts it."""
    yield _engine()
    yield _state()
    yield _flood()


def _engine() -> Figure:
    sizes: dict[int, int] = {}
    with place({}) as here:
        agent = here.agent("echo again >> work.txt")
        with here.start(N_ITERATIONS, agent) as process:
            assert process.stdout is not None
            for line in process.stdout:
                event = json.loads(line)
                if event["kind"] == "iterationStarted":
                    sizes[event["iteration"]] = resident(process.pid)
    if len(sizes) != N_ITERATIONS:
        raise RuntimeError(f"there were {len(sizes)} iterations instead of {N_ITERATIONS}")
    grown = sizes[N_ITERATIONS] - sizes[WARM]
    each = grown / (N_ITERATIONS - WARM)
    whole = sizes[N_ITERATIONS] + each * (MANY - N_ITERATIONS)
    return Figure(
        name="memory: the engine",
        figure=f"{sizes[N_ITERATIONS] / MB:.0f} MB after {N_ITERATIONS} iterations",
        ratio=f"{each / 1000:.1f} KB an iteration, {whole / MB:.0f} MB after {MANY}",
        target="none",
    )


def _state() -> Figure:
    with start_module("tests.bench.memory") as folding:
        assert folding.stdout is not None
        before, after, size = map(int, folding.stdout.readline().split())
    return Figure(
        name="memory: the state",
        figure=f"{(after - before) / MB:.1f} MB grown over {N_EVENTS} events",
        ratio=f"state.json {size / 1000:.0f} KB",
        target="none",
    )


def _flood() -> Figure:
    """An agent that prints a gigabyte."""
    with place({}) as here:
        agent = here.agent(f"yes 'it talks' | head -c {FLOOD}")
        before = time.perf_counter()
        most = 0
        with here.start(1, agent) as process:
            assert process.stdout is not None
            for line in process.stdout:
                if json.loads(line)["kind"] == "agentExited":
                    most = max(most, resident(process.pid, peak=True))
        taken = time.perf_counter() - before
    return Figure(
        name="memory: a flood of 1 GB",
        figure=f"{most / MB:.0f} MB at most",
        ratio=f"{FLOOD / MB / taken:.0f} MB/s, start and end of the run included",
        target="none",
    )


def _fold_at_speed() -> None:
    """Fold one event after the other, as an engine does; in a separate process."""
    reader, state, before, seq = JournalReader(), RunState(), 0, 0
    for seq, line in enumerate(lines_of(MANY), start=1):
        state = fold(reader.feed(line.encode()), state)
        if seq == N_EVENTS // 100:
            before = resident(os.getpid())
    size = len(state.model_dump_json(by_alias=True, exclude_none=True))
    print(before, resident(os.getpid()), size, flush=True)


if __name__ == "__main__":
    _fold_at_speed()
