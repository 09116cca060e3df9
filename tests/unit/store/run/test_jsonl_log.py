"""The log of the beads loop, as a file: its name, its lines, who may read it, and what keeps it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from ralph_ls.core.views.text.event_weights import EventLine, Weight
from ralph_ls.protocol.config.config import Config, LogForm, LogsConfig
from ralph_ls.protocol.run.events import Warned
from ralph_ls.protocol.run.values import Mode
from ralph_ls.store.layout import RunFiles
from ralph_ls.store.run.logs import STDERR, STDOUT, JsonlLog, find_old_logs, remove_logs
from ralph_ls.store.run.summary_file import SummaryFile, shown_summary, summary_folder
from tests.unit.core.views.run_states import event, iteration_ended
from tests.unit.store.run.test_logs import small_files

LOCAL = datetime(2026, 1, 28, 16, 30, 0, tzinfo=timezone(timedelta(hours=1)))
NAME = "2026-01-28T16-30-00.log"


def jsonl_log(folder: Path, *, wanted: bool = True) -> JsonlLog:
    files = folder / "run"
    files.mkdir(exist_ok=True)
    return JsonlLog(
        folder / "logs" if wanted else None,
        summary=SummaryFile(files, files, mode=0o600),
        started=LOCAL,
        now=lambda: LOCAL,
    )


def iterate(log: JsonlLog, number: int, *said: bytes, exit_code: int | None = 0) -> None:
    log.begin(number, number, "main", LOCAL, mode=Mode.BUILD, task="bd-abc")
    for piece in said:
        log.write_output(STDOUT, piece)
    log.end(iteration_ended(number), LOCAL + timedelta(seconds=152), exit_code=exit_code)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_what_the_loop_reports_is_a_record_too(tmp_path: Path) -> None:
    log = jsonl_log(tmp_path)
    happened = event(Warned, iteration=1, code="context-90", message="full")
    line = EventLine(text="Warning: \u202efull", weight=Weight.WARNING)
    log.note(happened, line, LOCAL)
    assert not (tmp_path / "logs").exists()
    iterate(log, 1)
    log.close()
    log.note(happened, line, LOCAL)
    (path,) = (tmp_path / "logs").iterdir()
    first, second = [one for one in lines(path) if one["event"] == "warned"]
    assert first == second
    assert first["data"] == {
        "iteration": 1,
        "level": "warning",
        "message": "Warning: \\u202efull",
        "code": "context-90",
    }


def test_a_repeated_start_has_its_attempt(tmp_path: Path) -> None:
    log = jsonl_log(tmp_path)
    log.begin(3, 2, "main", LOCAL, mode=Mode.BUILD, task="bd-abc", tries=2)
    log.close()
    (path,) = (tmp_path / "logs").iterdir()
    assert lines(path)[0]["data"] == {
        "iteration": 2,
        "issue_id": "bd-abc",
        "mode": "build",
        "attempt": 2,
    }


def test_a_run_has_one_file_with_the_loops_lines_around_the_agents(tmp_path: Path) -> None:
    log = jsonl_log(tmp_path)
    iterate(log, 1, b'{"type":"system"}\nhel', b"lo")
    log.begin(2, 2, "main", LOCAL, mode=Mode.PLAN, task=None)
    log.write_output(STDERR, b'{"a":1}\n')
    log.write(b"2 tests failed")
    log.end(iteration_ended(2), LOCAL, exit_code=143)
    log.close()
    (path,) = (tmp_path / "logs").iterdir()
    assert path.name == NAME
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    at = "2026-01-28T15:30:00Z"
    text = {"type": "agent_text", "timestamp": at}
    assert lines(path) == [
        {
            "type": "loop_meta",
            "event": "iteration_start",
            "timestamp": at,
            "data": {"iteration": 1, "issue_id": "bd-abc", "mode": "build"},
        },
        {"type": "system"},
        {**text, "timestamp": "2026-01-28T15:32:32Z", "text": "hello"},
        {
            "type": "loop_meta",
            "event": "iteration_end",
            "timestamp": "2026-01-28T15:32:32Z",
            "data": {"iteration": 1, "exit_code": 0, "duration_seconds": 152},
        },
        {
            "type": "loop_meta",
            "event": "iteration_start",
            "timestamp": at,
            "data": {"iteration": 2, "issue_id": None, "mode": "plan"},
        },
        {**text, "text": '{"a":1}'},
        {**text, "text": "2 tests failed"},
        {
            "type": "loop_meta",
            "event": "iteration_end",
            "timestamp": at,
            "data": {"iteration": 2, "exit_code": 143, "duration_seconds": 152},
        },
    ]


def test_what_has_no_newline_is_written_when_the_log_is_closed(tmp_path: Path) -> None:
    log = jsonl_log(tmp_path)
    log.write_output(STDOUT, b"cut")
    log.close()
    log.close()
    assert [line["text"] for line in lines(tmp_path / "logs" / NAME)] == ["cut"]


def test_a_second_run_in_the_same_second_has_its_own_file(tmp_path: Path) -> None:
    for _ in range(2):
        log = jsonl_log(tmp_path)
        iterate(log, 1)
        log.close()
    names = sorted(path.name for path in (tmp_path / "logs").iterdir())
    assert names == [NAME, "2026-01-28T16-30-01.log"]


def test_a_file_that_somebody_removed_is_made_again(tmp_path: Path) -> None:
    log = jsonl_log(tmp_path)
    iterate(log, 1)
    (tmp_path / "logs" / NAME).unlink()
    iterate(log, 2)
    log.close()
    assert [line["data"]["iteration"] for line in lines(tmp_path / "logs" / NAME)] == [2, 2]


def test_without_a_log_there_is_still_the_summary(tmp_path: Path) -> None:
    log = jsonl_log(tmp_path, wanted=False)
    iterate(log, 1, b"hello\n")
    log.close()
    assert not (tmp_path / "logs").exists()
    assert len(log.summary_file.path.read_text(encoding="utf-8").splitlines()) == 2
    assert log.summary_file.path.stat().st_mode & 0o777 == 0o600
    assert log.problem is None


def test_the_first_failure_is_kept_and_the_run_continues(tmp_path: Path) -> None:
    (tmp_path / "logs").touch()
    log = jsonl_log(tmp_path)
    iterate(log, 1, b"hello\n")
    first = log.problem
    assert first is not None
    assert "cannot be created" in first
    (tmp_path / "logs").unlink()
    with small_files(100):
        iterate(log, 2)
    log.close()
    assert log.problem == first


def test_a_full_disk_leaves_no_half_of_a_line(tmp_path: Path) -> None:
    log = jsonl_log(tmp_path)
    with small_files(300):
        iterate(log, 1, b"x" * 200 + b"\n")
    assert log.problem is not None
    assert "File too large" in log.problem
    iterate(log, 2)
    log.close()
    assert [line["event"] for line in lines(tmp_path / "logs" / NAME)] == [
        "iteration_start",
        "iteration_end",
        "iteration_start",
        "iteration_end",
    ]


def test_the_summary_is_at_the_shown_path(tmp_path: Path) -> None:
    files = RunFiles(folder=tmp_path / "state" / "runs" / "x")
    inside, outside = Config(), Config(logs=LogsConfig(form=LogForm.JSONL))
    assert summary_folder(tmp_path, inside, files) == tmp_path / ".ralph/logs"
    assert shown_summary(inside, files) == ".ralph/logs/summary.csv"
    assert summary_folder(tmp_path, outside, files) == files.folder
    assert shown_summary(outside, files) == str(files.folder / "summary.csv")


class TestRetention:
    def old(self, folder: Path, newest: int) -> list[str]:
        kept = LogsConfig(newest=newest)
        return [path.name for path in find_old_logs(folder, kept, datetime.now(UTC))]

    def make(self, folder: Path, n_logs: int) -> None:
        folder.mkdir()
        for number in range(n_logs):
            path = folder / f"2026-01-{number + 1:02d}T16-30-00.log"
            path.touch()
            os.utime(path, (number, number))
        for name in ("notes.txt", "mine.log", "2026-01-01.log"):
            (folder / name).touch()
            os.utime(folder / name, (0, 0))

    def test_the_newest_are_kept_and_what_is_not_ours(self, tmp_path: Path) -> None:
        self.make(tmp_path / "logs", 13)
        old = find_old_logs(tmp_path / "logs", LogsConfig(newest=10), datetime.now(UTC))
        assert [path.name[8:10] for path in old] == ["01", "02", "03"]
        assert remove_logs(old) == 3
        assert len(list((tmp_path / "logs").glob("2026-01-*T*.log"))) == 10
        assert len(list((tmp_path / "logs").iterdir())) == 13

    def test_one_that_another_clones_run_writes_stays(self, tmp_path: Path) -> None:
        log = jsonl_log(tmp_path)
        iterate(log, 1)
        path = tmp_path / "logs" / NAME
        assert self.old(tmp_path / "logs", 0) == [NAME]
        code = (
            "import sys; from pathlib import Path; from ralph_ls.store.run.logs import remove_logs;"
            "print(remove_logs([Path(sys.argv[1])]))"
        )
        asked = [sys.executable, "-c", code, str(path)]
        said = subprocess.run(asked, capture_output=True, text=True, check=True)
        assert (said.stdout, path.exists()) == ("0\n", True)
        log.close()
        assert remove_logs([path]) == 1

    @pytest.mark.parametrize("name", ["2026-01-01T00-00-00.log"])
    def test_a_link_is_nothing_that_is_removed(self, tmp_path: Path, name: str) -> None:
        (tmp_path / "logs").mkdir()
        (tmp_path / "theirs").touch()
        (tmp_path / "logs" / name).symlink_to(tmp_path / "theirs")
        assert self.old(tmp_path / "logs", 0) == []
        assert remove_logs([tmp_path / "logs" / name]) == 0
        assert (tmp_path / "theirs").exists()
