"""Reading a journal of 100 000 events and folding it to the run's state.

The events are those of 10 000 iterations over 1 000 tasks, each of which leaves the tree in a
different state.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from ralph_ls.core.loop.fold import fold
from ralph_ls.store.run.journal import read_journal
from tests.bench.figures import ROOT, Figure

N_EVENTS = 100_000
N_TASKS = 1000
N_ROUNDS = 3
# What one iteration reports.
KINDS = (
    "phaseChanged",
    "iterationStarted",
    "agentStarted",
    "phaseChanged",
    "agentExited",
    "ralphStatusUpdate",
    "evidenceGathered",
    "planChanged",
    "phaseChanged",
    "iterationEnded",
)


def measure() -> Iterator[Figure]:
    """Events a second, and how much longer it takes than to parse the bare JSON."""
    with tempfile.TemporaryDirectory() as folder:
        journal = Path(folder) / "journal.jsonl"
        journal.write_text("".join(lines_of(N_EVENTS // len(KINDS))), encoding="utf-8")
        lines = journal.read_bytes().splitlines()
        read = _seconds(lambda: read_journal(journal))
        events = read_journal(journal).events
        folded = _seconds(lambda: fold(events))
        bare = _seconds(lambda: [json.loads(line) for line in lines])
        state = fold(events)
    if state.seq != N_EVENTS:
        raise RuntimeError(f"the fold ended at {state.seq} instead of {N_EVENTS}")
    total = read + folded
    yield Figure(
        name="replay: 100 000 events",
        figure=f"{N_EVENTS / total:,.0f} events/s",
        ratio=f"{total / bare:.1f} x json.loads (read {read / bare:.1f}, fold {folded / bare:.1f})",
        target="none",
    )


def lines_of(n_iterations: int) -> Iterator[str]:
    """The journal of so many iterations, line by line."""
    golden = ROOT / "tests" / "golden" / "events"
    examples = {kind: json.loads((golden / f"{kind}.json").read_bytes()) for kind in set(KINDS)}
    start = datetime(2026, 1, 31, tzinfo=UTC)
    for number in range(n_iterations * len(KINDS)):
        iteration, step = divmod(number, len(KINDS))
        example: dict[str, Any] = dict(examples[KINDS[step]])
        example["seq"] = number + 1
        example["at"] = (start + timedelta(seconds=number)).isoformat()
        if "iteration" in example:
            example["iteration"] = iteration + 1
        if "start" in example:
            example["start"] = iteration + 1
        if "fingerprint" in example:
            example["fingerprint"] = f"{iteration:016x}"
        if "evidence" in example:
            done = [f"{iteration % N_TASKS:08x}"]
            example["evidence"] = {**example["evidence"], "tasksDone": done}
        if example["kind"] == "iterationStarted":
            title = f"Task number {iteration % N_TASKS} of many, in words of some length"
            example["task"] = {"id": f"{iteration % N_TASKS:08x}", "title": title}
        yield json.dumps(example, separators=(",", ":")) + "\n"


def _seconds(work: Callable[[], object]) -> float:
    """The best of some rounds: what the machine does beside it only ever adds."""
    times = []
    for _ in range(N_ROUNDS):
        before = time.perf_counter()
        work()
        times.append(time.perf_counter() - before)
    return min(times)
