"""From a line appended to the journal to the event in a follower of another process.

Both processes read the same monotonic clock. The follower runs as it is and, to compare, with an
observer that polls and without its own look every 500 ms.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from watchdog import observers
from watchdog.observers.polling import PollingObserver

from ralph_ls.protocol.run.events import NoteAdded
from ralph_ls.store.run import follow
from ralph_ls.store.run.journal import Journal
from tests.bench.figures import Figure, start_module

N_EVENTS = 300
N_POLLED = 8
RUN = "20260131T120000Z-0a1b"


def measure() -> Iterator[Figure]:
    """Two medians in milliseconds, and how many times faster ours is."""
    ours = _median_milliseconds("native", N_EVENTS)
    polled = _median_milliseconds("polling", N_POLLED)
    yield Figure(
        name="follow: disk to follower",
        figure=f"{ours:.2f} ms (median of {N_EVENTS})",
        ratio=f"{polled / ours:.0f} x faster than polling ({polled:.0f} ms)",
        target="<= 5 ms",
    )


def _median_milliseconds(observer: str, n_events: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        journal = Journal(Path(folder) / "journal.jsonl")
        with start_module("tests.bench.follow", journal.path, observer) as follower:
            assert follower.stdout is not None
            # The first one is the backlog; only what comes while it waits is measured.
            journal.append([_note(1)])
            follower.stdout.readline()
            delays = []
            for seq in range(2, n_events + 2):
                before = time.monotonic_ns()
                journal.append([_note(seq)])
                delays.append(int(follower.stdout.readline()) - before)
            follower.kill()
        journal.close()
    return statistics.median(delays) / 1e6


def _note(seq: int) -> NoteAdded:
    return NoteAdded(seq=seq, at=datetime.now(UTC), run=RUN, text="a note", by="the benchmark")


def _follow(journal: Path, observer: str) -> None:
    if observer == "polling":
        setattr(observers, "Observer", PollingObserver)  # noqa: B010 - types would forbid the plain form
        follow.LIVE_INTERVAL = 3600.0
    for events in follow.JournalFollower(journal, is_live=lambda: True):
        now = time.monotonic_ns()
        print("\n".join(str(now) for _ in events), flush=True)


if __name__ == "__main__":
    _follow(Path(sys.argv[1]), sys.argv[2])
