"""Schedule of notifications: at most one of an event in an interval, and none in quiet hours.

What is held is counted, and the newest of it is sent once it may be: nothing is lost but words that
a later notification of the same event replaces.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from types import MappingProxyType

from ralph_ls.core.notify.occasions import Notification
from ralph_ls.protocol.config.notify import (
    BELL,
    COMMAND,
    GITHUB,
    URLS,
    NotifyConfig,
    NotifyEvent,
    quiet_minutes,
    split_address,
)

GITHUB_EVENTS = frozenset(
    {
        NotifyEvent.QUESTION,
        NotifyEvent.BLOCKER,
        NotifyEvent.BREAKER,
        NotifyEvent.COMPLETE,
        NotifyEvent.LIMIT,
        NotifyEvent.FATAL,
    }
)
"""What an issue gets as comments, unless the settings name others: questions and ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing:
    """A notification to be sent now."""

    notification: Notification
    more: int = 0
    """How many of its event were held for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """What was sent when, and what is held."""

    sent: Mapping[NotifyEvent, datetime] = field(default_factory=lambda: MappingProxyType({}))
    held: Mapping[NotifyEvent, Outgoing] = field(default_factory=lambda: MappingProxyType({}))


def offer(schedule: Schedule, notification: Notification) -> Schedule:
    """The schedule with a notification; ``take_due`` says whether it may be sent now."""
    known = schedule.held.get(notification.event)
    held = Outgoing(notification=notification, more=0 if known is None else known.more + 1)
    return replace(schedule, held={**schedule.held, notification.event: held})


def take_due(
    schedule: Schedule, config: NotifyConfig, now: datetime, *, is_last: bool = False
) -> tuple[Schedule, tuple[Outgoing, ...]]:
    """What is to be sent at ``now``, in local time, and the schedule without it.

    ``is_last``: the run ends, so that nothing can wait for its interval any more.
    """
    if quiet_until(config, now) is not None:
        return schedule, ()
    due = {
        event: held
        for event, held in schedule.held.items()
        if is_last or _free_at(schedule, config, event, now) <= now
    }
    rest = {event: held for event, held in schedule.held.items() if event not in due}
    sent = {**schedule.sent, **dict.fromkeys(due, now)}
    return Schedule(sent=sent, held=rest), tuple(due.values())


def next_due(schedule: Schedule, config: NotifyConfig, now: datetime) -> datetime | None:
    """When something that is held may be sent; None where nothing is."""
    times = [_free_at(schedule, config, event, now) for event in schedule.held]
    if not times:
        return None
    quiet = quiet_until(config, now)
    return min(times) if quiet is None else quiet


def quiet_until(config: NotifyConfig, now: datetime) -> datetime | None:
    """The end of the quiet hours in which ``now`` is; None outside of them."""
    hours = quiet_minutes(config.quiet)
    if hours is None:
        return None
    begin, end = hours
    minute = now.hour * 60 + now.minute
    is_quiet = begin <= minute < end if begin < end else minute >= begin or minute < end
    if not is_quiet:
        return None
    until = now.replace(hour=end // 60, minute=end % 60, second=0, microsecond=0)
    return until if until > now else until + timedelta(days=1)


def _free_at(
    schedule: Schedule, config: NotifyConfig, event: NotifyEvent, now: datetime
) -> datetime:
    last = schedule.sent.get(event)
    return now if last is None else max(now, last + timedelta(seconds=config.interval))


def destinations_of(event: NotifyEvent, config: NotifyConfig) -> tuple[str, ...]:
    """The names of the destinations of an event that there are, addresses by number or name."""
    there = [*address_names(config)]
    there += [COMMAND] if config.command else []
    there += [BELL] if config.bell else []
    there += [GITHUB] if config.github else []
    wanted = wanted_names(config, event)
    if wanted is None:
        return tuple(name for name in there if name != GITHUB or event in GITHUB_EVENTS)
    addresses = set(address_names(config))
    return tuple(name for name in there if name in wanted or (name in addresses and URLS in wanted))


def wanted_names(config: NotifyConfig, event: NotifyEvent) -> tuple[str, ...] | None:
    """The destinations that the settings name for an event; None: all."""
    found: tuple[str, ...] | None = getattr(config.events, event.value)
    return found


def address_names(config: NotifyConfig) -> dict[str, str]:
    """Each address under its name; one without a name is ``address 1``, by its place."""
    found: dict[str, str] = {}
    for number, text in enumerate(config.urls, 1):
        name, address = split_address(text)
        found[name or f"address {number}"] = address
    return found


def unknown_destinations(config: NotifyConfig) -> tuple[str, ...]:
    """Names in ``notify.events`` that are no destination, each once."""
    known = {URLS, COMMAND, BELL, GITHUB, *address_names(config)}
    named = (name for event in NotifyEvent for name in wanted_names(config, event) or ())
    return tuple(dict.fromkeys(name for name in named if name not in known))
