"""What grows with a run: the engine, the state of 10 000 iterations, and an editor that opens them.

An engine of 10 000 iterations would take long, so a real one of some hundred tells by how much it
grows with each, once it has grown warm; its state is folded from 10 000 at speed.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

from ralph_ls.core.loop.fold import fold
from ralph_ls.protocol.state import RunState
from ralph_ls.store.journal import JournalReader, read_journal
from ralph_ls.store.runs import save_state
from tests.bench import client
from tests.bench.figures import Figure, start_module
from tests.bench.replay import N_EVENTS, lines_of
from tests.bench.runs import place
from tests.bench.workspace import run_in_a_scratch_home

N_ITERATIONS = 400
WARM = 100
MANY = 10_000
FLOOD = 1_000_000_000
MB = 1_000_000


def measure() -> Iterator[Figure]:
    """Memory in MB, as the system counts it."""
    yield _engine()
    yield _state()
    yield _editor()
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
                    sizes[event["iteration"]] = _resident(process.pid)
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


def _editor() -> Figure:
    """A run of 10 000 iterations that goes on, opened: until its state and its lenses are there."""
    with run_in_a_scratch_home() as (root, run):
        with run.files.journal.open("w", encoding="utf-8") as journal:
            journal.writelines(lines_of(MANY))
        # As an engine leaves it at each iteration's end.
        events = read_journal(run.files.journal)
        save_state(run.files, fold(events.events), offset=events.size)
        del events
        plan = (root / "@fix_plan.md").as_uri()
        with client.ours() as editor:
            editor.initialize(root)
            before = time.perf_counter()
            state = editor.request("ralph/state", {})
            first = time.perf_counter() - before
            document = {"uri": plan, "languageId": "markdown", "version": 1, "text": "# Plan\n"}
            editor.notify("textDocument/didOpen", {"textDocument": document})
            before = time.perf_counter()
            editor.request("textDocument/codeLens", {"textDocument": {"uri": plan}})
            then = time.perf_counter() - before
            size = _resident(editor.pid)
    if str(MANY) not in json.dumps(state):
        raise RuntimeError(f"the server says nothing of {MANY} iterations")
    return Figure(
        name="memory: the editor's",
        figure=f"{size / MB:.0f} MB with {MANY} iterations opened",
        ratio=f"state after {first * 1000:.0f} ms, then lenses in {then * 1000:.1f} ms",
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
                    most = max(most, _resident(process.pid, peak=True))
        taken = time.perf_counter() - before
    return Figure(
        name="memory: a flood of 1 GB",
        figure=f"{most / MB:.0f} MB at most",
        ratio=f"{FLOOD / MB / taken:.0f} MB/s, start and end of the run included",
        target="none",
    )


def _resident(pid: int, *, peak: bool = False) -> int:
    """Bytes of memory of a process, now or at most so far; 0 where it has ended."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    found = re.search(r"VmHWM:\s+(\d+)" if peak else r"VmRSS:\s+(\d+)", status)
    return 0 if found is None else int(found[1]) * 1024


def _fold_at_speed() -> None:
    """Fold one event after the other, as an engine does; in a process of its own."""
    reader, state, before, seq = JournalReader(), RunState(), 0, 0
    for seq, line in enumerate(lines_of(MANY), start=1):
        state = fold(reader.feed(line.encode()), state)
        if seq == N_EVENTS // 100:
            before = _resident(os.getpid())
    size = len(state.model_dump_json(by_alias=True, exclude_none=True))
    print(before, _resident(os.getpid()), size, flush=True)


if __name__ == "__main__":
    _fold_at_speed()
