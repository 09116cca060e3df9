"""What waits in fleets: kept in a file of the state folder, and answered by another program."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ralph_ls.protocol.errors import RalphError, UsageError
from ralph_ls.protocol.fleet import FleetTaskState, WaitingTask, WaitingTasks
from ralph_ls.store.fleet_waiting import resume_task, save_waiting, waiting_runs
from ralph_ls.store.layout import state_root

AT = datetime(2026, 1, 31, 14, tzinfo=UTC)


def _task(name: str, state: FleetTaskState, minutes: int = 0) -> WaitingTask:
    return WaitingTask(
        task=f"api#{name}",
        title=f"Title of {name}",
        state=state,
        epoch=1,
        message="In euros?",
        workspace="/srv/api",
        iterations=2,
        since=AT + timedelta(minutes=minutes),
    )


def _fleet(*tasks: WaitingTask, script: str = "", needs_variable: bool = False) -> WaitingTasks:
    return WaitingTasks(
        run="R1",
        command=(sys.executable, "-c", script),
        options=("--file", "/home/ada/fleet.toml"),
        needs_variable=needs_variable,
        tasks=tasks,
    )


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {"RALPH_STATE_DIR": str(tmp_path)}


ASKS = _task("T1", FleetTaskState.ASKING)
PARKED = _task("T2", FleetTaskState.PARKED, minutes=5)


class TestList:
    def test_it_has_the_tasks_of_all_databases_newest_first(
        self, environment: dict[str, str]
    ) -> None:
        root = state_root(environment)
        save_waiting(root, "sqlite:///one", _fleet(ASKS))
        save_waiting(root, "postgresql://two", _fleet(PARKED))

        found = [(one.fleet_task, one.fleet_state, one.next) for one in waiting_runs(environment)]

        assert found == [
            ("api#T2", "parked", "ralph fleet retry 'api#T2'"),
            ("api#T1", "asking", "ralph fleet answer 'api#T1' TEXT"),
        ]
        (file, _) = (root / "fleet" / "waiting").iterdir()
        assert file.stat().st_mode & 0o077 == 0
        assert "postgresql" not in file.read_text()

    @pytest.mark.parametrize("found", [None, _fleet()])
    def test_a_database_in_which_nothing_waits_has_no_file(
        self, environment: dict[str, str], found: WaitingTasks | None
    ) -> None:
        root = state_root(environment)
        save_waiting(root, "sqlite:///one", _fleet(ASKS))
        save_waiting(root, "sqlite:///one", found)

        assert waiting_runs(environment) == []
        assert list((root / "fleet" / "waiting").iterdir()) == []

    def test_a_file_that_a_newer_program_wrote_is_passed_over(
        self, environment: dict[str, str]
    ) -> None:
        root = state_root(environment)
        save_waiting(root, "sqlite:///one", _fleet(ASKS))
        (root / "fleet" / "waiting" / "newer.json").write_text('{"v": 2}')

        assert [one.fleet_task for one in waiting_runs(environment)] == ["api#T1"]


class TestResume:
    SHOW = "import sys; print(sys.argv[1:])"

    def test_the_program_that_read_the_database_gets_the_words_as_they_are(
        self, environment: dict[str, str]
    ) -> None:
        save_waiting(state_root(environment), "a", _fleet(ASKS, PARKED, script=self.SHOW))

        answered = resume_task(environment, "api#T1", "--euros; $(rm x)")
        tried = resume_task(environment, "api#T2", None)

        of_fleet = "'fleet', '--file', '/home/ada/fleet.toml', '--'"
        assert answered == f"[{of_fleet}, 'answer', 'api#T1', '--euros; $(rm x)']"
        assert tried == f"[{of_fleet}, 'retry', 'api#T2']"

    @pytest.mark.parametrize(
        ("task", "text", "expected"),
        [
            ("api#T1", None, "api#T1 is not parked; see what waits for you: ralph inbox"),
            ("api#T2", "Yes", "api#T2 asks nothing"),
            ("api#T9", "Yes", "api#T9 asks nothing"),
        ],
    )
    def test_a_task_that_does_not_wait_for_it_is_refused(
        self, environment: dict[str, str], task: str, text: str | None, expected: str
    ) -> None:
        save_waiting(state_root(environment), "a", _fleet(ASKS, PARKED, script=self.SHOW))

        with pytest.raises(UsageError, match=expected):
            resume_task(environment, task, text)

    @pytest.mark.parametrize(
        ("script", "expected"),
        [
            (
                "import sys; sys.exit('ralph: api#T1 was answered meanwhile')",
                "^api#T1 was answered",
            ),
            ("import sys; sys.exit(3)", "it ended 3"),
        ],
    )
    def test_what_the_program_says_is_the_reason_of_a_refusal(
        self, environment: dict[str, str], script: str, expected: str
    ) -> None:
        save_waiting(state_root(environment), "a", _fleet(ASKS, script=script))

        with pytest.raises(RalphError, match=expected):
            resume_task(environment, "api#T1", "Yes")

    def test_a_program_that_is_gone_is_named(self, environment: dict[str, str]) -> None:
        gone = _fleet(ASKS).model_copy(update={"command": ("/gone/python",)})
        save_waiting(state_root(environment), "a", gone)

        with pytest.raises(RalphError, match="/gone/python cannot be run"):
            resume_task(environment, "api#T1", "Yes")

    def test_without_the_address_it_says_what_to_type(self, environment: dict[str, str]) -> None:
        save_waiting(state_root(environment), "a", _fleet(ASKS, needs_variable=True))

        with pytest.raises(UsageError, match=r"ralph fleet answer 'api#T1' Yes$"):
            resume_task(environment, "api#T1", "Yes")
