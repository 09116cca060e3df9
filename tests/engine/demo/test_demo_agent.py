from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from ralph_ls.core.agent.output_parser import parse_text
from ralph_ls.engine.demo.project import lay_out, required_tasks_done, suite_passes
from ralph_ls.engine.demo.script import REPAIRS
from ralph_ls.protocol.run.report import PromiseKind
from tests.engine.demo.sample_project import (
    AGENT,
    agent_environment,
    everything_in,
    git,
    open_titles,
    report_of,
    run_agent,
    start_agent,
    subjects,
)

SCRIPTED = "This report comes from the scripted demo agent; no model was asked."


def run_as_a_loop_would(folder: Path, iterations: range, **extra: str) -> list[str]:
    outputs = []
    for iteration in iterations:
        titles = open_titles(folder)
        prompt = f"You are one iteration.\n\nTask: {titles[0]}\n\nDo it.\n" if titles else ""
        finished = run_agent(folder, prompt, RALPH_ITERATION=str(iteration), **extra)
        assert (finished.returncode, finished.stderr) == (0, "")
        outputs.append(finished.stdout)
    return outputs


@dataclass(frozen=True, kw_only=True)
class WholeRun:
    folder: Path
    outputs: list[str]
    before_the_last: dict[str, bytes | str]

    @property
    def reports(self) -> list[dict[str, str]]:
        return [report_of(output) for output in self.outputs]


@pytest.fixture(scope="module")
def whole_run(tmp_path_factory: pytest.TempPathFactory) -> WholeRun:
    """Eight iterations in one run: the last one finds nothing open."""
    scratch = tmp_path_factory.mktemp("scratch")
    folder = lay_out(tmp_path_factory.mktemp("whole") / "sample")
    outputs = run_as_a_loop_would(folder, range(1, 8), RALPH_SCRATCH=str(scratch))
    before_the_last = everything_in(folder)
    outputs += run_as_a_loop_would(folder, range(8, 9), RALPH_SCRATCH=str(scratch))
    return WholeRun(folder=folder, outputs=outputs, before_the_last=before_the_last)


@pytest.mark.slow
def test_a_whole_run_repairs_everything_and_looks_twice_on_the_way(whole_run: WholeRun) -> None:
    reports = whole_run.reports[:7]
    assert [report["TASKS_COMPLETED_THIS_LOOP"] for report in reports] == list("1100111")
    assert [report["FILES_MODIFIED"] for report in reports] == list("2200233")
    assert [report["TESTS_STATUS"] for report in reports] == ["FAILING"] * 4 + ["PASSING"] * 3
    assert [report["EXIT_SIGNAL"] for report in reports] == ["false"] * 6 + ["true"]
    assert [report["STATUS"] for report in reports] == ["IN_PROGRESS"] * 6 + ["COMPLETE"]
    assert {report["WORK_TYPE"] for report in reports} == {"IMPLEMENTATION"}
    assert all(report["RECOMMENDATION"] for report in reports)
    assert suite_passes(whole_run.folder)
    assert required_tasks_done(whole_run.folder)


def test_every_report_says_that_it_is_scripted(whole_run: WholeRun) -> None:
    for output in whole_run.outputs:
        assert f"{SCRIPTED}\n---RALPH_STATUS---" in output


def test_every_commit_holds_exactly_its_repair_and_the_plan(whole_run: WholeRun) -> None:
    folder = whole_run.folder
    assert subjects(folder)[1:] == [f"demo: {repair.subject}" for repair in REPAIRS]
    hashes = git(folder, "rev-list", "--reverse", "HEAD").split()[1:]
    for repair, commit_hash in zip(REPAIRS, hashes, strict=True):
        shown = git(folder, "show", "--format=", "--name-only", commit_hash).split()
        assert sorted(shown) == sorted((*repair.files, "@fix_plan.md"))
    assert git(folder, "status", "--porcelain", "--ignored") == ""


def test_the_loop_reads_the_reports_as_they_are_meant(whole_run: WholeRun) -> None:
    readings = [parse_text(output) for output in whole_run.outputs]
    for reading in readings:
        assert reading.errors == ()
        assert reading.promises == ()
        assert reading.clarification == ()
        assert reading.report is not None
        assert reading.report.problems == ()
    assert [reading.completion for reading in readings[:6]] == [()] * 6
    assert all(len(reading.completion) >= 2 for reading in readings[6:])


def test_with_nothing_open_it_changes_nothing_and_signals_the_exit(whole_run: WholeRun) -> None:
    report = whole_run.reports[7]
    assert (report["EXIT_SIGNAL"], report["STATUS"]) == ("true", "COMPLETE")
    assert (report["FILES_MODIFIED"], report["TASKS_COMPLETED_THIS_LOOP"]) == ("0", "0")
    assert everything_in(whole_run.folder) == whole_run.before_the_last


@pytest.mark.slow
def test_signing_and_hooks_of_the_user_do_not_matter_to_a_run(
    sample: Path, hostile_home: Path
) -> None:
    outputs = run_as_a_loop_would(sample, range(1, 8))
    reports = [report_of(output) for output in outputs]
    # Without a folder to count in, the third and the fourth iteration only look.
    assert [report["TASKS_COMPLETED_THIS_LOOP"] for report in reports] == list("1100111")
    assert suite_passes(sample)
    assert git(sample, "status", "--porcelain", "--ignored") == ""
    assert not hostile_home.exists()


@pytest.mark.slow
def test_a_looking_iteration_changes_no_file_and_the_third_look_acts(
    sample: Path, tmp_path: Path
) -> None:
    before = everything_in(sample)
    prompt = f"Task: {REPAIRS[2].title}\n"
    extra = {"RALPH_ITERATION": "9", "RALPH_SCRATCH": str(tmp_path / "scratch")}
    (tmp_path / "scratch").mkdir()
    for _ in range(2):
        report = report_of(run_agent(sample, prompt, **extra).stdout)
        assert report["TESTS_STATUS"] == "FAILING"
        assert report["FILES_MODIFIED"] == "0"
        assert everything_in(sample) == before
    report = report_of(run_agent(sample, prompt, **extra).stdout)
    assert report["TASKS_COMPLETED_THIS_LOOP"] == "1"
    assert subjects(sample)[1:] == ["demo: round half a cent up"]


@pytest.mark.parametrize(
    ("iteration", "looks"),
    [("3", True), ("4", True), ("5", False), ("1", False), ("x", False), ("", False)],
)
def test_where_looks_cannot_be_counted_the_iteration_decides(
    sample: Path, tmp_path: Path, iteration: str, looks: bool
) -> None:
    extra = {"RALPH_ITERATION": iteration, "RALPH_SCRATCH": str(tmp_path / "nowhere")}
    finished = run_agent(sample, f"Task: {REPAIRS[2].title}\n", **extra)
    assert report_of(finished.stdout)["FILES_MODIFIED"] == ("0" if looks else "2")
    assert ("I cannot count" in finished.stdout) == iteration.isdecimal()


def test_the_task_of_the_prompt_is_done_not_the_first_one(sample: Path) -> None:
    finished = run_agent(sample, f"Some words.\nTask: {REPAIRS[3].title}\nMore words.\n")
    assert report_of(finished.stdout)["TASKS_COMPLETED_THIS_LOOP"] == "1"
    assert subjects(sample)[1:] == ["demo: write thousands with a comma"]
    assert REPAIRS[3].title not in open_titles(sample)


@pytest.mark.parametrize(
    "prompt",
    ["", "Do something.\n", "Task: <title>\n", "Task: Setup: package, spec and first tests\n"],
    ids=["empty", "no task", "template", "a task already ticked"],
)
def test_without_an_open_task_in_the_prompt_the_first_open_one_is_done(
    sample: Path, prompt: str
) -> None:
    run_agent(sample, prompt)
    assert subjects(sample)[1:] == ["demo: multiply each price by its quantity"]


def test_boxes_ticked_by_hand_over_failing_tests_are_not_believed(sample: Path) -> None:
    plan = sample / "@fix_plan.md"
    plan.write_text(plan.read_text(encoding="utf-8").replace("- [ ]", "- [x]"), encoding="utf-8")
    before = everything_in(sample)
    finished = run_agent(sample)
    report = report_of(finished.stdout)
    assert (report["STATUS"], report["EXIT_SIGNAL"]) == ("BLOCKED", "false")
    assert report["TESTS_STATUS"] == "FAILING"
    assert "the tests do not pass" in report["RECOMMENDATION"]
    assert everything_in(sample) == before


# ---- where it does not know its way


def foreign_repository(folder: Path) -> None:
    folder.mkdir()
    git(folder, "init", "--quiet")
    (folder / "invoice").mkdir()
    (folder / "invoice" / "lines.py").write_text("def cost():\n    return line.price\n", "utf-8")
    (folder / "@fix_plan.md").write_text("# Fix Plan\n- [ ] Rounding: round half a cent up\n")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "first")


def sample_with_other_code(folder: Path) -> None:
    lay_out(folder)
    for name in ("lines", "money", "total"):
        (folder / "invoice" / f"{name}.py").write_text("PRICE = 1\n", encoding="utf-8")


def sample_without_git(folder: Path) -> None:
    lay_out(folder)
    (folder / ".git").rename(folder.parent / "git moved away")


def sample_behind_links(folder: Path) -> None:
    real = lay_out(folder.parent / "real")
    folder.mkdir()
    git(folder, "init", "--quiet")
    for name in ("invoice", "tests", "@fix_plan.md"):
        (folder / name).symlink_to(real / name)


def sample_behind_pipes(folder: Path) -> None:
    lay_out(folder)
    for name in ("lines", "money", "total"):
        (folder / "invoice" / f"{name}.py").unlink()
        os.mkfifo(folder / "invoice" / f"{name}.py")


@pytest.mark.parametrize(
    "make",
    [
        foreign_repository,
        sample_with_other_code,
        sample_without_git,
        sample_behind_links,
        sample_behind_pipes,
    ],
    ids=lambda make: make.__name__,
)
def test_any_other_repository_is_left_byte_for_byte_and_reported_blocked(
    tmp_path: Path, make: object
) -> None:
    assert callable(make)
    folder = tmp_path / "other"
    make(folder)
    before = everything_in(tmp_path)
    finished = run_agent(folder, "Task: Rounding: round half a cent up\n", RALPH_ITERATION="1")
    assert (finished.returncode, finished.stderr) == (0, "")
    assert everything_in(tmp_path) == before

    report = report_of(finished.stdout)
    assert (report["STATUS"], report["EXIT_SIGNAL"]) == ("BLOCKED", "false")
    assert report["TESTS_STATUS"] == "NOT_RUN"
    assert "only knows the sample project" in report["RECOMMENDATION"]
    assert "ralph run --agent" in report["RECOMMENDATION"]
    assert SCRIPTED in finished.stdout
    (promise,) = parse_text(finished.stdout).promises
    assert promise.kind is PromiseKind.BLOCKED
    assert "only knows the sample project" in promise.text


def test_a_task_that_the_user_added_is_reported_blocked_in_any_locale(sample: Path) -> None:
    plan = sample / "@fix_plan.md"
    text = plan.read_text(encoding="utf-8")
    plan.write_text(
        text.replace("(P0)\n", "(P0)\n- [ ] Währung: <€> und 円 zeigen\n"), encoding="utf-8"
    )
    before = everything_in(sample)
    finished = start_agent(
        sample,
        "Task: Währung: <€> und 円 zeigen\n",
        LC_ALL="C",
        PYTHONCOERCECLOCALE="0",
        PYTHONUTF8="0",
        PYTHONIOENCODING="ascii",
    )
    assert finished.stderr == ""
    report = report_of(finished.stdout)
    assert report["STATUS"] == "BLOCKED"
    assert "'Währung: <€> und 円 zeigen' is not one of the five" in report["RECOMMENDATION"]
    assert "<promise>BLOCKED:'Währung: € und 円 zeigen' is not" in finished.stdout
    assert everything_in(sample) == before


def test_a_place_that_somebody_rewrote_is_reported_blocked_and_left(sample: Path) -> None:
    lines = sample / "invoice" / "lines.py"
    text = lines.read_text(encoding="utf-8")
    lines.write_text(text.replace("return line.price\n", "return 1 * line.price\n"), "utf-8")
    before = everything_in(sample)
    report = report_of(run_agent(sample, f"Task: {REPAIRS[0].title}\n").stdout)
    assert report["STATUS"] == "BLOCKED"
    assert "invoice/lines.py" in report["RECOMMENDATION"]
    assert everything_in(sample) == before


def test_a_repair_whose_tests_still_fail_is_not_ticked(sample: Path) -> None:
    (sample / "tests" / "test_lines.py").write_text("import nothing_like_it\n", encoding="utf-8")
    report = report_of(run_agent(sample, f"Task: {REPAIRS[0].title}\n").stdout)
    assert (report["STATUS"], report["FILES_MODIFIED"]) == ("BLOCKED", "1")
    assert "tests.test_lines" in report["RECOMMENDATION"]
    assert open_titles(sample)[0] == REPAIRS[0].title
    assert len(subjects(sample)) == 1


def test_a_git_that_refuses_is_reported_with_its_words(sample: Path) -> None:
    (sample / ".git" / "MERGE_HEAD").write_text(git(sample, "rev-parse", "HEAD"), "utf-8")
    report = report_of(run_agent(sample, f"Task: {REPAIRS[0].title}\n").stdout)
    assert report["STATUS"] == "BLOCKED"
    assert "during a merge" in report["RECOMMENDATION"]


# ---- beside others


def test_what_the_user_has_staged_stays_staged(sample: Path) -> None:
    (sample / "mine.txt").write_text("mine\n", encoding="utf-8")
    git(sample, "add", "mine.txt")
    run_agent(sample, f"Task: {REPAIRS[0].title}\n")
    assert git(sample, "status", "--porcelain") == "A  mine.txt\n"


def test_it_ends_quietly_when_nobody_reads_any_more(sample: Path) -> None:
    reading_end, writing_end = os.pipe()
    os.close(reading_end)
    with os.fdopen(writing_end, "wb") as stdout:
        finished = subprocess.run(
            AGENT,
            cwd=sample,
            env=agent_environment(),
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert (finished.returncode, finished.stderr) == (1, b"")


def test_output_that_cannot_be_written_is_reported_in_one_line(sample: Path) -> None:
    with Path("/dev/full").open("wb") as stdout:
        finished = subprocess.run(
            AGENT,
            cwd=sample,
            env=agent_environment(),
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            check=False,
        )
    assert finished.returncode == 1
    assert finished.stderr.startswith("The demo agent cannot continue: ")
    assert finished.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("number", "exit_code"),
    [(signal.SIGTERM, -signal.SIGTERM), (signal.SIGINT, 130)],
    ids=["TERM", "INT"],
)
def test_a_signal_ends_it_at_once_without_a_word(
    sample: Path, number: signal.Signals, exit_code: int
) -> None:
    with subprocess.Popen(
        AGENT,
        cwd=sample,
        env=agent_environment(RALPH_DEMO_PACE="60"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    ) as agent:
        assert agent.stdout is not None
        assert agent.stdout.readline().startswith("Task: ")
        agent.send_signal(number)
        _, stderr = agent.communicate()
    assert (agent.returncode, stderr) == (exit_code, "")


@pytest.mark.parametrize("pace", ["nan", "inf", "soon", "-1"])
def test_a_pace_that_is_no_number_of_seconds_does_no_harm(tmp_path: Path, pace: str) -> None:
    assert report_of(run_agent(tmp_path, RALPH_DEMO_PACE=pace).stdout)["STATUS"] == "BLOCKED"


def test_it_starts_without_the_loop_s_heavy_parts() -> None:
    program = (
        "import sys, ralph_ls.engine.demo.agent;"
        "heavy = {'pydantic', 'git', 'psutil', 'typer', 'rich', 'asyncio'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    finished = subprocess.run(
        [sys.executable, "-P", "-c", program],
        env=agent_environment(),
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert finished.stdout == "[]\n"


class TestAQuestion:
    """In an editor the agent asks once, and does as it was answered."""

    @pytest.mark.parametrize(
        ("answer", "label"),
        [("(a) To pay", "To pay"), ("(b) Amount due", "Amount due"), ("b", "Amount due")],
    )
    def test_it_asks_once_before_the_letter_and_follows_the_answer(
        self, tmp_path: Path, answer: str, label: str
    ) -> None:
        folder = lay_out(tmp_path / "sample", asks=True)
        scratch = str(tmp_path / "scratch")
        Path(scratch).mkdir()
        run_as_a_loop_would(folder, range(1, 7), RALPH_SCRATCH=scratch)
        assert open_titles(folder) == ["Letter: end with the amount to pay"]
        (asked,) = run_as_a_loop_would(folder, range(7, 8), RALPH_SCRATCH=scratch)
        (promise,) = parse_text(asked).promises
        assert promise.kind is PromiseKind.DECIDE
        assert "(b) Amount due" in promise.text
        assert open_titles(folder), "nothing is done before the answer"
        prompt = f"Task: {open_titles(folder)[0]}\n\nIt was answered by you:\n\n> {answer}\n"
        finished = run_agent(folder, prompt, RALPH_ITERATION="8", RALPH_SCRATCH=scratch)
        assert f"You answered: {answer}" in finished.stdout
        assert f"'{label}':<24" in (folder / "invoice" / "letter.py").read_text(encoding="utf-8")
        assert suite_passes(folder)
        assert required_tasks_done(folder)

    def test_without_a_scratch_folder_it_decides_by_itself(self, tmp_path: Path) -> None:
        folder = lay_out(tmp_path / "sample", asks=True)
        outputs = run_as_a_loop_would(folder, range(1, 9))
        assert not any(parse_text(output).promises for output in outputs[:-1])
        assert required_tasks_done(folder)
