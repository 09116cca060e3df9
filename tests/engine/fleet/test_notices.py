"""Notifications of a fleet: to the user's own command, each once, without secrets."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from ralph_ls.cli.commands.fleet.verb import fleet_verb
from ralph_ls.cli.commands.fleet.workers import Unfinished
from ralph_ls.engine.fleet.ledger import Ledger
from ralph_ls.engine.fleet.notices import FleetNotifier, offer_end, offer_notices
from ralph_ls.engine.fleet.roster import Roster
from ralph_ls.protocol.fleet import FleetTaskState
from tests.engine.fleet.conftest import RUN
from tests.engine.fleet.test_ledger import take
from tests.fleet.fleet_project import WORK, FleetProject


def received(project: FleetProject) -> list[dict[str, Any]]:
    """What the user's command got, one JSON object a line."""
    path = project.kept / "notified"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@pytest.fixture
def notified(project: FleetProject, monkeypatch: pytest.MonkeyPatch) -> FleetProject:
    command = project.folder / "notify"
    command.write_text(f"#!/bin/sh\n{{ cat; echo; }} >>{project.kept}/notified\n")
    command.chmod(0o755)
    monkeypatch.setenv("RALPH_NOTIFY_COMMAND", str(command))
    monkeypatch.setenv("RALPH_NOTIFY_INTERVAL", "0")
    monkeypatch.setenv("SHOP_TOKEN", "hunter2-is-secret")
    return project


def test_a_session_notifies_of_what_waits_and_of_its_end(notified: FleetProject) -> None:
    notified.agent(
        f'test "$task" = B && {{ printf "%s\\n" '
        f"'<promise>DECIDE: Is hunter2-is-secret right?</promise>'; exit; }}\n{WORK}"
    )
    notified.repository("api", ["Task A", "Task B"], remote=False, settings="lanes = 2")

    with pytest.raises(Unfinished):
        fleet_verb("run", until_done=True)
    with pytest.raises(Unfinished):
        fleet_verb("run", until_done=True)

    asked, ended = received(notified)
    assert asked["event"] == "question"
    assert asked["title"] == "api: Ralph has a question"
    assert asked["command"].startswith("ralph fleet answer 'api#")
    assert "hunter2" not in json.dumps([asked, ended])
    assert ended["event"] == "blocker"
    assert ended["text"] == "1 of 2 tasks merged, 1 with a question"


def test_each_is_sent_by_one_worker_that_has_a_destination(
    notified: FleetProject, started: Ledger, roster: Roster, tmp_path: Path
) -> None:
    epoch = take(started, "api#1")
    started.park(RUN, "api#1", epoch, "exit 1")
    notes: list[str] = []
    settings = {name: one for name, one in os.environ.items() if "NOTIFY" not in name}
    silent = FleetNotifier(tmp_path, settings, notes.append)
    first, second = (FleetNotifier(tmp_path, os.environ, notes.append) for _ in range(2))

    for notifier in (silent, first, second):
        offer_notices(started, notifier)
        offer_end(started, RUN, notifier)
        notifier.send_due(is_last=True)

    assert sorted(one["event"] for one in received(notified)) == ["blocker", "set_aside"]
    # It is another one after another attempt.
    started.retry(RUN, ["api#1"])
    epoch = take(started, "api#1")
    started.park(RUN, "api#1", epoch, "?", state=FleetTaskState.ASKING)
    offer_notices(started, second)
    second.send_due()
    assert received(notified)[-1]["event"] == "question"
    assert notes == []


def test_what_cannot_be_sent_is_reported(
    notified: FleetProject, started: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes: list[str] = []
    monkeypatch.setenv("RALPH_NOTIFY_COMMAND", "/no/such/program")
    broken = FleetNotifier(tmp_path, os.environ, notes.append)
    offer_end(started, RUN, broken)
    broken.send_due()
    monkeypatch.setenv("RALPH_NOTIFY_INTERVAL", "soon")
    FleetNotifier(tmp_path, os.environ, notes.append)

    assert notes[0].startswith("blocker was not sent to command: its program '/no/such/program'")
    assert notes[1].startswith("no notifications are sent: ")
