"""The settings of ``notify``: which events of a run are sent where, and which answers come back."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, Field

from ralph_ls.protocol.base import StrictWireModel
from ralph_ls.protocol.config.tables import Duration


class NotifyEvent(StrEnum):
    """What a notification is about; the same name in settings, JSON and ``RALPH_EVENT``."""

    QUESTION = "question"
    """The agent asks something that only you can decide."""
    BLOCKER = "blocker"
    """Something outside the loop must change first."""
    BREAKER = "breaker"
    """The breaker opened, or the run is stuck."""
    REVIEW_POINT = "review_point"
    """The run waits until you have looked at the work."""
    APPROVAL = "approval"
    """Something that the repository would run needs ``ralph allow``."""
    SET_ASIDE = "set_aside"
    """A task was set aside."""
    USAGE_LIMIT = "usage_limit"
    """The run waits until the agent's usage limit resets."""
    COST = "cost"
    """The run has used another ``notify.cost_usd``."""
    COMPLETE = "complete"
    """The run is complete."""
    LIMIT = "limit"
    """The run ended at one of its limits."""
    FATAL = "fatal"
    """The run ended because something failed."""


class AnswerSource(StrEnum):
    """Where answers to questions may come from."""

    GITHUB = "github"
    """A comment on the issue, by somebody who may write to the repository."""


URLS, COMMAND, BELL, GITHUB = "urls", "command", "bell", "github"
DESTINATIONS = (URLS, COMMAND, BELL, GITHUB)
"""Names of destinations, beside the names that addresses have."""

_NAMED = re.compile(r"([A-Za-z][A-Za-z0-9_-]{0,39})=(?=[A-Za-z][A-Za-z0-9+.-]*://)")
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://\S+")
_QUIET = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)\s*-\s*([01]?\d|2[0-3]):([0-5]\d)")


def split_address(text: str) -> tuple[str, str]:
    """The name before ``=``, or an empty one, and the address."""
    named = _NAMED.match(text)
    return (named[1], text[named.end() :]) if named else ("", text)


def quiet_minutes(text: str) -> tuple[int, int] | None:
    """First and last minute of the day in ``22:00-07:00``; None for anything else."""
    found = _QUIET.fullmatch(text.strip())
    if found is None:
        return None
    begin = int(found[1]) * 60 + int(found[2])
    end = int(found[3]) * 60 + int(found[4])
    return None if begin == end else (begin, end)


def _names_an_address(text: str) -> str:
    """The text as it is; raises ValueError where it has no address. The text is a secret."""
    if "[redacted " in text:
        return text  # As journals have it.
    name, address = split_address(text)
    if not _ADDRESS.fullmatch(address):
        raise ValueError('write an address such as "ntfys://ntfy.sh/TOPIC" or "phone=tgram://…"')
    if name in DESTINATIONS:
        raise ValueError(f"{name} is the name of a destination; choose another name")
    return text


def _names_quiet_hours(text: str) -> str:
    """The text as it is; raises ValueError where it is neither empty nor two times."""
    if text and quiet_minutes(text) is None:
        raise ValueError(f'{text!r} are not two times; write such as "22:00-07:00"')
    return text


Names = tuple[str, ...] | None


class NotifyEventsConfig(StrictWireModel):
    """Destinations by event: ``urls``, ``command``, ``bell``, ``github`` or names of addresses.

    An empty list sends the event nowhere.
    """

    question: Names = None
    """Destinations of questions. Unset: all."""
    blocker: Names = None
    """Destinations of blockers. Unset: all."""
    breaker: Names = None
    """Destinations of open breakers and stuck runs. Unset: all."""
    review_point: Names = None
    """Destinations of review points. Unset: all."""
    approval: Names = None
    """Destinations of needed approvals. Unset: all."""
    set_aside: Names = None
    """Destinations of tasks that were set aside. Unset: all."""
    usage_limit: Names = None
    """Destinations of waits for the agent's usage limit. Unset: all."""
    cost: Names = None
    """Destinations of each ``notify.cost_usd``. Unset: all."""
    complete: Names = None
    """Destinations of complete runs. Unset: all."""
    limit: Names = None
    """Destinations of runs that reached a limit. Unset: all."""
    fatal: Names = None
    """Destinations of runs that failed. Unset: all."""


class NotifyConfig(StrictWireModel):
    """Who is notified of a run's events, and how."""

    urls: tuple[Annotated[str, AfterValidator(_names_an_address)], ...] = ()
    """Addresses of [Apprise](https://appriseit.com/services/): ntfy, Slack, Telegram, mail and
    many more. Only in your own file or the environment. ``name=`` in front names one for the
    keys of ``notify.events``."""
    command: tuple[str, ...] = ()
    """Program and arguments to run for each event, with the event as JSON on standard input and
    its name in ``RALPH_EVENT``."""
    bell: bool = False
    """Whether the terminal of ``ralph run`` and ``ralph watch`` rings."""
    github: bool = False
    """Whether questions, blockers and ends are posted as comments to the issue that the run works
    on."""
    events: NotifyEventsConfig = NotifyEventsConfig.model_construct()
    quiet: Annotated[str, AfterValidator(_names_quiet_hours)] = ""
    """Hours of your local time in which nothing is sent, such as ``22:00-07:00``. What is held is
    sent afterwards, if the run is still live."""
    interval: Duration = 60.0
    """Time in which at most one notification of an event is sent; the next one counts the rest."""
    cost_usd: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """Notify each time that the run has used this many US dollars more. Unset: never."""
    answers: tuple[AnswerSource, ...] = ()
    """Where answers to questions may come from. Only in your own file or the environment."""


OWN_ONLY = ("notify.urls", "notify.answers", "plan.github.write", "plan.github.repository")
"""Settings that a repository must not have: where texts of a run go, and who may answer it."""
