"""What a person sees in a terminal: the panel, its colours, questions, and the end."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.engine.loop import make_repository, wait_for, write_agent
from tests.unit.cli.agents import ASKER, WORKER
from tests.unit.cli.terminal import CTRL_C, Terminal, in_terminal

pytestmark = pytest.mark.slow

COLOUR = re.compile(r"\x1b\[(?:[0-9;]*;)?3[0-9]")
PANEL = ["Phase", "Task", "Plan", "Breaker", "Tests", "Time"]

SUMMARY = [
    "Ralph Loop Summary",
    "──────────────────",
    "Exit:        COMPLETE (code 0)",
    "Iterations:  2 / 20",
]


def check_the_end(seen: Terminal) -> None:
    """Whatever was shown on the way, the run's words and the summary stay."""
    lines = seen.text.splitlines()
    assert "▸ Iteration 1 of 20: First task (0/2 tasks done)" in lines
    assert any(line.strip() == "I did the task. 漢字" for line in lines)
    assert any(line.startswith("▸ Ended: complete: ") for line in lines)
    start = lines.index(SUMMARY[0])
    assert lines[start : start + 4] == SUMMARY


def test_a_panel_tells_how_the_run_stands_and_is_gone_at_the_end(
    repository: Path, tmp_path: Path
) -> None:
    agent = write_agent(tmp_path / "agents", WORKER)
    with in_terminal(repository, "run", "--agent-command", agent) as seen:
        assert seen.wait() == 0
    check_the_end(seen)
    for heading in PANEL:
        assert re.search(rf"^{heading}\s{{2,}}", seen.text, re.MULTILINE), heading
    assert "◇ closed" in seen.text
    assert "✓ passing" in seen.text
    assert "First task" in seen.text
    assert COLOUR.search(seen.raw)
    # It is drawn over and over; at the end its lines are erased and the cursor is back.
    assert "\x1b[2K" in seen.raw
    assert seen.raw.rindex("\x1b[?25h") > seen.raw.rindex("\x1b[?25l")
    assert "Phase" not in seen.text[seen.text.index("Ralph Loop Summary") :]


def test_the_panel_shows_a_breaker_that_opens(repository: Path, tmp_path: Path) -> None:
    agent = write_agent(tmp_path / "agents", "echo nothing")
    with in_terminal(repository, "run", "--agent-command", agent) as seen:
        assert seen.wait() == 4
    assert "◈ half open" in seen.text
    assert "○ not run" not in seen.text
    assert "\x1b[33m" in seen.raw


@pytest.mark.parametrize("environment", [{"TERM": "dumb"}], ids=["dumb"])
def test_a_simple_terminal_gets_plain_lines(
    repository: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    agent = write_agent(tmp_path / "agents", WORKER)
    with in_terminal(repository, "run", "--agent-command", agent, **environment) as seen:
        assert seen.wait() == 0
    check_the_end(seen)
    assert "\x1b" not in seen.raw
    assert not re.search(r"^Phase\s{2,}", seen.text, re.MULTILINE)


def test_no_color_is_respected(repository: Path, tmp_path: Path) -> None:
    agent = write_agent(tmp_path / "agents", WORKER)
    with in_terminal(repository, "run", "--agent-command", agent, NO_COLOR="1") as seen:
        assert seen.wait() == 0
    check_the_end(seen)
    assert not COLOUR.search(seen.raw)
    assert "◇ closed" in seen.text


def test_a_narrow_terminal_is_no_trouble(tmp_path: Path) -> None:
    title = "A task with a title that is far too long for a terminal of thirty columns 漢字漢字漢字"
    repository = make_repository(tmp_path / "tree", [title])
    agent = write_agent(tmp_path / "agents", WORKER)
    with in_terminal(repository, "run", "--agent-command", agent, columns=30) as seen:
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


def test_ctrl_c_ends_the_run_and_says_how_to_go_on(repository: Path, tmp_path: Path) -> None:
    agent = write_agent(tmp_path / "agents", "echo begun; sleep 60")
    with in_terminal(repository, "run", "--agent-command", agent) as seen:
        wait_for(repository, "agentStarted")
        seen.wait_for("begun")
        seen.type(CTRL_C)
        assert seen.wait() == 130
    assert "Traceback" not in seen.text
    lines = seen.text.splitlines()
    assert "▸ Ended: stopped: stopped by Ctrl-C" in lines
    assert "Exit:        STOPPED (code 130)" in lines
    assert lines[-1] == "Next:        ralph run --resume"


def test_watching_ends_by_ctrl_c_and_the_run_goes_on(repository: Path, tmp_path: Path) -> None:
    agent = write_agent(tmp_path / "agents", "echo begun; sleep 60")
    with in_terminal(repository, "run", "--agent-command", agent) as run:
        wait_for(repository, "agentStarted")
        with in_terminal(repository, "watch") as seen:
            seen.wait_for("begun")
            seen.type(CTRL_C)
            assert seen.wait() == 130
        assert "Traceback" not in seen.text
        assert run.process.poll() is None
        run.type(CTRL_C)
        assert run.wait() == 130


class TestQuestions:
    @pytest.fixture
    def bringing(self, repository: Path) -> Path:
        """A repository that brings a script."""
        (repository / ".ralph").mkdir()
        (repository / ".ralph/validate.sh").write_text("exit 0 # \x1b[8m\n", encoding="utf-8")
        return repository

    @pytest.mark.parametrize(("keys", "code"), [("y\n", 0), ("n\n", 1), ("\n", 1), (CTRL_C, 130)])
    def test_allowing_shows_asks_and_does_as_told(
        self, bringing: Path, keys: str, code: int
    ) -> None:
        with in_terminal(bringing, "allow") as seen:
            seen.wait_for("Allow all of this to run? [y/N]:")
            seen.type(keys)
            assert seen.wait() == code
        assert "── .ralph/validate.sh (not allowed yet)" in seen.text
        assert "   exit 0 # \\x1b[8m" in seen.text
        with in_terminal(bringing, "allow") as again:
            if code != 0:
                again.wait_for("[y/N]:")
                again.type(CTRL_C)
            assert again.wait() == (130 if code else 0)
        assert (".ralph/validate.sh (allowed)" in again.text) == (code == 0)

    def test_an_answer_offers_to_go_on_and_does(self, repository: Path, tmp_path: Path) -> None:
        worker = write_agent(
            tmp_path / "agents",
            f"if grep -q Postgres .ralph/decide.txt; then {WORKER}\nelse {ASKER}; fi",
        )
        with in_terminal(repository, "run", "--agent-command", worker) as run:
            assert run.wait() == 3
        with in_terminal(repository, "answer", "Postgres") as seen:
            seen.wait_for("The answer is in .ralph/decide.txt. Continue the run? [Y/n]:")
            seen.type("\n")
            assert seen.wait() == 0
        assert "goes on in the background (pid " in seen.text
        wait_for(repository, "runEnded", exit_code=0)
