"""A viewer as far as the store is concerned: it follows a journal while an engine lives.

Run by the tests as ``python -m tests.engine.crash.store_viewer GIT_DIR JOURNAL``. For each line
``follow AFTER_SEQ`` on its stdin it prints ``event SEQ DIGEST`` for every event as it comes, and
``end`` once the follower has ended by itself.
"""

from __future__ import annotations

import sys
from hashlib import blake2b
from pathlib import Path

from ralph_ls.protocol.run.events import EventBase, dump_event
from ralph_ls.store.run import follow
from ralph_ls.store.run.follow import JournalFollower
from ralph_ls.store.run.lock import is_held


def digest_of(event: EventBase) -> str:
    return blake2b(dump_event(event), digest_size=8).hexdigest()


def main() -> None:
    # Only the timer reports a dead engine; a test with many of them has no time to wait for it.
    follow.LIVE_INTERVAL = 0.05
    git_dir, journal = Path(sys.argv[1]), Path(sys.argv[2])
    for order in sys.stdin:
        after_seq = int(order.split()[1])
        follower = JournalFollower(journal, is_live=lambda: is_held(git_dir), after_seq=after_seq)
        for events in follower:
            for event in events:
                sys.stdout.write(f"event {event.seq} {digest_of(event)}\n")
            sys.stdout.flush()
        sys.stdout.write("end\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
