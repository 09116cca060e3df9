from __future__ import annotations

import csv
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from ralph_ls.core.views.text.event_weights import EventLine, Weight
from ralph_ls.protocol.config.config import LogForm
from ralph_ls.protocol.errors import StateUnusable
from ralph_ls.protocol.run.events import RunEnded, Warned
from ralph_ls.protocol.run.values import EndReason
from ralph_ls.store.run.logs import STDOUT, TextLog, move_earlier_logs
from ralph_ls.store.run.summary_file import write_summary
from tests.unit.core.views.run_states import event, iteration_ended
from tests.unit.core.views.text.test_summary import S_FRAME

MORNING = datetime(2026, 2, 4, 16, 30, 15, tzinfo=timezone(timedelta(hours=1)))
HEADER = (
    "iteration,mode,duration_seconds,commit_hash,"
    "stories_complete,stories_total,stuck_count,timestamp"
)


def run_log(folder: Path, form: LogForm = LogForm.RUN) -> TextLog:
    return TextLog(folder, "logs", form=form, started=MORNING)


def iterate(log: TextLog, *numbers: int, said: bytes = b"said\n") -> None:
    for number in numbers:
        log.begin(number, number, "main", MORNING)
        log.write(said)
        log.end(iteration_ended(number), MORNING + timedelta(seconds=152))


def rows(log: TextLog) -> list[list[str]]:
    with log.summary_file.path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@contextmanager
def small_files(n_bytes: int) -> Iterator[None]:
    """No file of this process may grow beyond that, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_the_frame_of_a_repeated_start_names_its_attempt(tmp_path: Path) -> None:
    log = run_log(tmp_path)
    log.begin(3, 2, "main", MORNING, tries=2)
    log.close()
    (path,) = (path for path in log.folder.iterdir() if path.suffix == ".log")
    assert path.read_text().splitlines()[1] == "Iteration: 2, attempt 2"


class TestOneFileARun:
    def test_every_iteration_has_its_frame(self, tmp_path: Path) -> None:
        log = run_log(tmp_path)
        iterate(log, 1, 2)
        log.close()
        text = (tmp_path / "logs" / "2026-02-04_001.log").read_text(encoding="utf-8")
        assert text.count("━" * 40 + "\n") == 8
        assert "\nIteration: 1\nBranch: main\nStarted: 2026-02-04 16:30:15\n" in text
        assert "\n\nsaid\n\n" in text
        assert text.index("Completed: 2026-02-04 16:32:47") < text.index("Iteration: 2\n")
        assert names(tmp_path / "logs") == ["2026-02-04_001.log", "summary.csv"]

    def test_it_is_the_seeds_frame(self, tmp_path: Path) -> None:
        log = run_log(tmp_path)
        log.begin(42, 42, "feature/user-auth", MORNING)
        log.write(b"[Full agent output here...]\n")
        log.end(iteration_ended(42), MORNING + timedelta(seconds=152))
        log.close()
        text = (tmp_path / "logs" / "2026-02-04_001.log").read_text(encoding="utf-8")
        known = [line for line in S_FRAME.splitlines() if not line.startswith(("Context", "Cost"))]
        assert text.splitlines() == [*known, ""]

    def test_each_run_has_the_next_number_of_its_day(self, tmp_path: Path) -> None:
        (tmp_path / "logs").mkdir()
        for name in ("2026-02-04_009.log", "2026-02-04_1.log", "2026-02-03_050.log", "x_011.log"):
            (tmp_path / "logs" / name).touch()
        log = run_log(tmp_path)
        iterate(log, 1)
        log.close()
        assert (tmp_path / "logs" / "2026-02-04_010.log").stat().st_size > 0

    def test_numbers_widen_above_999(self, tmp_path: Path) -> None:
        (tmp_path / "logs").mkdir()
        for name in ("2026-02-04_999.log", "2026-02-04_1000.log"):
            (tmp_path / "logs" / name).touch()
        log = run_log(tmp_path)
        iterate(log, 1)
        log.close()
        assert (tmp_path / "logs" / "2026-02-04_1001.log").exists()

    def test_what_no_iteration_reported_goes_nowhere(self, tmp_path: Path) -> None:
        log = run_log(tmp_path)
        log.write(b"too early")
        log.close()
        log.close()
        assert not (tmp_path / "logs").exists()


class TestOneFileAnIteration:
    def test_each_holds_its_own(self, tmp_path: Path) -> None:
        log = run_log(tmp_path, LogForm.ITERATION)
        iterate(log, 1, 2, 1000)
        log.write(b"nobody's")
        logs = tmp_path / "logs"
        assert names(logs) == [
            "iteration-001.log",
            "iteration-002.log",
            "iteration-1000.log",
            "summary.csv",
        ]
        assert "Iteration: 2\n" in (logs / "iteration-002.log").read_text(encoding="utf-8")
        assert "Iteration: 2\n" not in (logs / "iteration-001.log").read_text(encoding="utf-8")

    def test_what_is_there_is_added_to(self, tmp_path: Path) -> None:
        log = run_log(tmp_path, LogForm.ITERATION)
        iterate(log, 1)
        iterate(log, 1)
        text = (tmp_path / "logs" / "iteration-001.log").read_text(encoding="utf-8")
        assert text.count("Iteration: 1\n") == 2

    def test_a_link_is_not_written_through(self, tmp_path: Path) -> None:
        (tmp_path / "logs").mkdir()
        (tmp_path / "mine").write_text("mine\n", encoding="utf-8")
        (tmp_path / "logs" / "iteration-001.log").symlink_to(tmp_path / "mine")
        log = run_log(tmp_path, LogForm.ITERATION)
        iterate(log, 1)
        assert (tmp_path / "mine").read_text(encoding="utf-8") == "mine\n"
        assert log.problem is not None
        assert [row[0] for row in rows(log)] == ["iteration", "1"]


WARNED = EventLine(text="Warning (context-90): full\n\x1b[2Jover", weight=Weight.WARNING)
SHOWN = "▸ 16:30:15 Warning (context-90): full\n    \\x1b[2Jover\n"


def note(log: TextLog, start: int | None, *, iteration_ends: bool = False) -> None:
    happened = event(Warned, iteration=start, start=start, code="context-90", message="full")
    log.note(iteration_ended(start or 0) if iteration_ends else happened, WARNED, MORNING)


class TestReportsOfTheLoop:
    def test_they_are_in_the_frame_of_their_iteration(self, tmp_path: Path) -> None:
        log = run_log(tmp_path)
        note(log, None)
        note(log, 1)
        assert not (tmp_path / "logs").exists()
        log.begin(1, 1, "main", MORNING)
        log.write_output(STDOUT, b"no line end")
        note(log, 1)
        note(log, 2)
        log.end(iteration_ended(1), MORNING)
        log.close()
        note(log, None)
        (path,) = (tmp_path / "logs").glob("*.log")
        text = path.read_text(encoding="utf-8")
        rule = "━" * 40
        assert f"{rule}\n\n{SHOWN}{SHOWN}no line end\n{SHOWN}\n{rule}\nCompleted" in text
        assert text.endswith(f"{rule}\n\n{SHOWN}{SHOWN}")

    def test_those_between_two_iterations_are_in_the_log_of_the_first(self, tmp_path: Path) -> None:
        log = run_log(tmp_path, LogForm.ITERATION)
        iterate(log, 1)
        note(log, None)
        note(log, 2)
        iterate(log, 2)
        first, second = (
            (tmp_path / "logs" / f"iteration-00{n}.log").read_text(encoding="utf-8") for n in (1, 2)
        )
        assert (first.count(SHOWN), second.count(SHOWN)) == (1, 1)

    @pytest.mark.parametrize(
        ("form", "name"), [("run", "2026-02-04_001.log"), ("iteration", "iteration-007.log")]
    )
    def test_an_iteration_that_another_engine_began_has_its_log(
        self, tmp_path: Path, form: str, name: str
    ) -> None:
        log = run_log(tmp_path, LogForm(form))
        note(log, 7)
        note(log, 7, iteration_ends=True)
        assert (tmp_path / "logs" / name).read_text(encoding="utf-8") == SHOWN * 2

    @pytest.mark.parametrize(
        ("form", "code", "n_logs"), [("run", 0, 0), ("run", 5, 1), ("iteration", 5, 0)]
    )
    def test_a_run_without_an_iteration_has_one_only_where_it_failed(
        self, tmp_path: Path, form: str, code: int, n_logs: int
    ) -> None:
        log = run_log(tmp_path, LogForm(form))
        note(log, None)
        reason = EndReason.COMPLETE if code == 0 else EndReason.FATAL
        ended = event(RunEnded, reason=reason, exit_code=code, message="so it ended")
        log.note(ended, WARNED, MORNING)
        log.close()
        assert len(list(tmp_path.glob("logs/*.log"))) == n_logs


class TestSummary:
    def test_it_grows_by_a_row_an_iteration(self, tmp_path: Path) -> None:
        log = run_log(tmp_path)
        iterate(log, 1)
        first = log.summary_file.path.read_bytes()
        assert first == f"{HEADER}\n1,build,152,abc1234,2,5,0,2026-01-31T12:00:00Z\n".encode()
        inode = log.summary_file.path.stat().st_ino
        iterate(log, 2)
        log.close()
        assert log.summary_file.path.read_bytes().startswith(first)
        assert [row[0] for row in rows(log)] == ["iteration", "1", "2"]
        assert log.summary_file.path.stat().st_ino == inode

    @pytest.mark.parametrize("spoil", [Path.unlink, lambda path: path.write_bytes(b"x")])
    def test_what_somebody_removed_or_cut_is_written_again(
        self, tmp_path: Path, spoil: object
    ) -> None:
        assert callable(spoil)
        log = run_log(tmp_path)
        iterate(log, 1, 2)
        spoil(log.summary_file.path)
        iterate(log, 3)
        log.close()
        assert [row[0] for row in rows(log)] == ["iteration", "1", "2", "3"]

    def test_a_run_that_continues_keeps_its_rows(self, tmp_path: Path) -> None:
        log = run_log(tmp_path)
        iterate(log, 1, 2)
        log.close()
        before = log.summary_file.path.read_bytes()
        later = run_log(tmp_path)
        later.summary_file.load_rows([iteration_ended(1), iteration_ended(2)])
        assert later.summary_file.path.read_bytes() == before
        later.summary_file.path.unlink()
        later.summary_file.load_rows([iteration_ended(1), iteration_ended(2)])
        assert later.summary_file.path.read_bytes() == before
        iterate(later, 3)
        later.close()
        assert [row[0] for row in rows(later)] == ["iteration", "1", "2", "3"]

    def test_without_rows_none_is_written(self, tmp_path: Path) -> None:
        run_log(tmp_path).summary_file.load_rows([])
        assert not (tmp_path / "logs").exists()

    def test_a_whole_one_can_be_written_at_once(self, tmp_path: Path) -> None:
        write_summary(tmp_path / "a" / "logs", [iteration_ended(1), iteration_ended(2)])
        text = (tmp_path / "a" / "logs" / "summary.csv").read_text(encoding="utf-8")
        assert [line[:2] for line in text.splitlines()] == ["it", "1,", "2,"]
        (tmp_path / "file").touch()
        with pytest.raises(StateUnusable, match="cannot be created"):
            write_summary(tmp_path / "file" / "logs", [])


class TestTrouble:
    @pytest.mark.parametrize("form", LogForm)
    def test_a_folder_that_cannot_be_made_is_reported_and_ends_nothing(
        self, tmp_path: Path, form: LogForm
    ) -> None:
        (tmp_path / "logs").write_text("a file\n", encoding="utf-8")
        log = run_log(tmp_path, form)
        iterate(log, 1, 2)
        log.close()
        assert log.problem == f"{tmp_path / 'logs'}: File exists"
        assert (tmp_path / "logs").read_text(encoding="utf-8") == "a file\n"

    def test_a_full_disk_is_reported_once_and_ends_nothing(self, tmp_path: Path) -> None:
        log = run_log(tmp_path)
        iterate(log, 1)
        assert log.problem is None
        with small_files(10):
            iterate(log, 2, said=b"x" * 1000)
        log.close()
        assert log.problem == f"{tmp_path / 'logs'}: File too large"

    def test_a_summary_that_cannot_be_written_is_reported(self, tmp_path: Path) -> None:
        log = run_log(tmp_path)
        log.begin(1, 1, None, MORNING)
        with small_files(10):
            log.end(iteration_ended(1), MORNING)
        log.close()
        assert log.problem is not None

    def test_the_first_problem_is_kept(self, tmp_path: Path) -> None:
        (tmp_path / "logs").mkdir()
        (tmp_path / "logs" / "summary.csv").mkdir()
        log = run_log(tmp_path)
        iterate(log, 1)
        log.close()
        first = log.problem
        assert first is not None
        assert "summary.csv" in first
        with small_files(10):
            iterate(log, 2)
        log.close()
        assert log.problem == first


class TestEarlierLogs:
    def test_they_move_and_nothing_else_does(self, tmp_path: Path) -> None:
        for name in (
            "iteration-001.log",
            "iteration-1000.log",
            "summary.csv",
            "2026-02-04_001.log",
            "notes.txt",
            "iteration-1.log",
        ):
            (tmp_path / name).write_text(name, encoding="utf-8")
        target = move_earlier_logs(tmp_path, "20260131T120000Z-0a1b")
        assert target == tmp_path / "run-20260131T120000Z-0a1b"
        assert names(target) == ["iteration-001.log", "iteration-1000.log", "summary.csv"]
        assert names(tmp_path) == [
            "2026-02-04_001.log",
            "iteration-1.log",
            "notes.txt",
            target.name,
        ]

    def test_none_is_written_over(self, tmp_path: Path) -> None:
        for number in ("", "-2", "-3"):
            (tmp_path / "summary.csv").write_text(number, encoding="utf-8")
            target = move_earlier_logs(tmp_path, None)
            assert target == tmp_path / f"run-earlier{number}"
            assert (target / "summary.csv").read_text(encoding="utf-8") == number

    @pytest.mark.parametrize("make", [None, Path.mkdir, Path.touch])
    def test_where_there_are_none_nothing_happens(self, tmp_path: Path, make: object) -> None:
        if callable(make):
            make(tmp_path / "logs")
        assert move_earlier_logs(tmp_path / "logs", None) is None

    def test_what_cannot_be_moved_is_reported(self, tmp_path: Path) -> None:
        (tmp_path / "summary.csv").touch()
        with pytest.raises(StateUnusable, match="cannot be moved"):
            move_earlier_logs(tmp_path, "no/such/run")
        assert (tmp_path / "summary.csv").exists()
