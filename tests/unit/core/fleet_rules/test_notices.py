"""What a fleet notifies of, in which words."""

from __future__ import annotations

import pytest

from ralph_ls.core.fleet_rules import notice_of_end, notice_of_task
from ralph_ls.core.notify.schedule import Outgoing
from ralph_ls.core.notify.texts import body_of, title_of
from ralph_ls.protocol.config.notify import NotifyEvent
from ralph_ls.protocol.fleet import FleetTaskState
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import TaskRef

State = FleetTaskState
TASK = TaskRef(id="T 1", title="Add the route")


def test_a_question_has_its_options_and_a_command_for_any_folder() -> None:
    text = "Which one?\n1. SQLite\n2. Postgres"
    notice = notice_of_task("api#T 1", TASK, State.ASKING, text, starts_no_more=False)

    body = body_of(Outgoing(notification=notice), RunState(workspace="api"))

    assert notice.event is NotifyEvent.QUESTION
    assert notice.options == ("SQLite", "Postgres")
    assert body.endswith("Task: Add the route\n\nralph fleet answer 'api#T 1' '…'")


@pytest.mark.parametrize(
    ("is_open", "expected"),
    [(False, "exit 1"), (True, "exit 1\napi starts no more tasks until you retry.")],
)
def test_a_parked_task_says_how_to_try_again(*, is_open: bool, expected: str) -> None:
    notice = notice_of_task("api#T1", TASK, State.PARKED, "exit 1", starts_no_more=is_open)

    assert (notice.event, notice.text) == (NotifyEvent.SET_ASIDE, expected)
    assert notice.command == "ralph fleet retry 'api#T1'"
    outgoing = Outgoing(notification=notice)
    assert title_of(outgoing, RunState(workspace="api")) == "api: A task was set aside"


@pytest.mark.parametrize(
    ("states", "waits", "event", "text"),
    [
        ((State.MERGED, State.DROPPED), False, NotifyEvent.COMPLETE, "1 of 1 task merged"),
        (
            (State.MERGED, State.PARKED, State.ASKING, State.WAITING),
            False,
            NotifyEvent.BLOCKER,
            "1 of 4 tasks merged, 1 with a question, 1 parked",
        ),
        (
            (State.MERGED, State.WAITING),
            True,
            NotifyEvent.BLOCKER,
            "1 of 2 tasks merged, others wait for a release",
        ),
    ],
)
def test_the_end_says_what_is_left(
    states: tuple[FleetTaskState, ...], *, waits: bool, event: NotifyEvent, text: str
) -> None:
    notice = notice_of_end(states, waits_for_release=waits)

    assert (notice.event, notice.text) == (event, text)
