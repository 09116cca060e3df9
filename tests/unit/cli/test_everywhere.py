"""``ralph ps`` and ``ralph inbox``: what runs and what waits, in all repositories of the user."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ralph_ls.protocol.json_output import OpenItems, OpenKind, RunsEverywhere
from tests.engine.project_builder import make_repository, write_agent
from tests.unit.cli.cli_runner import Ralph
from tests.unit.cli.shell_agents import BLOCKED, WORKER

QUESTION = "Which one? (a) red (b) blue"
ASKER = f"echo '<promise>DECIDE:{QUESTION}</promise>'"


@pytest.fixture
def asking(ralph: Ralph, tmp_path: Path) -> Path:
    """A repository whose run has ended with a question."""
    return run_in(ralph, tmp_path / "asking", ASKER)


@pytest.fixture
def blocked(ralph: Ralph, tmp_path: Path, asking: Path) -> Path:
    """A later one that has ended with a blocker."""
    return run_in(ralph, tmp_path / "blocked", BLOCKED)


def run_in(ralph: Ralph, folder: Path, body: str) -> Path:
    make_repository(folder, ["A task"])
    agent = write_agent(folder.with_name(f"{folder.name} agents"), body)
    ralph(folder, "run", "1", "--agent-command", agent, "--on-halt", "exit")
    return folder


def test_without_runs_nothing_is_listed(ralph: Ralph, tmp_path: Path) -> None:
    assert ralph(tmp_path, "ps").out.startswith("No run is live, and none waits for you.")
    assert ralph(tmp_path, "inbox").out == "Nothing waits for you. See your runs: ralph ps\n"
    assert ralph(tmp_path, "ps", "--json").json == {"runs": []}
    assert ralph(tmp_path, "inbox", "--json").json == {"items": []}


class TestPs:
    def test_waiting_runs_are_listed_newest_first_and_complete_ones_are_not(
        self, ralph: Ralph, tmp_path: Path, asking: Path, blocked: Path
    ) -> None:
        run_in(ralph, tmp_path / "done", WORKER)
        found = RunsEverywhere.model_validate(ralph(tmp_path, "ps", "--json").json).runs
        assert [(Path(one.workspace), one.live) for one in found] == [
            (blocked, False),
            (asking, False),
        ]
        assert found[0].needs == "no key for the mail service"
        shown = ralph(tmp_path, "ps").out
        row = next(line for line in shown.splitlines() if "Which one?" in line)
        assert row.split()[1:] == [*("ended", "1/1", "-", "0/1", "-"), *QUESTION.split()]
        assert f"\n{asking}: ralph answer" in shown

    def test_a_repository_that_is_gone_or_a_copy_is_not_listed(
        self, ralph: Ralph, tmp_path: Path, asking: Path, blocked: Path
    ) -> None:
        shutil.copytree(asking, tmp_path / "copy")
        shutil.rmtree(blocked)
        found = RunsEverywhere.model_validate(ralph(tmp_path, "ps", "--json").json).runs
        assert [Path(one.workspace) for one in found] == [asking]


class TestInbox:
    def test_everything_that_waits_is_listed_with_what_to_type(
        self, ralph: Ralph, tmp_path: Path, asking: Path, blocked: Path
    ) -> None:
        (asking / ".ralph/validate.sh").write_text("true\n", encoding="utf-8")
        (asking / ".ralph/validate.sh").chmod(0o755)
        found = OpenItems.model_validate(ralph(tmp_path, "inbox", "--json").json).items
        assert [(one.number, one.kind, Path(one.workspace)) for one in found] == [
            (1, OpenKind.BLOCKER, blocked),
            (2, OpenKind.QUESTION, asking),
            (3, OpenKind.APPROVAL, asking),
        ]
        assert found[1].options == ("red", "blue")
        shown = ralph(tmp_path, "inbox").out
        assert f"   → cd {blocked} && ralph resume\n" in shown
        assert "     2  blue\n   → ralph inbox answer 2 TEXT\n" in shown
        assert "   .ralph/validate.sh\n" in shown

    def test_an_answer_reaches_its_run_by_number_of_an_option(
        self, ralph: Ralph, tmp_path: Path, asking: Path
    ) -> None:
        done = ralph(tmp_path, "inbox", "answer", "1", "2")
        assert done.out == (
            f"the answer is in .ralph/decide.txt\nContinue: cd {asking} && ralph run --resume\n"
        )
        assert (asking / ".ralph/decide.txt").read_text(encoding="utf-8").endswith("\nblue\n")
        assert ralph(tmp_path, "inbox").out.startswith("Nothing waits for you")

    def test_a_number_means_what_was_listed_whatever_came_since(
        self, ralph: Ralph, tmp_path: Path, asking: Path
    ) -> None:
        ralph(tmp_path, "inbox")
        later = run_in(ralph, tmp_path / "later", ASKER)
        assert ralph(tmp_path, "inbox", "answer", "1", "Neither of them").code == 0
        assert "Neither" in (asking / ".ralph/decide.txt").read_text(encoding="utf-8")
        assert "Neither" not in (later / ".ralph/decide.txt").read_text(encoding="utf-8")
        again = ralph(tmp_path, "inbox", "answer", "1", "Green")
        assert (again.code, "1 is no longer waiting for you" in again.err) == (64, True)

    def test_what_cannot_be_answered_is_refused(
        self, ralph: Ralph, tmp_path: Path, blocked: Path
    ) -> None:
        ralph(tmp_path, "inbox")
        for arguments, why in (
            (("answer", "1", "x"), f"1 is not a question (blocker); type: cd {blocked} && "),
            (("answer", "9", "x"), "there is no number 9 in the list; see it: ralph inbox"),
            (("answer",), "write the number of the question and the answer"),
            (("answre", "1"), "unknown action 'answre'; did you mean answer?"),
            (("list", "1"), "to answer question 1: ralph inbox answer 1 TEXT"),
        ):
            refused = ralph(tmp_path, "inbox", *arguments)
            assert (refused.code, why in refused.err) == (64, True), refused.err
