"""A whole fleet in this process: the verb, a worker, engines in lanes, merges."""

from __future__ import annotations

import importlib.util
import json
import os
from typing import Any

import pytest

from ralph_ls.cli.commands.fleet.verb import fleet_verb
from ralph_ls.cli.commands.fleet.workers import Unfinished
from ralph_ls.cli.commands.runs.everywhere import inbox_verb, ps_verb
from ralph_ls.cli.fleet_context import FleetContext
from ralph_ls.engine.fleet.planning import plan_fleet
from ralph_ls.engine.fleet.roster import Roster
from ralph_ls.protocol.errors import ConfigError, RalphError, UsageError
from ralph_ls.protocol.fleet import FleetTaskState
from ralph_ls.store.fleet_waiting import resume_task, waiting_runs
from tests.engine.project_builder import git
from tests.fleet.fleet_project import WORK, FleetProject

FOUND = importlib.util.find_spec


def test_tasks_are_merged_parked_or_ask_and_are_continued_by_their_user(
    project: FleetProject, capsys: pytest.CaptureFixture[str]
) -> None:
    asks = "{ echo '<promise>DECIDE:Which database?</promise>'; exit 0; }"
    project.agent(f'test "$task" = B && exit 7\ntest "$task" = C && {asks}\n{WORK}')
    api = project.repository(
        "api", ["Task A", "Task B", "Task C"], remote=False, settings="lanes = 3"
    )

    with pytest.raises(Unfinished, match="2 tasks wait for you"):
        fleet_verb("run", until_done=True)

    assert project.merged(api) == {"A": 1}
    printed = capsys.readouterr().out
    assert "1 of 3 merged into ralph/fleet" in printed
    assert "→ ralph fleet retry" in printed
    _check_asking_is_listed_and_answered_without_the_extra(capsys)
    fleet_verb("logs", ["api#Task A"])
    assert "EXIT_SIGNAL" in capsys.readouterr().out
    fleet_verb("retry")
    assert "1 tasks are tried again" in capsys.readouterr().out
    assert waiting_runs(os.environ) == []
    fleet_verb("drain")
    fleet_verb("stop")
    fleet_verb("status", as_json=True)
    assert '"state": "stopped"' in capsys.readouterr().out
    with pytest.raises(UsageError, match="no task 'api#Task Z'"):
        fleet_verb("answer", ["api#Task Z", "Yes"])
    with pytest.raises(UsageError, match="asks nothing"):
        fleet_verb("answer", ["api#Task A", "Yes"])


def _check_asking_is_listed_and_answered_without_the_extra(
    capsys: pytest.CaptureFixture[str],
) -> None:
    ps_verb(as_json=True)
    runs = json.loads(capsys.readouterr().out)["runs"]
    run = next(one for one in runs if one["fleetState"] == "asking")
    task = run["fleetTask"]
    assert (run["activity"], run["live"]) == ("Which database?", False)
    assert run["next"] == f"ralph fleet answer '{task}' TEXT"
    ps_verb()
    assert f"fleet {task}" in capsys.readouterr().out
    with pytest.raises(UsageError, match="is not parked; see what waits for you: ralph inbox"):
        resume_task(os.environ, task, None)
    # The program that wrote the list changes the database, in a separate process.
    assert resume_task(os.environ, task, "- SQLite") == f"{task} continues with your answer."
    assert [one.fleet_state for one in waiting_runs(os.environ)] == ["parked"]
    with pytest.raises(UsageError, match="asks nothing"):
        resume_task(os.environ, task, "Postgres")
    context = FleetContext(environment=os.environ, file=None, database=None, as_json=False)
    ledger = context.ledger()
    row = ledger.task(ledger.active_run() or "", task)
    assert row is not None
    assert row["note"].endswith("- SQLite")
    ledger.engine.dispose()


def test_what_tasks_wait_for_is_in_the_inbox_and_answered_there(
    project: FleetProject, capsys: pytest.CaptureFixture[str]
) -> None:
    project.repository("api", ["Task A", "Task B"], remote=False, settings="lanes = 2")
    context = FleetContext(environment=os.environ, file=None, database=None, as_json=False)
    ledger = context.ledger()
    run = plan_fleet(context.fleet(), ledger, os.environ)
    Roster(ledger.engine).join("w1", [], "1.0")
    ledger.release(run)
    states = (FleetTaskState.ASKING, FleetTaskState.PARKED)
    for turn, state in zip(ledger.open_turns(run), states, strict=True):
        taken = ledger.take(run, turn.task, turn.turn, "w1")
        assert taken is not None
        ledger.park(run, turn.task, taken["epoch"], "Which database?", state=state)

    inbox_verb(as_json=True)

    items = json.loads(capsys.readouterr().out)["items"]
    asked, parked = sorted(items, key=lambda item: item["kind"] != "question")
    assert asked["text"] == "Which database?"
    assert asked["fleetTask"].startswith("api#")
    assert parked["command"] == f"ralph fleet retry '{parked['fleetTask']}'"
    inbox_verb("answer", asked["number"], ["Use", "SQLite"])
    row = ledger.task(run, asked["fleetTask"])
    assert row is not None
    assert row["note"].endswith("Use SQLite")
    inbox_verb()
    assert "1  parked · api#" in capsys.readouterr().out
    ledger.engine.dispose()


class TestFile:
    def test_a_folder_and_a_url_are_added_and_listed(
        self, project: FleetProject, capsys: pytest.CaptureFixture[str]
    ) -> None:
        root = project.folder / "The API"
        git(project.folder, "init", "-q", str(root))

        fleet_verb("add", [str(root)])
        fleet_verb("add", ["git@example.com:shop/web.git"], push=True)
        fleet_verb("list")

        assert f"the-api  {root} → ralph/fleet, 1 at a time" in capsys.readouterr().out
        fleet_verb("list", as_json=True)
        assert '"url": "git@example.com:shop/web.git"' in capsys.readouterr().out
        assert project.file.stat().st_mode & 0o077 == 0
        with pytest.raises(UsageError, match="has a repository web already"):
            fleet_verb("add", ["https://example.com/web"], push=True)

    def test_what_a_repository_runs_is_shown_and_approved(
        self, project: FleetProject, capsys: pytest.CaptureFixture[str]
    ) -> None:
        script = {".ralph/validate.sh": "#!/bin/sh\nexit 0\n"}
        project.repository("api", ["Task A"], files=script)
        with pytest.raises(ConfigError, match="ralph fleet allow api"):
            fleet_verb("run", until_done=True)

        fleet_verb("allow", yes=True)
        fleet_verb("allow", ["api"])

        printed = capsys.readouterr().out
        assert "exit 0" in printed
        assert "nothing to approve" in printed
        with pytest.raises(UsageError, match="no repository 'apl'; did you mean"):
            fleet_verb("allow", ["apl"])


@pytest.mark.parametrize(
    ("words", "options", "expected"),
    [
        (("strat",), {}, "unknown action 'strat'"),
        (("add",), {}, "name a folder or a URL"),
        (("add", "https://example.com/a"), {}, "--push"),
        (("answer", "api#1"), {}, "name the task and the answer"),
        (("logs",), {}, "name the task"),
        (("stop",), {}, "no run of the fleet is active"),
        (("worker",), {"label": ["Not A Label"]}, "lower-case"),
        (("worker",), {"label": list("abcdefg")}, "at most 6"),
        (("worker",), {"lanes": 4}, "the same for all"),
        (("run",), {"lanes": 65}, "from 1 to 64"),
        (("run",), {"submit": True}, "Postgres"),
        (("run",), {}, "no repository"),
    ],
)
def test_misuse_is_answered_with_what_to_type(
    project: FleetProject, words: tuple[str, ...], options: dict[str, Any], expected: str
) -> None:
    project.file.write_text("lanes = 2\n")

    with pytest.raises(UsageError, match=expected):
        fleet_verb(words[0], list(words[1:]), **options)


@pytest.mark.parametrize(
    ("tasks", "expected"),
    [
        (["Task A\n  - Depends on: api#Task Z"], "the fleet has no such task"),
        (
            ["Task A\n  - Depends on: api#Task B", "Task B\n  - Depends on: api#Task A"],
            "wait for each other",
        ),
    ],
)
def test_dependencies_that_cannot_be_met_are_refused(
    project: FleetProject, tasks: list[str], expected: str
) -> None:
    project.repository("api", tasks, remote=False)

    with pytest.raises(UsageError, match=expected):
        fleet_verb("run", until_done=True)


def test_folders_of_this_machine_are_not_queued_for_others(project: FleetProject) -> None:
    project.repository("api", ["Task A"], remote=False)

    with pytest.raises(UsageError, match="cannot reach a folder"):
        fleet_verb("run", submit=True, database="postgresql://nobody@127.0.0.1:1/none")


def test_the_base_installation_says_how_to_get_the_extra(
    project: FleetProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "ralph_ls.engine.fleet.extra.find_spec",
        lambda name: None if name == "dbos" else FOUND(name),
    )

    with pytest.raises(RalphError, match=r"get it with: .* 'ralph-ls\[fleet\]'$") as raised:
        fleet_verb("status")
    assert "\n" not in raised.value.message
    assert os.environ["RALPH_FLEET_FILE"] == str(project.file)
