"""Steering verbs as they are typed: what they say to people and to programs.

What becomes of the commands in a running loop is tested in tests/engine/steering/test_steering.py.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import psutil
import pytest

from ralph_ls.store.files import write_atomic
from ralph_ls.store.run import halt_files
from tests.engine.project_builder import start_ralph, wait_for, write_agent
from tests.unit.cli.cli_runner import Ralph
from tests.unit.cli.shell_agents import ASKER, BLOCKED, IDLER, WORKER

WITHOUT_A_RUN = [["stop"], ["stop", "--now"], ["pause"], ["resume"], ["reset"], ["answer", "x"]]


def run(ralph: Ralph, repository: Path, body: str, code: int) -> None:
    agent = write_agent(repository.parent / "agents", body)
    assert ralph(repository, "run", "3", "--agent-command", agent).code == code


class TestWithoutAnEngine:
    @pytest.mark.parametrize("arguments", WITHOUT_A_RUN, ids=" ".join)
    @pytest.mark.parametrize("extra", [[], ["--json"]], ids=["people", "programs"])
    def test_a_missing_run_is_reported(
        self, ralph: Ralph, repository: Path, arguments: list[str], extra: list[str]
    ) -> None:
        said = ralph(repository, *arguments, *extra)
        assert (said.code, said.out) == (5, "")
        assert said.err == (f"ralph: no run in {repository} yet; start one with: ralph run\n")

    @pytest.mark.parametrize("arguments", [["stop"], ["pause"]], ids=" ".join)
    def test_a_run_that_is_over_cannot_be_stopped_or_held(
        self, ralph: Ralph, repository: Path, arguments: list[str]
    ) -> None:
        run(ralph, repository, IDLER, 4)
        said = ralph(repository, *arguments)
        assert (said.code, said.out) == (5, "")
        assert (
            said.err == f"ralph: no engine is running in {repository}; start one with: ralph run\n"
        )

    @pytest.mark.parametrize("arguments", [["resume"], ["reset"], ["answer", "x"]], ids=" ".join)
    def test_a_complete_run_waits_for_nothing(
        self, ralph: Ralph, repository: Path, arguments: list[str]
    ) -> None:
        run(ralph, repository, WORKER, 0)
        said = ralph(repository, *arguments)
        assert (said.code, said.out) == (5, "")
        assert not said.err.endswith(".\n")

    def test_a_note_is_left_for_the_next_run(self, ralph: Ralph, repository: Path) -> None:
        assert (
            ralph(repository, "note", "mind", "the", "tax").out
            == "the agent gets it in the next run\n"
        )
        assert ralph(repository, "note", "漢字", "--json").json == {
            "accepted": True,
            "code": "left",
            "text": "the agent gets it in the next run",
        }
        seen = repository.parent / "prompt"
        run(ralph, repository, f"cat >>'{seen}'; echo done", 4)
        assert "> mind the tax" in seen.read_text(encoding="utf-8")
        assert "> 漢字" in seen.read_text(encoding="utf-8")

    def test_an_answer_is_written_below_its_question(self, ralph: Ralph, repository: Path) -> None:
        run(ralph, repository, ASKER, 3)
        said = ralph(repository, "answer", "Postgres,", "please")
        assert (said.code, said.err) == (0, "")
        assert said.out == (
            "The answer is in .ralph/decide.txt. "
            "Continue: ralph run --resume, or start a new run: ralph run\n"
        )
        text = (repository / ".ralph/decide.txt").read_text(encoding="utf-8")
        assert text.endswith("Which database?\n\n---\n## Answer\nPostgres, please\n")
        again = ralph(repository, "answer", "SQLite")
        assert again.code == 5
        assert "already contains an answer; change it there" in again.err

    @pytest.mark.parametrize(("typed", "answer"), [("2", "blue"), ("7", "7")])
    def test_a_number_is_the_option_that_has_it(
        self, ralph: Ralph, repository: Path, typed: str, answer: str
    ) -> None:
        run(ralph, repository, ASKER.replace("Which database?", "red or blue?"), 3)
        assert ralph(repository, "answer", typed).code == 0
        text = (repository / ".ralph/decide.txt").read_text(encoding="utf-8")
        assert text.endswith(f"## Answer\n{answer}\n")

    def test_an_answer_brings_a_vanished_question_back(
        self, ralph: Ralph, repository: Path
    ) -> None:
        run(ralph, repository, ASKER, 3)
        (repository / ".ralph/decide.txt").unlink()
        assert ralph(repository, "answer", "Postgres", "--json").json == {
            "accepted": True,
            "code": "written",
            "text": "the answer is in .ralph/decide.txt",
        }
        text = (repository / ".ralph/decide.txt").read_text(encoding="utf-8")
        assert text.startswith("## Question (from iteration 1, ")
        assert text.endswith("## Answer\nPostgres\n")

    def test_without_a_question_there_is_nothing_to_answer(
        self, ralph: Ralph, repository: Path
    ) -> None:
        run(ralph, repository, IDLER, 4)
        said = ralph(repository, "answer", "Postgres")
        assert said.code == 5
        assert "there is no open question here; check it: ralph status" in said.err

    def test_a_blocker_is_called_resolved(self, ralph: Ralph, repository: Path) -> None:
        run(ralph, repository, BLOCKED, 2)
        assert (repository / ".ralph/blocked.txt").read_text(encoding="utf-8") == (
            "no key for the mail service\n"
        )
        assert ralph(repository, "resume", "--no-continue").out == (
            "The blocker is resolved. Continue: ralph run --resume, or start a new run: ralph run\n"
        )
        assert not (repository / ".ralph/blocked.txt").exists()
        assert ralph(repository, "resume", "--json").json["text"] == "nothing is blocked"

    def test_a_reset_comes_with_going_on(self, ralph: Ralph, repository: Path) -> None:
        run(ralph, repository, IDLER, 4)
        assert ralph(repository, "reset").out.startswith(
            "Resuming resets the breaker. Continue: ralph"
        )

    def test_what_somebody_saves_meanwhile_is_not_lost(
        self, ralph: Ralph, repository: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        run(ralph, repository, ASKER, 3)
        path = repository / ".ralph/decide.txt"

        def save_and_write(file: Path, data: bytes, *, expected: bytes | None = None) -> None:
            path.write_text("theirs\n", encoding="utf-8")
            write_atomic(file, data, expected=expected)

        monkeypatch.setattr(halt_files, "write_atomic", save_and_write)
        said = ralph(repository, "answer", "Postgres")
        monkeypatch.undo()
        assert said.code == 5
        assert ".ralph/decide.txt changed in the meantime" in said.err
        assert path.read_text(encoding="utf-8") == "theirs\n"

    @pytest.mark.slow
    @pytest.mark.usefixtures("forked_engines")
    def test_going_on_starts_an_engine_in_the_background(
        self, ralph: Ralph, repository: Path
    ) -> None:
        run(ralph, repository, BLOCKED, 2)
        write_agent(repository.parent / "agents", WORKER)
        started = ralph(repository, "resume", "--continue", "--json")
        assert started.code == 0, started.err
        assert set(started.json) == {"run", "pid"}
        wait_for(repository, "runEnded", exit_code=0)
        with contextlib.suppress(psutil.NoSuchProcess):
            psutil.Process(started.json["pid"]).wait(30)
        said = ralph(repository, "resume", "--continue")
        assert said.code == 5
        assert "there is nothing to resume here; start a run with: ralph run" in said.err


@pytest.mark.slow
def test_a_living_engine_answers_in_words_and_in_json(ralph: Ralph, repository: Path) -> None:
    gate = repository.parent / "gate"
    agent = write_agent(repository.parent / "agents", f"echo begun; read -r go <'{gate}'")
    os.mkfifo(gate)
    with start_ralph(repository, "run", "3", "--agent-command", agent) as running:
        running.wait_for("agentStarted")
        for arguments in (["pause"], ["resume"], ["note", "mind the tax"], ["stop"]):
            said = ralph(repository, *arguments, "--json")
            assert said.code == 0, said
            assert set(said.json) == {"accepted", "code", "text"}
            assert (said.json["accepted"], said.json["code"]) == (True, "accepted")
            assert said.json["text"]
        rejected = ralph(repository, "answer", "Postgres")
        assert rejected.code == 1
        assert rejected.out.startswith("Rejected: ")
        told = ralph(repository, "answer", "Postgres", "--json")
        assert (told.code, told.json["accepted"]) == (1, False)
        assert told.json["code"] == told.json["code"].lower().replace("_", "-")
        gate.write_text("go\n", encoding="utf-8")
        assert running.wait().exit_code == 130
