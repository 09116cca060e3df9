"""What the user sees in a terminal: the panel, its colours, questions, and the end."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.engine.project_builder import make_repository, wait_for, write_agent
from tests.unit.cli.cli_runner import Ralph
from tests.unit.cli.shell_agents import ASKER, WORKER
from tests.unit.cli.terminal import CTRL_C, CTRL_D, Terminal, in_terminal

pytestmark = pytest.mark.slow

COLOUR = re.compile(r"\x1b\[(?:[0-9;]*;)?3[0-9]")
PANEL = ["Phase", "Task", "Plan", "Breaker", "Tests", "Time"]

SUMMARY = [
    "Ralph Loop Summary",
    "──────────────────",
    "Exit:        COMPLETE (code 0)",
    "Reason:      the agent signals completion and every required task is done",
    "Iterations:  2 / 20",
]


@contextmanager
def working(
    repository: Path, tmp_path: Path, *, columns: int = 100, **environment: str
) -> Iterator[Terminal]:
    """A run of two iterations in which the first agent has spoken and works until ``go``."""
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    wait = f"if [ -p '{gate}' ]; then echo begun; read -r go <'{gate}'; rm '{gate}'; fi"
    agent = write_agent(tmp_path / "agents", f"{wait}\n{WORKER}")
    arguments = ["run", "--agent-command", agent]
    with in_terminal(repository, *arguments, columns=columns, environment=environment) as terminal:
        terminal.wait_for("begun")
        yield terminal


def go(tmp_path: Path) -> None:
    """Let the agent do its work."""
    (tmp_path / "gate").write_text("go\n", encoding="utf-8")


def check_the_end(seen: Terminal) -> None:
    """Whatever was shown on the way, the run's words and the summary stay."""
    lines = seen.text.splitlines()
    begun = "▸ Iteration 1 of 20: First task (0/2 tasks done, mode build, "
    assert any(line.startswith(begun) for line in lines)
    assert any(line.strip() == "I did the task. 漢字" for line in lines)
    assert any(line.startswith("▸ Ended: complete: ") for line in lines)
    start = lines.index(SUMMARY[0])
    assert lines[start : start + len(SUMMARY)] == SUMMARY


def test_a_panel_shows_the_state_of_the_run_and_is_gone_at_the_end(
    repository: Path, tmp_path: Path
) -> None:
    with working(repository, tmp_path) as seen:
        seen.wait_for("\nPhase    running, iteration 1 of 20")
        seen.wait_for_match(r"^Time +[1-9]\d*s ")
        for heading in PANEL:
            assert re.search(rf"^{heading}\s{{2,}}", seen.text, re.MULTILINE), heading
        assert re.search(r"^Phase +running, iteration 1 of 20 *$", seen.text, re.MULTILINE)
        assert re.search(r"^Task +First task *$", seen.text, re.MULTILINE)
        assert re.search(r"^Plan +0/2 tasks done *$", seen.text, re.MULTILINE)
        assert re.search(r"^Breaker +◇ closed *$", seen.text, re.MULTILINE)
        assert re.search(r"^Tests +- *$", seen.text, re.MULTILINE)
        assert COLOUR.search(seen.raw)
        go(tmp_path)
        assert seen.wait() == 0
    check_the_end(seen)
    # It is drawn over and over; at the end its lines are erased and the cursor is back.
    assert "\x1b[2K" in seen.raw
    assert seen.raw.rindex("\x1b[?25h") > seen.raw.rindex("\x1b[?25l")
    assert "Phase" not in seen.text[seen.text.index("Ralph Loop Summary") :]


def test_the_panel_shows_a_breaker_that_is_half_open(repository: Path, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    body = f"echo nothing; test \"$RALPH_START\" != 3 || read -r go <'{gate}'"
    agent = write_agent(tmp_path / "agents", body)
    with in_terminal(repository, "run", "--agent-command", agent) as seen:
        seen.wait_for("◈ half-open  2 iterations without progress")
        gate.write_text("go\n", encoding="utf-8")
        assert seen.wait() == 4
    assert "\x1b[33m◈ half-open" in seen.raw


def test_a_simple_terminal_gets_plain_lines(repository: Path, tmp_path: Path) -> None:
    with working(repository, tmp_path, TERM="dumb") as seen:
        go(tmp_path)
        assert seen.wait() == 0
    check_the_end(seen)
    assert "\x1b" not in seen.raw
    assert not re.search(r"^Phase\s{2,}", seen.text, re.MULTILINE)


def test_no_color_is_respected(repository: Path, tmp_path: Path) -> None:
    with working(repository, tmp_path, NO_COLOR="1") as seen:
        seen.wait_for("◇ closed")
        go(tmp_path)
        assert seen.wait() == 0
    check_the_end(seen)
    assert not COLOUR.search(seen.raw)


def test_a_narrow_terminal_is_no_trouble(tmp_path: Path) -> None:
    title = "A task with a title that is far too long for a terminal of thirty columns 漢字漢字漢字"
    repository = make_repository(tmp_path / "tree", [title])
    with working(repository, tmp_path, columns=30) as seen:
        seen.wait_for("◇ closed")
        go(tmp_path)
        assert seen.wait() == 0
    assert "Ralph Loop Summary" in seen.text


def test_escape_sequences_of_an_agent_colour_its_words_and_do_no_more(
    repository: Path, tmp_path: Path
) -> None:
    words = r"printf '\033[31mred\033[0m \033]0;title\007\033[2J\033[5;5Hmoved\n'"
    agent = write_agent(tmp_path / "agents", words)
    with in_terminal(repository, "run", "1", "--agent-command", agent) as seen:
        assert seen.wait() == 1
    assert re.search(r"\x1b\[(?:2;)?31mred", seen.raw)
    for sequence in ("\x1b]0;title", "\x1b[2J", "\x1b[5;5H"):
        assert sequence not in seen.raw


def test_ctrl_c_ends_the_run_and_says_how_to_continue(repository: Path, tmp_path: Path) -> None:
    agent = write_agent(tmp_path / "agents", "echo begun; sleep 600")
    with in_terminal(repository, "run", "--agent-command", agent) as seen:
        wait_for(repository, "agentStarted")
        seen.wait_for("begun")
        seen.type(CTRL_C)
        seen.wait_for("▸ Stopping after this iteration; press Ctrl-C again to stop now")
        seen.type(CTRL_C)
        assert seen.wait() == 130
    assert "Traceback" not in seen.text
    lines = seen.text.splitlines()
    assert "▸ Ended: stopped: stopped by Ctrl-C" in lines
    assert "Exit:        STOPPED (code 130)" in lines
    assert lines[-1] == "Next:        ralph run --resume"


def test_watching_ends_by_ctrl_c_and_the_run_continues(repository: Path, tmp_path: Path) -> None:
    agent = write_agent(tmp_path / "agents", "echo begun; sleep 600")
    with in_terminal(repository, "run", "--agent-command", agent) as run:
        wait_for(repository, "agentStarted")
        with in_terminal(repository, "watch", "--plain") as seen:
            seen.wait_for("begun")
            seen.type(CTRL_C)
            assert seen.wait() == 130
        assert "Traceback" not in seen.text
        assert run.process.poll() is None
        run.type(CTRL_C)
        run.wait_for("press Ctrl-C again to stop now")
        run.type(CTRL_C)
        assert run.wait() == 130


class TestQuestions:
    @pytest.fixture
    def bringing(self, repository: Path) -> Path:
        """A repository that brings a script."""
        (repository / ".ralph").mkdir()
        (repository / ".ralph/validate.sh").write_text("exit 0 # \x1b[8m\n", encoding="utf-8")
        return repository

    @pytest.mark.parametrize(("keys", "code"), [("y\n", 0), ("n\n", 1), ("\n", 1), (CTRL_D, 130)])
    def test_allowing_shows_asks_and_follows_the_answer(
        self, ralph: Ralph, bringing: Path, keys: str, code: int
    ) -> None:
        with in_terminal(bringing, "allow") as seen:
            seen.wait_for("Approve all of this? [y/N]:")
            seen.type(keys)
            assert seen.wait() == code
        assert "── .ralph/validate.sh (not approved yet)" in seen.text
        assert "   exit 0 # \\x1b[8m" in seen.text
        assert ralph(bringing, "allow", "--json").json["allowed"] == (code == 0)

    def test_an_answer_offers_to_continue_and_does(self, repository: Path, tmp_path: Path) -> None:
        known = tmp_path / "known"
        worker = write_agent(
            tmp_path / "agents",
            f"if grep -qs Postgres .ralph/decide.txt; then touch '{known}'; fi\n"
            f"if [ -f '{known}' ]; then {WORKER}\nelse {ASKER}; fi",
        )
        with in_terminal(repository, "run", "--agent-command", worker) as run:
            assert run.wait() == 3
        with in_terminal(repository, "answer", "Postgres") as seen:
            seen.wait_for("The answer is in .ralph/decide.txt. Continue the run? [Y/n]:")
            seen.type("\n")
            assert seen.wait() == 0
        assert "is running in the background (pid " in seen.text
        wait_for(repository, "runEnded", exit_code=0)
