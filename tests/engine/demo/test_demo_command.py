"""``ralph demo``: a whole run on the sample project, wherever and however it is started."""

from __future__ import annotations

import os
import re
import shlex
import sys
from pathlib import Path

import pytest

from ralph_ls.engine.demo.project import required_tasks_done, suite_passes
from tests.engine.demo.sample_project import everything_in, subjects
from tests.engine.project_builder import git, make_repository, wait_for
from tests.unit.cli.cli_runner import Ralph, caller
from tests.unit.cli.terminal import CTRL_C, in_terminal

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """No pauses for people to read in."""
    monkeypatch.setenv("RALPH_DEMO_PACE", "0")


@pytest.fixture
def ralph(capsys: pytest.CaptureFixture[str]) -> Ralph:
    return caller(capsys)


def check_the_sample(folder: Path) -> None:
    """The project is really repaired, its plan really done, its tree clean."""
    assert suite_passes(folder)
    assert required_tasks_done(folder)
    assert len(subjects(folder)) == 6
    assert git(folder, "status", "--porcelain") == ""


def test_it_repairs_the_sample_and_the_breaker_works_on_the_way(
    ralph: Ralph, tmp_path: Path
) -> None:
    said = ralph(tmp_path, "demo", "sample")
    assert (said.code, said.err) == (0, "")
    folder = tmp_path / "sample"
    check_the_sample(folder)
    lines = said.out.splitlines()
    moves = [line for line in lines if line.startswith("▸ Breaker: ")]
    assert [re.findall("CLOSED|HALF_OPEN|OPEN", line)[:2] for line in moves] == [
        ["CLOSED", "HALF_OPEN"],
        ["HALF_OPEN", "CLOSED"],
    ]
    assert lines[0] == f"A sample project is in {folder}; its tests fail, its plan says what to do"
    assert "Exit:        COMPLETE (code 0)" in lines
    assert "Tasks:       5 done of 5 attempted, none open" in lines
    assert f"The sample's tests pass and its plan is done: {folder}" in lines
    assert f"  cd {folder}" in lines
    assert lines.index("Ralph Loop Summary") < lines.index("See what the loop did:")
    assert ralph(folder, "status").out.splitlines()[-1] == "Next:        nothing: the plan is done"


def test_without_a_folder_it_takes_a_scratch_one(
    ralph: Ralph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    said = ralph(tmp_path, "demo")
    assert said.code == 0
    (folder,) = tmp_path.glob("ralph-demo-*")
    assert f"  cd {folder}\n" in said.out
    check_the_sample(folder)


def test_it_needs_no_identity_no_network_and_nothing_of_the_user(
    ralph: Ralph, tmp_path: Path, isolated_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The user's git that signs, runs hooks and ignores files; and no socket is ever connected.

    Reported to a program, as events alone.
    """
    marker = isolated_home / "marker"
    hooks = isolated_home / "hooks"
    hooks.mkdir()
    for name in ("pre-commit", "commit-msg", "post-commit", "reference-transaction"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch '{marker}'\nexit 1\n", encoding="utf-8")
        (hooks / name).chmod(0o755)
    (isolated_home / "ignored").write_text("*.py\n*.md\n", encoding="utf-8")
    (isolated_home / ".gitconfig").write_text(
        "[commit]\n\tgpgSign = true\n[gpg]\n\tprogram = /nowhere/gpg\n"
        f"[core]\n\thooksPath = {hooks}\n\texcludesFile = {isolated_home / 'ignored'}\n"
        f"\tautocrlf = true\n\tfsmonitor = {hooks / 'pre-commit'}\n"
        "[init]\n\tdefaultBranch = elsewhere\n\ttemplateDir = /nowhere\n",
        encoding="utf-8",
    )
    for name in ("EMAIL", "GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"):
        monkeypatch.delenv(name, raising=False)
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with connections() as made:
        said = ralph(tmp_path, "demo", "sample", "--json")
    assert (said.code, made) == (0, [])
    changes = [event for event in said.events if event["kind"] == "circuitBreakerStateChange"]
    assert [event["toState"] for event in changes] == ["HALF_OPEN", "CLOSED"]
    assert said.events[0]["config"]["agent"] == "demo"
    assert said.events[-1]["reason"] == "complete"
    assert "Ralph Loop Summary" in said.err
    assert "The sample's tests pass and its plan is done" in said.err
    check_the_sample(tmp_path / "sample")
    assert not marker.exists()
    assert git(tmp_path / "sample", "log", "-1", "--format=%ae") == "demo@ralph.invalid\n"


def test_neither_its_name_nor_what_is_around_it_nor_the_users_settings_change_it(
    ralph: Ralph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"AGENT": "nobody", "MAX_ITERATIONS": "1", "PROFILE": "stories"}.items():
        monkeypatch.setenv(f"RALPH_{name}", value)
    outer = make_repository(tmp_path / "outer")
    folder = outer / "-it's 見本 $HOME `x`;"
    said = ralph(outer, "demo", "--", folder.name)
    assert said.code == 0
    assert f"  cd {shlex.quote(str(folder))}\n" in said.out
    check_the_sample(folder)
    assert len(subjects(outer)) == 1
    assert ralph(outer, "status").out.startswith("No run in ")


@pytest.mark.parametrize("name", ["mine.txt", ".hidden", "@fix_plan.md"])
def test_a_folder_that_is_not_empty_is_refused_and_left_alone(
    ralph: Ralph, tmp_path: Path, name: str
) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / name).write_text("mine\n", encoding="utf-8")
    said = ralph(tmp_path, "demo", "mine")
    assert (said.code, said.out) == (64, "")
    assert "is not empty" in said.err
    assert everything_in(folder) == {name: b"mine\n"}


def test_a_file_is_no_folder(ralph: Ralph, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine\n", encoding="utf-8")
    said = ralph(tmp_path, "demo", "file")
    assert said.code == 64
    assert "name another folder" in said.err
    assert (tmp_path / "file").read_text(encoding="utf-8") == "mine\n"


def test_interrupted_it_says_how_to_continue_and_continues(ralph: Ralph, tmp_path: Path) -> None:
    # Slow enough that the interrupt comes in the middle.
    with in_terminal(tmp_path, "demo", "sample", environment={"RALPH_DEMO_PACE": "60"}) as terminal:
        terminal.wait_for("Iteration 1 of")
        wait_for(tmp_path / "sample", "agentStarted")
        terminal.type(CTRL_C)
        terminal.wait_for("press Ctrl-C again to stop now")
        terminal.type(CTRL_C)
        assert terminal.wait() == 130
    text = terminal.text
    assert "Traceback" not in text
    assert "Exit:        STOPPED (code 130)" in text
    assert "\nNext:        ralph run --resume\n" in text
    assert text.rstrip().endswith(f"cd {tmp_path / 'sample'} && ralph run --resume")
    assert ralph(tmp_path / "sample", "run", "--resume").code == 0
    check_the_sample(tmp_path / "sample")


def test_in_another_repository_its_agent_changes_nothing_and_the_run_ends_with_2(
    ralph: Ralph, tmp_path: Path
) -> None:
    repository = make_repository(tmp_path / "tree", ["Sum: add up prices"])
    before = everything_in(repository)
    said = ralph(repository, "run", "--agent", "demo")
    assert said.code == 2
    assert "scripted" in said.out
    after = everything_in(repository)
    kept = {path: data for path, data in after.items() if not path.startswith((".ralph/", ".git/"))}
    assert kept == {path: data for path, data in before.items() if not path.startswith(".git/")}
    assert git(repository, "status", "--porcelain") == ""
    assert len(subjects(repository)) == 1


class connections:  # noqa: N801 - read as a statement
    """What this process connects to, or looks up, while the block runs."""

    _made: list[str] | None = None
    _listening = False

    def __enter__(self) -> list[str]:
        made: list[str] = []
        if not connections._listening:
            sys.addaudithook(connections._hear)
            connections._listening = True
        connections._made = made
        return made

    def __exit__(self, *_: object) -> None:
        connections._made = None

    @staticmethod
    def _hear(event: str, arguments: tuple[object, ...]) -> None:
        if connections._made is not None and event in {"socket.connect", "socket.getaddrinfo"}:
            connections._made.append(f"{event} {os.getpid()} {arguments!r}")
