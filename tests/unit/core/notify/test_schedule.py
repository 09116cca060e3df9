"""When notifications are sent, and where."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.notify.occasions import Notification
from ralph_ls.core.notify.schedule import (
    Schedule,
    address_names,
    destinations_of,
    next_due,
    offer,
    quiet_until,
    take_due,
    unknown_destinations,
)
from ralph_ls.protocol.config.notify import NotifyConfig, NotifyEvent

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
Q, C = NotifyEvent.QUESTION, NotifyEvent.COMPLETE


def settings(**given: Any) -> NotifyConfig:
    return NotifyConfig.model_validate(given, by_alias=False, by_name=True)


def said(text: str, event: NotifyEvent = Q) -> Notification:
    return Notification(event=event, text=text)


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def test_one_of_an_event_in_an_interval_and_the_rest_counted() -> None:
    config = settings(interval=60)
    schedule, first = take_due(offer(Schedule(), said("1")), config, NOON)
    assert [(one.notification.text, one.more) for one in first] == [("1", 0)]
    assert next_due(schedule, config, NOON) is None
    for text in ("2", "3", "4"):
        schedule = offer(schedule, said(text))
    schedule, none = take_due(schedule, config, at(59))
    assert none == ()
    assert next_due(schedule, config, at(59)) == at(60)
    schedule, later = take_due(schedule, config, at(60))
    assert [(one.notification.text, one.more) for one in later] == [("4", 2)]
    assert schedule.held == {}


def test_another_event_does_not_wait() -> None:
    config = settings(interval=60)
    schedule, _ = take_due(offer(Schedule(), said("1")), config, NOON)
    _, due = take_due(offer(schedule, said("done", C)), config, at(1))
    assert [one.notification.event for one in due] == [C]


def test_at_the_end_nothing_waits_for_its_interval() -> None:
    config = settings(interval=60)
    schedule, _ = take_due(offer(Schedule(), said("1")), config, NOON)
    _, due = take_due(offer(schedule, said("2")), config, at(1), is_last=True)
    assert [one.notification.text for one in due] == ["2"]


def test_quiet_hours_hold_everything_until_their_end() -> None:
    config = settings(quiet="11:00-13:30")
    schedule, due = take_due(offer(Schedule(), said("1")), config, NOON, is_last=True)
    assert due == ()
    assert next_due(schedule, config, NOON) == NOON + timedelta(hours=1, minutes=30)
    _, due = take_due(schedule, config, NOON + timedelta(hours=1, minutes=30))
    assert [one.notification.text for one in due] == ["1"]


@pytest.mark.parametrize(
    ("quiet", "now", "until"),
    [
        ("", "12:00", None),
        ("22:00-07:00", "21:59", None),
        ("22:00-07:00", "22:00", "1 07:00"),
        ("22:00-07:00", "06:59", "0 07:00"),
        ("22:00-07:00", "07:00", None),
        ("9:00 - 17:00", "09:00", "0 17:00"),
        ("9:00 - 17:00", "17:00", None),
    ],
)
def test_quiet_hours(quiet: str, now: str, until: str | None) -> None:
    hour, _, minute = now.partition(":")
    found = quiet_until(settings(quiet=quiet), NOON.replace(hour=int(hour), minute=int(minute)))
    if until is None:
        assert found is None
    else:
        day, _, clock = until.partition(" ")
        assert found is not None
        assert (found.day - 31) % 31 == int(day) % 31
        assert f"{found:%H:%M}" == clock


@given(st.lists(st.tuples(st.sampled_from(NotifyEvent), st.integers(0, 500)), max_size=30))
def test_every_event_is_sent_or_counted_once(given_events: list[tuple[NotifyEvent, int]]) -> None:
    config, schedule, n_sent, now = settings(interval=60), Schedule(), 0, 0
    for event, pause in given_events:
        now += pause
        schedule, due = take_due(offer(schedule, said("x", event)), config, at(now))
        n_sent += sum(one.more + 1 for one in due)
    _, due = take_due(schedule, config, at(now), is_last=True)
    assert n_sent + sum(one.more + 1 for one in due) == len(given_events)


EVERYTHING: dict[str, Any] = {
    "urls": ("phone=ntfys://ntfy.sh/x", "tgram://token/1"),
    "command": ("tell",),
    "bell": True,
    "github": True,
}


@pytest.mark.parametrize(
    ("more", "event", "names"),
    [
        ({}, Q, ("phone", "address 2", "command", "bell", "github")),
        ({}, NotifyEvent.SET_ASIDE, ("phone", "address 2", "command", "bell")),
        ({"events": {"question": []}}, Q, ()),
        ({"events": {"question": ["phone", "bell"]}}, Q, ("phone", "bell")),
        ({"events": {"question": ["urls"]}}, Q, ("phone", "address 2")),
        ({"events": {"set_aside": ["github"]}}, NotifyEvent.SET_ASIDE, ("github",)),
        ({"command": (), "bell": False, "github": False}, Q, ("phone", "address 2")),
        ({"bell": False, "events": {"question": ["bell"]}}, Q, ()),
    ],
)
def test_destinations(more: dict[str, Any], event: NotifyEvent, names: tuple[str, ...]) -> None:
    assert destinations_of(event, settings(**{**EVERYTHING, **more})) == names


def test_addresses_by_name() -> None:
    assert address_names(settings(**EVERYTHING)) == {
        "phone": "ntfys://ntfy.sh/x",
        "address 2": "tgram://token/1",
    }


def test_unknown_destinations() -> None:
    config = settings(events={"question": ["phone", "bell"], "complete": ["phone", "urls"]})
    assert unknown_destinations(config) == ("phone",)
