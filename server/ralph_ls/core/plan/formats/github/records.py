"""Records: what was done about issues from here, kept outside of the work tree.

Without permission to write, nothing on GitHub says that an issue is finished, so that it would be
taken again. A record holds until somebody wants the issue done again: by opening it again, or by
setting the label or milestone of the queue again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum

from ralph_ls.core.plan.formats.github.admission import QueueFilter, last_mark
from ralph_ls.core.plan.formats.github.issues import QueueIssue
from ralph_ls.core.plan.formats.github.mirror import plain_words

MOST_RECORDS = 5_000
SHOWN = 10
SHOWN_TITLE = 60


class RecordState(StrEnum):
    """What was done about an issue."""

    CLAIMED = "claimed"
    """It is marked on GitHub as being worked on from here."""
    DONE = "done"
    """It is finished here, and open on GitHub as far as is known."""
    SET_ASIDE = "set-aside"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueRecord:
    """What was done about one issue."""

    number: int
    state: RecordState
    at: datetime
    title: str = ""
    commit: str = ""
    """The last commit of the work."""
    reason: str = ""
    """Why it was set aside."""
    is_told: bool = False
    """Whether the issue has a comment about it."""


def read_records(data: bytes) -> dict[int, IssueRecord]:
    """The records of a file, by number; what is no record is left out. Never fails."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    listed = found.get("issues") if isinstance(found, dict) else None
    read = [_record(one) for one in listed] if isinstance(listed, list) else []
    return {one.number: one for one in read if one is not None}


def records_to_bytes(records: Mapping[int, IssueRecord]) -> bytes:
    """The file with these records; of too many the newest."""
    kept = sorted(records.values(), key=lambda one: one.at)[-MOST_RECORDS:]
    listed = [{**asdict(one), "at": one.at.isoformat()} for one in kept]
    return json.dumps({"version": 1, "issues": listed}, ensure_ascii=False, indent=1).encode()


def is_wanted_again(issue: QueueIssue, record: IssueRecord, wanted: QueueFilter) -> bool:
    """Whether somebody opened the issue again, or put it into the queue again, after the record."""
    reopened = [one.at for one in issue.events if one.kind == "ReopenedEvent"]
    marked = last_mark(issue, wanted)
    times = [*reopened, *([marked.at] if marked is not None else [])]
    return any(at > record.at for at in times)


def to_close_lines(records: Iterable[IssueRecord], *, is_writing: bool) -> tuple[str, ...]:
    """The finished issues that are open on GitHub, in words for a summary; none without any."""
    done = sorted(
        (one for one in records if one.state is RecordState.DONE), key=lambda one: one.number
    )
    if not done:
        return ()
    names = ", ".join(_name(one) for one in done[:SHOWN])
    more = f" and {len(done) - SHOWN} more" if len(done) > SHOWN else ""
    fixes = ", ".join(f"Fixes #{one.number}" for one in done[:SHOWN])
    how = (
        "the next run closes what is on the default branch"
        if is_writing
        else f"close them on GitHub, such as: gh issue close {done[0].number}"
    )
    return (
        f"To close:    {names}{more}",
        f"             {how}; or merge a pull request with: {fixes}",
    )


def _name(record: IssueRecord) -> str:
    commit = f"({record.commit[:10]})" if record.commit else ""
    return " ".join(
        filter(None, (f"#{record.number}", plain_words(record.title)[:SHOWN_TITLE], commit))
    )


def _record(found: object) -> IssueRecord | None:
    if not isinstance(found, dict):
        return None
    number, at = found.get("number"), found.get("at")
    try:
        moment = datetime.fromisoformat(at) if isinstance(at, str) else None
        state = RecordState(str(found.get("state")))
    except ValueError:
        return None
    if type(number) is not int or moment is None or moment.tzinfo is None:
        return None
    return IssueRecord(
        number=number,
        state=state,
        at=moment,
        title=str(found.get("title", "")),
        commit=str(found.get("commit", "")),
        reason=str(found.get("reason", "")),
        is_told=found.get("is_told") is True,
    )
