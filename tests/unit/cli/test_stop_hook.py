"""``ralph hook stop``: what it is asked, what it answers, and that it never fails."""

from __future__ import annotations

import io
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.engine.project_builder import RALPH, ROOT, git
from tests.unit.cli.cli_runner import Ralph, Said

STORY = {"id": "US-1", "title": "Log in", "passes": False, "reviewStatus": None, "reviewCount": 0}
PLAN = {"project": "Shop", "userStories": [STORY]}


def plan_with(**fields: object) -> str:
    return json.dumps({**PLAN, "userStories": [{**STORY, **fields}]}, indent=2)


class Hook:
    """A work tree with a run, and the hook of its agent."""

    def __init__(self, ralph: Ralph, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.tree = tree
        self._ralph, self._monkeypatch = ralph, monkeypatch
        tree.mkdir(exist_ok=True)
        (tree / "prd.json").write_text(plan_with(), encoding="utf-8")
        git(tree, "init", "-q")
        self.commit()

    def commit(self) -> None:
        git(self.tree, "add", "-A")
        git(self.tree, "commit", "-q", "-m", "Work")

    def active(self, **fields: object) -> None:
        known = {"pid": os.getpid(), "iterationMode": "implement", "preIterationSnapshot": PLAN}
        text = json.dumps({**known, **fields})
        (self.tree / ".ralph-active").write_text(text, encoding="utf-8")

    def plan(self, **fields: object) -> None:
        """What the agent made of its story, committed."""
        (self.tree / "prd.json").write_text(plan_with(**fields), encoding="utf-8")
        self.commit()

    def ask(self, given: object = None, *, folder: Path | None = None) -> Said:
        asked = given if isinstance(given, bytes) else json.dumps(given or {}).encode()
        stdin = io.TextIOWrapper(io.BytesIO(asked))
        self._monkeypatch.setattr(sys, "stdin", stdin)
        return self._ralph(folder or self.tree, "hook", "stop")

    def answer(self, given: object = None, *, folder: Path | None = None) -> str:
        """The reason why the agent may not stop; empty where it may."""
        said = self.ask(given, folder=folder)
        assert (said.code, said.err) == (0, "")
        if not said.out:
            return ""
        answer = said.json
        assert answer.pop("decision") == "block"
        assert list(answer) == ["reason"]
        return str(answer["reason"])


@pytest.fixture
def hook(ralph: Ralph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hook:
    for name in ("CLAUDE_PROJECT_DIR", "RALPH_ITERATION_ID"):
        monkeypatch.delenv(name, raising=False)
    return Hook(ralph, tmp_path / "tree", monkeypatch)


def test_without_a_run_there_is_nothing_to_say(hook: Hook) -> None:
    hook.plan(passes=True)
    assert hook.answer() == ""


def test_what_is_legal_and_committed_may_stop(hook: Hook) -> None:
    hook.plan(reviewStatus="needs_review")
    hook.active()
    assert hook.answer() == ""


def test_an_illegal_move_is_named_with_what_to_do(hook: Hook) -> None:
    hook.plan(passes=True)
    hook.active()
    reason = hook.answer()
    assert reason.startswith("This iteration is not finished yet:\n- prd.json: US-1: implementing")
    assert "(implement-illegal-move)" in reason


def test_without_a_snapshot_only_the_file_itself_is_judged(hook: Hook) -> None:
    hook.plan(passes=True)
    hook.active(preIterationSnapshot=None)
    assert hook.answer() == ""
    hook.plan(passes="yes")
    assert "prd.json:7: passes must be true or false" in hook.answer()


def test_a_snapshot_may_be_a_separate_file(hook: Hook) -> None:
    before = hook.tree / ".git" / "before.json"
    before.write_text(plan_with(), encoding="utf-8")
    hook.plan(passes=True)
    hook.active(preIterationSnapshot=".git/before.json")
    assert "implement-illegal-move" in hook.answer()
    before.unlink()
    assert hook.answer() == ""


@pytest.mark.parametrize("mode", ["review", "review-fix", "plan", "implement", "strange"])
def test_its_mode_says_what_is_legal(hook: Hook, mode: str) -> None:
    hook.plan(reviewStatus="needs_review")
    hook.active(iterationMode=mode)
    assert bool(hook.answer()) is (mode not in {"implement", "strange"})


def test_what_is_not_committed_is_named(hook: Hook) -> None:
    hook.active()
    (hook.tree / "new.py").write_text("x = 1\n", encoding="utf-8")
    reason = hook.answer()
    assert "1 file not committed: new.py; commit what belongs to your work" in reason


def test_what_the_loop_keeps_there_needs_no_commit(hook: Hook) -> None:
    hook.active()
    for name in ("decide.txt", "blocked.txt", "logs/summary.csv"):
        path = hook.tree / "ralph" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x", encoding="utf-8")
    assert hook.answer() == ""


def test_it_lets_go_when_the_program_has_gone_on_twice(hook: Hook) -> None:
    hook.plan(passes=True)
    hook.active()
    assert hook.answer({"stop_hook_active": False})
    assert hook.answer({"stop_hook_active": True})
    assert hook.answer({"stop_hook_active": True}) == ""
    # The next iteration is kept again.
    hook.active(timestamp="2026-01-31T12:00:00Z")
    assert hook.answer({"stop_hook_active": True})


@pytest.mark.parametrize(
    ("answer", "may_stop"),
    [
        (b'{"result": {"halted": true}}\n', True),
        (b'{"result": {"halted": false}}\n', False),
        (b'{"error": {"message": "this iteration is over"}}\n', False),
        (b"", False),
    ],
)
def test_an_agent_that_halted_by_tool_may_stop_too(
    hook: Hook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: bytes, may_stop: bool
) -> None:
    hook.plan(reviewStatus="needs_review")
    before = {**PLAN, "userStories": [{**STORY, "reviewStatus": "needs_review"}]}
    hook.active(iterationMode="review", preIterationSnapshot=before)
    monkeypatch.setenv("RALPH_MCP_SOCKET", str(tmp_path / "s.sock"))
    monkeypatch.setenv("RALPH_MCP_TICKET", "t")
    asked: list[Any] = []
    with socket.socket(socket.AF_UNIX) as engine:
        engine.bind(str(tmp_path / "s.sock"))
        engine.listen()

        def serve() -> None:
            link, _ = engine.accept()
            with link, link.makefile("rb") as lines:
                asked.append(json.loads(lines.readline()))
                link.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        assert (hook.answer({"last_assistant_message": "I cannot go on."}) == "") is may_stop
        thread.join()
    assert asked == [{"method": "halted", "params": {"token": "t"}}]


@pytest.mark.parametrize("promise", ["BLOCKED:no key", "DECIDE:A or B?"])
def test_an_agent_that_leaves_it_to_the_user_may_stop_without_a_review(
    hook: Hook, promise: str
) -> None:
    hook.plan(reviewStatus="needs_review")
    before = {**PLAN, "userStories": [{**STORY, "reviewStatus": "needs_review"}]}
    hook.active(iterationMode="review", preIterationSnapshot=before)
    assert "no-story-reviewed" in hook.answer()
    said = f"I cannot go on.\n<promise>{promise}</promise>"
    assert hook.answer({"last_assistant_message": said}) == ""
    transcript = hook.tree.parent / "transcript.jsonl"
    block = {"type": "text", "text": said}
    record = {"type": "assistant", "message": {"content": [block]}}
    transcript.write_text(json.dumps(record) + "\n", encoding="utf-8")
    assert hook.answer({"transcript_path": str(transcript)}) == ""
    transcript.unlink()
    assert "no-story-reviewed" in hook.answer({"transcript_path": str(transcript)})


class TestWhere:
    def test_from_a_folder_below(self, hook: Hook) -> None:
        below = hook.tree / "src" / "deep"
        below.mkdir(parents=True)
        hook.plan(passes=True)
        hook.active()
        assert hook.answer(folder=below)
        assert hook.answer({"cwd": str(below)}, folder=hook.tree.parent)
        assert not hook.answer({"cwd": str(hook.tree.parent)}, folder=hook.tree.parent)

    def test_where_the_program_says_that_its_project_is(
        self, hook: Hook, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        hook.plan(passes=True)
        hook.active()
        monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(hook.tree))
        assert hook.answer(folder=hook.tree.parent)

    def test_a_run_in_a_linked_work_tree(self, hook: Hook, tmp_path: Path) -> None:
        linked = tmp_path / "linked"
        git(hook.tree, "worktree", "add", "-q", str(linked))
        hook.active()
        (hook.tree / ".ralph-active").rename(linked / ".ralph-active")
        (linked / "prd.json").write_text(plan_with(passes=True), encoding="utf-8")
        assert "implement-illegal-move" in hook.answer(folder=linked)
        assert hook.answer() == ""

    def test_the_loops_own_agent_that_went_into_a_linked_work_tree(
        self, hook: Hook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        linked = tmp_path / "linked"
        git(hook.tree, "worktree", "add", "-q", str(linked))
        hook.plan(passes=True)
        hook.active()
        assert hook.answer(folder=linked) == ""
        monkeypatch.setenv("RALPH_ITERATION_ID", "run/1")
        assert "implement-illegal-move" in hook.answer(folder=linked)
        assert hook.answer(folder=tmp_path) == ""

    def test_a_plan_that_is_where_the_settings_say(self, hook: Hook) -> None:
        (hook.tree / "prd.json").rename(hook.tree / "work.json")
        hook.commit()
        hook.active()
        assert "ralph/tasks.json is missing; restore it" in hook.answer()
        config = hook.tree / ".ralph" / "config.toml"
        config.parent.mkdir()
        config.write_text('[paths]\nplan = "work.json"\n', encoding="utf-8")
        hook.commit()
        assert hook.answer() == ""
        config.write_text("[paths\n", encoding="utf-8")
        hook.commit()
        assert "is missing" in hook.answer()


def test_a_run_whose_engine_is_dead_is_none(hook: Hook) -> None:
    process = subprocess.Popen([sys.executable, "-S", "-c", ""])
    process.wait()
    hook.plan(passes=True)
    hook.active(pid=process.pid)
    assert hook.answer() == ""


@pytest.mark.parametrize(
    "given", [b"", b"\xff\xfe", b"{", b"[]", b"null", b'{"stop_hook_active": {}}', b"[" * 99_999]
)
def test_what_it_cannot_read_lets_the_agent_go(hook: Hook, given: bytes) -> None:
    hook.plan(passes=True)
    hook.active()
    assert hook.answer(given) == ""


@pytest.mark.parametrize("active", ["", "{", "[]", '{"pid": "me"}', "\x00"])
def test_an_active_file_that_is_none_lets_the_agent_go(hook: Hook, active: str) -> None:
    hook.plan(passes=True)
    (hook.tree / ".ralph-active").write_text(active, encoding="utf-8")
    assert hook.answer() == ""


def test_what_goes_wrong_here_lets_the_agent_go_and_is_reported(hook: Hook) -> None:
    hook.plan(passes=True)
    hook.active()
    shutil.rmtree(hook.tree / ".git")
    said = hook.ask()
    assert (said.code, said.out) == (0, "")
    assert "the stop hook lets the agent go: " in said.err
    assert "is not in a git work tree" in said.err


class Terminal(io.StringIO):
    """Standard input that is a terminal."""

    def isatty(self) -> bool:
        return True


def test_in_a_terminal_it_says_what_it_is_for(
    ralph: Ralph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal())
    said = ralph(tmp_path, "hook", "stop")
    assert (said.code, said.out) == (0, "")
    assert "is asked by an agent's program, with JSON on standard input" in said.err


def test_there_is_one_hook(ralph: Ralph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = ralph(tmp_path, "hook", "start")
    assert said.code == 64
    assert "there is no hook 'start'; there is: ralph hook stop" in said.err
    assert "stop" in ralph(tmp_path, "hook", "--help").out


def run_hook(folder: Path, given: Mapping[str, Any], code: str) -> subprocess.CompletedProcess[str]:
    """The real program, and then some code in the same process."""
    return subprocess.run(
        [sys.executable, "-P", "-c", code],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT / "server")},
        input=json.dumps(given),
        capture_output=True,
        text=True,
        check=False,
    )


def test_where_no_run_is_going_on_it_loads_next_to_nothing(hook: Hook) -> None:
    code = (
        "import sys; from ralph_ls.cli.main import main; main(['hook', 'stop']); "
        "print({'pydantic', 'typer', 'git', 'ralph_ls.protocol.config.config'} & set(sys.modules))"
    )
    assert run_hook(hook.tree, {}, code).stdout == "set()\n"


def test_the_real_program_answers(hook: Hook) -> None:
    hook.plan(passes=True)
    hook.active()
    ran = subprocess.run(
        [*RALPH, "hook", "stop"],
        cwd=hook.tree,
        env={**os.environ, "PYTHONPATH": str(ROOT / "server")},
        input="{}",
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert json.loads(ran.stdout)["decision"] == "block"
