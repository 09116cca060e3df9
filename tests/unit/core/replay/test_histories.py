"""A recorded run is a test: its inputs, fed to the loop again, must give the same events.

A changed decision shows here as a changed journal. ``UPDATE_SNAPSHOTS=1`` plays every history with
the real engine again and writes its events of today; look at the difference before you commit it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ralph_ls.core.loop.fold import apply, fold
from ralph_ls.core.loop.machine.run_flow import EXIT_CODES, TERM_EXIT_CODE
from ralph_ls.protocol.config.config import ProfileName
from ralph_ls.protocol.run.events import (
    EVENT_KINDS,
    Event,
    IterationStarted,
    RunEnded,
    RunStarted,
    UnknownEvent,
    dump_event,
)
from ralph_ls.protocol.run.lane_events import LaneEvent
from ralph_ls.protocol.run.values import EndReason
from ralph_ls.store.run.journal import read_journal
from tests.histories import profiles, record
from tests.histories.rebuild import replay
from tests.settings import normalised

NAMES = sorted(record.HISTORIES)


@pytest.fixture(scope="session", autouse=True)
def recorded_again() -> None:
    """Record them all, where that is wished."""
    if os.environ.get("UPDATE_SNAPSHOTS") == "1":
        subprocess.run(
            [sys.executable, "-m", "tests.histories.record"],
            cwd=Path(__file__).resolve().parents[4],
            check=True,
        )


def read(name: str) -> list[Event]:
    journal = read_journal(record.path_of(name))
    assert (journal.torn, journal.unreadable) == (0, ())
    return [event for event in journal.events if not isinstance(event, UnknownEvent)]


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", NAMES)
def test_a_recorded_run_is_reported_again_in_the_same_events(name: str) -> None:
    told = [event for move in replay(read(name)) for event in move.told]
    recorded = record.path_of(name).read_bytes().splitlines()
    assert [normalised(dump_event(event)) for event in told] == [*map(normalised, recorded)]


OF_LANES = {model.model_fields["kind"].default for model in LaneEvent.__subclasses__()}
"""Kinds of a parallel run, which tests/unit/core/loop/parallel plays in another world."""


@pytest.mark.parametrize("name", NAMES)
def test_a_recorded_run_ends_and_counts_its_events(name: str) -> None:
    events = read(name)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    state = fold(events)
    assert state.end is not None
    assert (state.current is None) is (name != "plan-vanishes")
    again = fold(events[: len(events) // 2])
    for event in events[len(events) // 2 :]:
        again = apply(again, event)
    assert again == state


def test_every_history_has_its_file_and_every_end_its_history() -> None:
    assert sorted(path.stem for path in record.FOLDER.glob("*.jsonl")) == NAMES
    ends = {state.end.reason for name in NAMES if (state := fold(read(name))).end is not None}
    assert ends == set(EndReason)
    kinds = {event.kind for name in NAMES for event in read(name)}
    assert kinds == EVENT_KINDS - OF_LANES


@pytest.mark.parametrize("ending", EndReason)
@pytest.mark.parametrize("profile", ProfileName)
def test_every_profile_has_come_to_every_ending(profile: ProfileName, ending: EndReason) -> None:
    events = read(profiles.ENDINGS[profile][ending])
    started, end = events[0], events[-1]
    assert isinstance(started, RunStarted)
    assert isinstance(end, RunEnded)
    assert (started.config.profile, end.reason) == (profile, ending)
    assert end.exit_code in {EXIT_CODES[ending], TERM_EXIT_CODE}
    assert profiles.shown_by(profile, ending).endswith(".")


def iterations(name: str) -> list[tuple[str, bool]]:
    """The mode of each, and whether it only confirmed that nothing is left."""
    started = [event for event in read(name) if isinstance(event, IterationStarted)]
    return [(event.mode.value, event.confirming) for event in started]


def test_the_modes_of_the_profiles_are_in_their_histories() -> None:
    assert iterations("spec-plans-and-is-confirmed") == [
        ("plan", False),
        ("build", False),
        ("build", True),
    ]
    assert iterations("spec-replans") == [("plan", False)]
    reset = [event for event in read("spec-replans") if getattr(event, "code", "") == "plan-reset"]
    assert len(reset) == 1
    assert iterations("stories-complete") == [
        ("build", False),
        ("review", False),
        ("review-fix", False),
        ("review", False),
    ]
    # Planning looks at what is stuck once, and builds nothing (docs/rules.md#attempts).
    assert iterations("beads-blocked") == [("build", False), ("plan", False)]


@pytest.mark.parametrize("name", NAMES)
def test_a_history_reports_nothing_of_the_machine_it_was_recorded_on(name: str) -> None:
    text = record.path_of(name).read_text(encoding="utf-8")
    assert str(Path.home()) not in text
    absolute = re.findall(r'"(/[^"/ ]*)', text)
    assert set(absolute) <= {"/repo", "/state", "/agent"}
    assert not re.search(r"/(tmp|home|root|Users|private|var)/", text)
