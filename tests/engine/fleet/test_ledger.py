"""States of tasks, turns in the queue, leases and their heirs."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from ralph_ls.engine.fleet import durable
from ralph_ls.engine.fleet.database import (
    REPOSITORIES,
    WORKERS,
    database_errors,
    dbos_address,
    open_engine,
    shown_address,
)
from ralph_ls.engine.fleet.ledger import Ledger
from ralph_ls.engine.fleet.roster import Roster
from ralph_ls.engine.fleet.status import status_of
from ralph_ls.engine.fleet.worker import is_run_over
from ralph_ls.protocol.errors import RalphError, UsageError
from ralph_ls.protocol.fleet import FleetRunState, FleetTaskState
from tests.engine.fleet.conftest import RUN, task

State = FleetTaskState


def state(ledger: Ledger, name: str) -> str:
    row = ledger.task(RUN, name)
    assert row is not None
    found: str = row["state"]
    return found


def take(ledger: Ledger, name: str, worker: str = "w1") -> int:
    """Let a task that may start be taken; its epoch."""
    ledger.release(RUN)
    row = ledger.task(RUN, name)
    assert row is not None
    taken = ledger.take(RUN, name, row["turn"], worker)
    assert taken is not None
    epoch: int = taken["epoch"]
    return epoch


def finish(ledger: Ledger, name: str) -> int:
    """Let a task be worked on and be done."""
    epoch = take(ledger, name)
    assert ledger.pushed(RUN, name, epoch, "a" * 40)
    assert ledger.finished(RUN, name, epoch)
    return epoch


class TestTurns:
    def test_a_task_takes_its_turn_once(self, started: Ledger, roster: Roster) -> None:
        started.release(RUN)
        started.release(RUN)

        (turn,) = started.open_turns(RUN)
        started.is_queued(turn)

        assert (turn.task, turn.turn, turn.state) == ("api#1", 1, State.READY)
        assert started.open_turns(RUN) == []
        assert started.take(RUN, "api#1", 2, "w1") is None
        assert started.take(RUN, "api#1", 1, "w1") is not None
        assert started.take(RUN, "api#1", 1, "w2") is None

    def test_a_lost_turn_is_followed_by_another(self, started: Ledger) -> None:
        started.release(RUN)
        started.is_queued(started.open_turns(RUN)[0])

        (row,) = started.overdue(RUN, -1)
        started.new_turn(RUN, row["task"], row["turn"])

        assert started.overdue(RUN, 60) == []
        assert [turn.turn for turn in started.open_turns(RUN)] == [2]

    def test_a_merge_lets_what_waited_for_it_start(self, started: Ledger, roster: Roster) -> None:
        epoch = finish(started, "api#1")
        assert started.begin_merge(RUN, "api#1", epoch, "b" * 40)
        started.release(RUN)
        assert state(started, "web#3") == "waiting"

        assert started.merged(RUN, "api#1", epoch, "b" * 40)
        started.release(RUN)

        assert (state(started, "api#2"), state(started, "web#3")) == ("ready", "ready")
        assert [turn.labels for turn in started.open_turns(RUN)] == [(), ("gpu",)]

    def test_nothing_starts_once_the_budget_is_spent(self, started: Ledger) -> None:
        values = {"version": "1.0", "lanes": 2, "timezone": "UTC", "max_cost_usd": 1.0}
        started.open_run(RUN, values)
        started.count(RUN, "api#1", iterations=1, cost_usd=1.5)

        started.release(RUN)

        assert state(started, "api#1") == "waiting"
        assert is_run_over(started, RUN)

    def test_a_stopped_run_starts_nothing(self, started: Ledger, roster: Roster) -> None:
        started.release(RUN)
        started.set_run_state(RUN, FleetRunState.STOPPED)
        started.release(RUN)

        assert state(started, "api#1") == "waiting"
        assert started.take(RUN, "api#1", 1, "w1") is None
        assert started.active_run() == RUN


class TestPlans:
    def test_a_task_that_is_no_longer_open_is_dropped_and_may_come_back(
        self, started: Ledger
    ) -> None:
        started.put_tasks(RUN, "api", [task("api#2")])
        assert state(started, "api#1") == "dropped"

        started.put_tasks(RUN, "api", [task("api#1"), task("api#2")])
        assert state(started, "api#1") == "waiting"

    def test_a_run_ends_when_all_of_it_is_merged(self, started: Ledger, roster: Roster) -> None:
        for name in ("api#1", "api#2", "web#3"):
            assert not is_run_over(started, RUN)
            epoch = finish(started, name)
            started.begin_merge(RUN, name, epoch, "b" * 40)
            started.merged(RUN, name, epoch, "b" * 40)

        assert is_run_over(started, RUN)
        assert started.active_run() is None
        assert started.last_run() == RUN
        assert started.live_runs() == []


class TestFencing:
    def test_a_worker_without_sign_of_life_loses_its_tasks_and_changes_nothing_more(
        self, started: Ledger, roster: Roster
    ) -> None:
        epoch = take(started, "api#1")
        assert roster.renew("w1") == frozenset({(RUN, "api#1", epoch)})
        with started.engine.begin() as connection:
            connection.execute(sa.update(WORKERS).where(WORKERS.c.worker == "w1").values(seen_at=0))

        assert roster.bury("w2", 30) == ["w1"]

        assert roster.renew("w1") is None
        assert not started.pushed(RUN, "api#1", epoch, "c" * 40)
        assert not started.finished(RUN, "api#1", epoch)
        started.park(RUN, "api#1", epoch, "too late")
        started.try_again(RUN, "api#1", epoch, "too late")
        assert state(started, "api#1") == "waiting"
        # Declared dead, it takes nothing either.
        started.release(RUN)
        turn = started.open_turns(RUN)[0].turn
        assert started.take(RUN, "api#1", turn, "w1") is None
        taken = started.take(RUN, "api#1", turn, "w2")
        assert taken is not None
        assert taken["epoch"] > epoch
        # It has one heir, until that one is silent, too.
        assert roster.bury("w3", 30) == []
        roster.forget_worker("w1")
        assert [row["worker"] for row in roster.workers()] == ["w2"]

    def test_a_worker_that_leaves_gives_its_tasks_back(
        self, started: Ledger, roster: Roster
    ) -> None:
        epoch = take(started, "api#1")

        roster.leave("w1")

        assert state(started, "api#1") == "waiting"
        assert not started.give_back(RUN, "api#1", epoch)

    def test_only_the_epoch_of_the_database_is_merged(
        self, started: Ledger, roster: Roster
    ) -> None:
        epoch = finish(started, "api#1")

        assert not started.begin_merge(RUN, "api#1", epoch - 1, "b" * 40)
        assert started.begin_merge(RUN, "api#1", epoch, "b" * 40)
        # It may have to be tried again; each commit is known before the branch moves.
        assert started.begin_merge(RUN, "api#1", epoch, "c" * 40)
        row = started.task(RUN, "api#1")
        assert row is not None
        assert row["merge_heads"] == ["b" * 40, "c" * 40]
        assert started.merged(RUN, "api#1", epoch, "c" * 40)
        assert not started.begin_merge(RUN, "api#1", epoch, "d" * 40)


class TestFailures:
    def test_a_task_without_result_is_tried_three_times(
        self, started: Ledger, roster: Roster
    ) -> None:
        for expected in ("waiting", "waiting", "parked"):
            epoch = take(started, "api#1")
            started.try_again(RUN, "api#1", epoch, "the engine ended")
            assert state(started, "api#1") == expected

        assert started.repositories(RUN)["api"]["failures"] == 1
        assert started.retry(RUN, ["api#1", "web#3"]) == 1
        assert started.repositories(RUN)["api"]["failures"] == 0
        assert state(started, "api#1") == "waiting"

    def test_a_refused_merge_is_repaired_once(self, started: Ledger, roster: Roster) -> None:
        epoch = finish(started, "api#1")
        started.refuse_merge(RUN, "api#1", epoch, "x.py was changed by another task, too")
        row = started.task(RUN, "api#1")
        assert row is not None
        assert (row["state"], row["note"]) == ("waiting", row["message"])

        epoch = finish(started, "api#1")
        started.refuse_merge(RUN, "api#1", epoch, "again")

        assert state(started, "api#1") == "parked"

    def test_a_question_is_answered_once(self, started: Ledger, roster: Roster) -> None:
        epoch = take(started, "api#1")
        started.park(RUN, "api#1", epoch, "Which?", state=State.ASKING)

        assert started.retry(RUN, ["api#1"], note="This one") == 1
        assert started.retry(RUN, ["api#1"], note="That one") == 0
        row = started.task(RUN, "api#1")
        assert row is not None
        assert row["note"] == "This one"
        assert started.repositories(RUN)["api"]["failures"] == 0


def test_the_status_names_what_is_waited_for_and_open_breakers(
    started: Ledger, roster: Roster
) -> None:
    for _ in range(3):
        epoch = take(started, "api#1")
        started.try_again(RUN, "api#1", epoch, "no agent")
    for _ in range(2):
        started.retry(RUN, [])
    with started.engine.begin() as connection:
        connection.execute(sa.text("update ralph_fleet_repositories set failures = 3"))

    status = status_of(started, "postgresql://ralph:secret@db/ralph")

    assert "secret" not in status.database
    assert [one.breaker for one in status.repositories] == ["open", "open"]
    tasks = {one.task: one for one in status.tasks}
    assert tasks["api#1"].message == "no agent"
    assert tasks["web#3"].waits_for == ("api#1",)
    assert tasks["api#2"].waits_for == ("api#1",)
    assert status.workers[0].labels == ("linux",)


def test_settings_of_a_newer_version_are_refused_in_words(started: Ledger) -> None:
    kept = {"path": "/api", "flavour": "mint"}
    with started.engine.begin() as connection:
        connection.execute(sa.update(REPOSITORIES).values(settings=kept))

    with pytest.raises(RalphError, match=r"api .* \(flavour\); update ralph here"):
        status_of(started, "sqlite://")


def test_the_status_without_a_run_has_workers_alone(ledger: Ledger, roster: Roster) -> None:
    assert status_of(ledger, "sqlite://").run is None


@pytest.mark.parametrize(
    ("address", "expected"),
    [("no address", "cannot be read"), ("mysql://u@h/d", "no database that a fleet can use")],
)
def test_an_address_that_is_no_databases_is_refused(address: str, expected: str) -> None:
    with pytest.raises(UsageError, match=expected):
        open_engine(address)


def test_a_worker_serves_older_protocols_and_no_newer_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(durable, "FLEET_PROTOCOL", 2)

    served = durable.listened_queues(["gpu", "arm"])

    assert "ralph-work-1" in served
    assert "ralph-work-2+arm+gpu" in served
    assert "ralph-merge-1" in served
    assert "ralph-work-3" not in served
    assert "ralph-work-1+windows" not in served


def test_the_database_is_named_without_its_password(ledger: Ledger) -> None:
    assert dbos_address("postgresql://ralph:secret@h/d") == "postgresql://ralph:secret@h/d"
    assert shown_address("no address") == "?"
    with (
        pytest.raises(RalphError, match="cannot be used") as raised,
        database_errors(lambda: "postgresql://ralph:secret@127.0.0.1:1/ralph"),
        ledger.engine.begin() as connection,
    ):
        connection.execute(sa.text("select nothing"))
    assert "secret" not in raised.value.message
