"""Verbs that ask on a terminal for what was not given: the answer, the task."""

from __future__ import annotations

from pathlib import Path

import pytest

from ralph_ls.protocol.config.config import PathsConfig
from ralph_ls.store.run.halt_files import load_halt_files
from tests.engine.project_builder import write_agent
from tests.unit.cli.cli_runner import Ralph
from tests.unit.cli.shell_agents import IDLER
from tests.unit.cli.terminal import CTRL_D, in_terminal

pytestmark = pytest.mark.slow

ASKER = "printf '<promise>DECIDE:Which colour? (1) blue (2) grey, as white is gone</promise>\\n'"


@pytest.fixture
def asked(ralph: Ralph, repository: Path) -> Path:
    """A repository whose run waits for an answer."""
    agent = write_agent(repository.parent / "agents", ASKER)
    assert ralph(repository, "run", "3", "--agent-command", agent).code == 3
    return repository


def answer_in(repository: Path) -> str | None:
    return load_halt_files(repository, PathsConfig()).answer


class TestAnswer:
    def test_the_question_is_shown_and_an_option_is_chosen_by_its_number(self, asked: Path) -> None:
        with in_terminal(asked, "answer", "--no-continue") as seen:
            seen.wait_for("Your answer, or a number")
            assert "Which colour?" in seen.text
            assert "  2  grey, as white is gone" in seen.text
            seen.type("2\n")
            assert seen.wait() == 0
        assert answer_in(asked) == "grey, as white is gone"

    def test_any_words_are_an_answer_too(self, asked: Path) -> None:
        with in_terminal(asked, "answer", "--no-continue") as seen:
            seen.wait_for("Your answer")
            seen.type("3 shades of green\n")
            assert seen.wait() == 0
        assert answer_in(asked) == "3 shades of green"

    def test_leaving_answers_nothing(self, asked: Path) -> None:
        with in_terminal(asked, "answer") as seen:
            seen.wait_for("Your answer")
            seen.type(CTRL_D)
            assert seen.wait() == 130
            assert "Traceback" not in seen.text
        assert answer_in(asked) is None

    def test_ralph_alone_shows_it_with_its_options(self, asked: Path) -> None:
        with in_terminal(asked, columns=60) as seen:
            assert seen.wait() == 0
            text = seen.text
        assert "Which colour?" in text
        assert "1  blue" in text
        assert "Next:        ralph answer\n" in text


class TestTasks:
    @pytest.fixture
    def ran(self, ralph: Ralph, repository: Path) -> Path:
        agent = write_agent(repository.parent / "agents", IDLER)
        assert ralph(repository, "run", "1", "--agent-command", agent).code == 1
        return repository

    def test_reset_task_asks_for_one_of_the_tasks(self, ran: Path) -> None:
        with in_terminal(ran, "reset-task") as seen:
            seen.wait_for("Number or id of the task")
            assert "  1  First task" in seen.text
            seen.type("2\n")
            assert seen.wait() == 0
            assert "Second task" in seen.text

    def test_skip_asks_too_and_names_a_number_that_is_none(self, ran: Path) -> None:
        with in_terminal(ran, "skip") as seen:
            seen.wait_for("Number or id of the task")
            seen.type("9\n")
            assert seen.wait() != 0
            assert "9" in seen.text
            assert "Traceback" not in seen.text

    def test_with_every_task_done_there_is_nothing_to_choose(self, ran: Path) -> None:
        plan = ran / "@fix_plan.md"
        plan.write_text(plan.read_text("utf-8").replace("[ ]", "[x]"), "utf-8")
        with in_terminal(ran, "skip") as seen:
            assert seen.wait() == 64
            assert "every task of the plan is done" in seen.text
