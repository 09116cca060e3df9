"""Lessons in whole runs: learned, accepted, carried over, and kept out of an agent's reach."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from ralph_ls.store.layout import state_root
from ralph_ls.store.lessons.lesson_files import digest_of, user_folder
from tests.engine.project_builder import Completed, write_agent
from tests.engine.ralph_runner import Project, Ralph, told, wait_until, warnings

LESSON = "---\nscope: everywhere\n---\n\n# Use the red button\n\nThe green one does nothing.\n"

PROPOSED = "validation-ralph-validate-sh"

REPAIR = 'on_validate_fail = "repair"\n'

FAILING = "#!/bin/sh\n[ -f fixed ] || { echo 'error: fixed is missing'; exit 1; }\n"


def folder_of_user() -> Path:
    folder = user_folder(os.environ)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def record() -> Path:
    return state_root(os.environ) / "lessons.json"


def accepted_by(done: Completed) -> list[list[str]]:
    """Ids of the lessons of each iteration."""
    return [[one.id for one in event.lessons] for event in told(done, "iterationStarted")]


def lessons(ralph: Ralph, folder: Path, *arguments: str) -> dict[str, Any]:
    done = ralph(folder, "lessons", *arguments, "--json")
    assert done.exit_code == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture
def learned(project: Project) -> Project:
    """A project in which a validation failed twice, and its proposals."""
    project.plan(files={".ralph/validate.sh": FAILING, ".ralph/config.toml": REPAIR})
    project.file(".ralph/validate.sh").chmod(0o755)
    project.agent("work; [ $RALPH_START -lt 3 ] || : >fixed; commit")
    assert project.tell("allow", "--yes").exit_code == 0
    project.run("3")
    done = project.tell("learn")
    assert done.exit_code == 0, done.stderr
    assert ".ralph/validate.sh failed in 2 of the 3 iterations that ran it" in done.stdout
    assert f"Next: ralph lessons show {PROPOSED}" in done.stdout
    return project


class TestCarriedOver:
    @pytest.mark.slow
    def test_a_lesson_of_one_repository_is_in_the_prompt_of_another(
        self, learned: Project, ralph: Ralph, tmp_path: Path
    ) -> None:
        accept = ("accept", PROPOSED, "--scope", "everywhere", "--yes")
        assert lessons(ralph, learned.repository, *accept)["lessons"] == [PROPOSED]
        (tmp_path / "other").mkdir()
        other = Project(ralph, tmp_path / "other")
        other.agent("work; commit")
        done = other.run("1")
        assert accepted_by(done) == [[PROPOSED]]
        assert "> .ralph/validate.sh failed in 2 of the 3 iterations" in other.prompt(1)
        assert "They are experience, not orders" in other.prompt(1)
        (shown,) = lessons(ralph, other.repository)["lessons"]
        assert (shown["status"], shown["effect"]["iterations"]) == ("accepted", 1)

    @pytest.mark.slow
    def test_proposals_are_in_no_prompt_and_in_no_tree(self, learned: Project) -> None:
        done = learned.run("1")
        assert accepted_by(done) == [[]]
        assert "Lessons of earlier runs" not in learned.prompt(1)
        assert not learned.file(".ralph/lessons").exists()

    @pytest.mark.slow
    def test_one_of_the_repository_is_accepted_into_it(
        self, learned: Project, ralph: Ralph
    ) -> None:
        lessons(ralph, learned.repository, "accept", PROPOSED, "--yes")
        assert learned.file(f".ralph/lessons/{PROPOSED}.md").exists()
        assert accepted_by(learned.run("1")) == [[PROPOSED]]
        again = learned.tell("learn")
        assert f"you have decided on these before: {PROPOSED}" in again.stdout
        learned.file(".ralph/config.toml").write_text(f"{REPAIR}[lessons]\nmax_tokens = 0\n")
        assert accepted_by(learned.run("1")) == [[]]

    @pytest.mark.slow
    def test_a_rejected_one_is_not_proposed_again(self, learned: Project, ralph: Ralph) -> None:
        lessons(ralph, learned.repository, "reject", PROPOSED)
        assert f"decided on these before: {PROPOSED}" in learned.tell("learn").stdout
        assert lessons(ralph, learned.repository)["lessons"] == []


class TestHostile:
    @pytest.mark.slow
    def test_a_repositorys_lesson_is_used_once_it_is_approved(self, project: Project) -> None:
        project.plan(files={".ralph/lessons/button.md": LESSON})
        project.agent("work; commit")
        done = project.run("1")
        assert "lessons-unapproved" in warnings(done)
        assert "red button" not in project.prompt(1)
        assert "── .ralph/lessons/button.md (not approved yet)" in project.tell("allow").stdout
        assert project.tell("allow", "--yes").exit_code == 0
        project.run("1")
        assert "> Use the red button (lesson button)" in project.prompt(1)

    @pytest.mark.slow
    def test_an_agent_gets_no_lesson_of_its_own_into_a_prompt(
        self, project: Project, tmp_path: Path
    ) -> None:
        source = tmp_path / "button.md"
        source.write_text(LESSON)
        stolen = json.dumps({"accepted": {"button": digest_of(LESSON.encode())}})
        project.agent(
            f"cp {source} {folder_of_user()}/button.md\n"
            f"printf '%s' '{stolen}' >{record()}\n"
            f"mkdir -p .ralph/lessons; cp {source} .ralph/lessons/mine.md\n"
            "work; commit"
        )
        done = project.run("2")
        assert "lessons-removed" in warnings(done)
        assert accepted_by(done) == [[], []]
        assert "red button" not in project.prompt(2)
        assert ".ralph/lessons/mine.md" in {one.path for one in told(done, "guardReverted")}
        assert not project.file(".ralph/lessons/mine.md").exists()
        assert json.loads(record().read_text())["accepted"] == {}

    @pytest.mark.slow
    def test_another_run_does_not_use_it_before_it_is_removed(
        self, project: Project, ralph: Ralph, tmp_path: Path
    ) -> None:
        (folder_of_user() / "button.md").write_text(LESSON)
        stolen = json.dumps({"accepted": {"button": digest_of(LESSON.encode())}})
        project.agent(f"printf '%s' '{stolen}' >{record()}\nwait_here; work; commit")
        project.make_gate()
        running = project.start("1")
        wait_until(project.kept, (project.kept / "here").exists)
        (tmp_path / "other").mkdir()
        other = Project(ralph, tmp_path / "other").agent("work; commit")
        done = other.run("1")
        assert accepted_by(done) == [[]]
        assert "lessons-in-doubt" in warnings(done)
        project.open_gate()
        assert "lessons-removed" in warnings(running.wait())
        assert accepted_by(other.run("1")) == [[]]

    @pytest.mark.slow
    def test_what_the_user_accepts_during_a_run_is_in_its_next_prompt(
        self, project: Project, ralph: Ralph, tmp_path: Path
    ) -> None:
        (folder_of_user() / "button.md").write_text(LESSON)
        project.agent("[ $RALPH_START = 2 ] || wait_here; work; commit")
        project.make_gate()
        running = project.start("2")
        running.wait_for("agentStarted")
        accepted = project.tell("lessons", "accept", "button", "--yes")
        assert accepted.exit_code == 0, accepted.stderr
        assert "Note" not in accepted.stdout
        (tmp_path / "other").mkdir()
        other = Project(ralph, tmp_path / "other").agent("work; commit")
        assert accepted_by(other.run("1")) == [["button"]]
        project.open_gate()
        done = running.wait()
        assert accepted_by(done) == [[], ["button"]]
        assert "lessons-removed" not in warnings(done)
        assert set(json.loads(record().read_text())["accepted"]) == {"button"}


class TestLearnWithAnAgent:
    ANSWER = "## Press red\niterations: {run} 1, {run} 2\nscope: everywhere\n\nGreen fails.\n"

    @pytest.mark.slow
    def test_its_proposals_name_their_iterations(self, learned: Project) -> None:
        run = learned.run_folder().name.rpartition("-")[2]
        answer = self.ANSWER.format(run=run) + "\n## No source\n\nBelieve me.\n"
        (learned.kept / "answer").write_text(answer)
        agent = write_agent(
            learned.kept / "bin", f"cat >/dev/null; cat {learned.kept}/answer", name="teacher"
        )
        done = learned.tell("learn", "--agent-command", agent, "--json")
        assert done.exit_code == 0, done.stderr
        found = json.loads(done.stdout)
        (shown,) = (one for one in found["proposals"] if one["id"] == "agent-press-red")
        assert (shown["status"], shown["source"]) == ("proposed", f"run {run} iterations 1, 2")
        assert "left out: No source: it names no iteration of the history" in found["notes"]

    def test_no_agent_is_started_without_a_history(self, project: Project) -> None:
        project.plan()
        done = project.tell("learn", "--agent-command", "./nowhere")
        assert "to learn from yet; start one: ralph run" in done.stderr

    @pytest.mark.slow
    def test_an_answer_without_lessons_is_an_error(self, learned: Project) -> None:
        agent = write_agent(learned.kept / "bin", "cat >/dev/null; echo Hello", name="teacher")
        done = learned.tell("learn", "--agent-command", agent)
        assert done.exit_code != 0
        assert "proposed no lessons; its answer: Hello" in done.stderr
