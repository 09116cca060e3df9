"""Usage of an attempt: in the database after each iteration, so that limits survive its worker."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from ralph_ls.engine.fleet.attempt import Attempt, _count
from ralph_ls.engine.fleet.ledger import Ledger
from ralph_ls.protocol.run.report import Usage
from ralph_ls.protocol.run.state import RunState
from tests.engine.fleet.conftest import RUN


def test_each_iteration_is_counted_once(started: Ledger) -> None:
    place = cast("Any", SimpleNamespace(ledger=started))
    lease = cast("Any", SimpleNamespace(run=RUN, epoch=1))
    attempt = Attempt(
        place=place,
        repository=cast("Any", None),
        row={"task": "api#1"},
        lease=lease,
        pushed="",
    )
    for counted, cost in [(0, None), (1, 0.5), (1, 0.5), (2, 1.25)]:
        usage = None if cost is None else Usage(cost_usd=cost)
        attempt.state = RunState(counted=counted, usage=usage)
        _count(attempt)
    row = started.task(RUN, "api#1")
    assert row is not None
    assert (row["iterations"], row["cost_usd"]) == (2, 1.25)
