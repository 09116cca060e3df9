"""``ralph propose`` with real agents: its items, its notes, its refusals, and its end."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
from pathlib import Path

import psutil
import pytest

from tests.engine.project_builder import PATIENCE, RALPH, git, make_repository, write_agent
from tests.unit.cli.cli_runner import Ralph, caller

pytestmark = pytest.mark.slow

ANSWERS = """\
cat >"{kept}/prompt"
printf '%s\\n' 'I looked.' '' '## High Priority (P0)' '- [ ] Send a mail' '  - a test passes' \
'## Nice to Have (P2)' '- [ ] Be quick'
"""
DESCRIPTION = "Let people reset a password. Done when a test shows it, and all others pass."


@pytest.fixture
def ralph(capsys: pytest.CaptureFixture[str]) -> Ralph:
    return caller(capsys)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "tree")


def agent(tmp_path: Path, body: str) -> str:
    return write_agent(tmp_path / "agents", body.replace("{kept}", str(tmp_path)))


def everything(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and ".git" not in path.parts
    }


def test_the_items_of_its_answer_come_back_and_nothing_is_written(
    ralph: Ralph, repository: Path, tmp_path: Path
) -> None:
    before = everything(repository)
    command = agent(tmp_path, ANSWERS)
    said = ralph(
        repository, "propose", "--description", DESCRIPTION, "--agent-command", command, "--json"
    )
    assert (said.code, said.err) == (0, "")
    assert said.json == {
        "items": [
            {"title": "Send a mail", "priority": "P0", "detail": "- a test passes"},
            {"title": "Be quick", "priority": "P2", "detail": ""},
        ],
        "notes": [],
    }
    assert everything(repository) == before
    assert git(repository, "status", "--porcelain") == ""
    prompt = (tmp_path / "prompt").read_text(encoding="utf-8")
    assert f"> {DESCRIPTION}\n" in prompt
    assert "- Read `@fix_plan.md`: it already has tasks." in prompt


def test_users_get_it_as_a_plan(ralph: Ralph, repository: Path, tmp_path: Path) -> None:
    command = agent(tmp_path, ANSWERS)
    said = ralph(
        repository,
        *("propose", "--description", DESCRIPTION, "--template", "feature"),
        *("--agent-command", command, "--agent-prompt", "stdin", "--profile", "fixplan"),
    )
    assert said.out.startswith("## High Priority (P0)\n\n- [ ] Send a mail\n  - a test passes\n")
    assert "Build the smallest part" in (tmp_path / "prompt").read_text(encoding="utf-8")


def test_what_the_agent_changed_all_the_same_is_reported(
    ralph: Ralph, repository: Path, tmp_path: Path
) -> None:
    (repository / "dirty.txt").write_text("a\n")
    body = (
        "echo b >>dirty.txt; echo c >new.txt; git add new.txt; git commit -q -m x\n"
        "echo d >odd.txt\n" + ANSWERS
    )
    command = agent(tmp_path, body)
    said = ralph(
        repository, "propose", "--description", DESCRIPTION, "--agent-command", command, "--json"
    )
    moved, changed = said.json["notes"]
    assert moved.startswith("HEAD moved while the agent made its proposal")
    assert changed.startswith(
        "2 files changed while the agent made its proposal, although it should change"
    )
    assert "dirty.txt, odd.txt" in changed


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("echo I would not know", "proposed no plan items; its answer: I would not know."),
        ("echo 'error: no key' >&2; exit 3", "ended with 3 and proposed nothing: error: no key"),
        ("kill -9 $$", "ended with signal 9 and proposed nothing"),
        ("true", "its answer: nothing."),
    ],
)
def test_an_agent_without_items_is_reported(
    ralph: Ralph, repository: Path, tmp_path: Path, body: str, words: str
) -> None:
    command = agent(tmp_path, f"cat >/dev/null\n{body}\n")
    said = ralph(repository, "propose", "--description", DESCRIPTION, "--agent-command", command)
    assert said.code == 5
    assert words in said.err


def test_one_that_takes_too_long_is_ended(
    ralph: Ralph, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RALPH_TIMEOUT", "0.3s")
    command = agent(tmp_path, "exec sleep 600")
    said = ralph(repository, "propose", "--description", DESCRIPTION, "--agent-command", command)
    assert "took longer than timeouts.iteration allows (0.3 s) and was ended" in said.err


def test_a_command_that_the_repository_brings_needs_leave(
    ralph: Ralph, repository: Path, tmp_path: Path
) -> None:
    command = agent(tmp_path, ANSWERS)
    (repository / ".ralph").mkdir()
    argv = json.dumps(shlex.split(command))
    (repository / ".ralph" / "config.toml").write_text(
        f'agent = "command"\n[agents.command]\nargv = {argv}\n'
    )
    # What no proposal uses needs none.
    (repository / ".ralph" / "validate.sh").write_text("#!/bin/sh\n")
    said = ralph(repository, "propose", "--description", DESCRIPTION)
    assert said.code == 78
    assert "you haven't approved: agents.command" in said.err
    assert not (tmp_path / "prompt").exists()
    assert ralph(repository, "allow", "--yes").code == 0
    assert ralph(repository, "propose", "--description", DESCRIPTION).code == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "say what should be done"),
        (("--description", " "), "A task description is needed"),
        (("--description", "x", "--agent", "nobody"), "there is no agent 'nobody'"),
        (("--description", "x", "--profile", "y"), "unknown profile 'y'; there is: spec"),
        (("--description", "x", "--agent-prompt", "file"), "needs --agent-command"),
        (("--description", "x", "--template", "y"), "there is no template 'y'"),
        (("--description", "x" * 100_001), "description: "),
    ],
)
def test_what_was_asked_wrongly_is_reported(
    ralph: Ralph, repository: Path, arguments: tuple[str, ...], words: str
) -> None:
    said = ralph(repository, "propose", *arguments)
    assert said.code != 0
    assert words in said.err


def test_the_demo_agent_proposes_scripted_items(ralph: Ralph, repository: Path) -> None:
    said = ralph(
        repository,
        *("propose", "--agent", "demo", "--json", "--description"),
        "Reset passwords by mail.\nDone when:\n- a link comes",
    )
    titles = [item["title"] for item in said.json["items"]]
    assert titles[:3] == [
        "Write a test that fails until this is done: Reset passwords by mail",
        "Do it: Reset passwords by mail",
        "Make sure of this, with a test: a link comes",
    ]
    assert "scripted demo agent" in said.json["notes"][0]


class TestStopped:
    """However it is stopped, nothing that the agent started is left."""

    HANGS = """\
cat >/dev/null
(trap '' TERM; sleep 600) &
echo $! >"{kept}/child"
: >"{kept}/here"
sleep 600
"""

    @pytest.mark.parametrize("way", ["TERM", "INT", "eof"])
    def test_the_whole_tree_ends(self, repository: Path, tmp_path: Path, way: str) -> None:
        os.mkfifo(tmp_path / "here")
        command = agent(tmp_path, self.HANGS)
        request = {"description": DESCRIPTION, "agentCommand": shlex.split(command)}
        process = subprocess.Popen(
            [*RALPH, "propose", "--attached", "--json"],
            cwd=repository,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            assert process.stdin is not None
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
            (tmp_path / "here").read_bytes()
            child = int((tmp_path / "child").read_text())
            if way == "eof":
                process.stdin.close()
                process.stdin = None
            else:
                process.send_signal(signal.Signals[f"SIG{way}"])
            out, err = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
            process.wait(PATIENCE)
        assert process.returncode == 130
        assert out == b""
        assert b"ralph-refused: ProposalStopped" in err
        # Where nobody reaps orphans a dead one is still listed.
        assert not psutil.pid_exists(child) or (
            psutil.Process(child).status() == psutil.STATUS_ZOMBIE
        )
