"""What planning has done about issues that did not come off (B, Stuck Detection).

An issue that planning changed, split or had wait for something is another task than the one that
failed, so it is tried anew. One that was left as it is has nothing new to offer. It must never
know why an issue was set aside.
"""

from __future__ import annotations

from collections.abc import Collection

from ralph_ls.core.plan.beads.snapshot import Snapshot, parts_of


def dealt_with(before: Snapshot, after: Snapshot, ids: Collection[str]) -> tuple[str, ...]:
    """Those of the issues that are not as they were, or have other parts; gone ones included."""
    was, now = before.by_id(), after.by_id()
    parts = [parts_of(snapshot.issues) for snapshot in (before, after)]
    return tuple(
        issue_id
        for issue_id in ids
        if was.get(issue_id) != now.get(issue_id)
        or parts[0].get(issue_id) != parts[1].get(issue_id)
    )
