"""Who may ask a run for something, and where its orphans go."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ralph_ls.engine.guard.protected_files import remove_added_approvals
from ralph_ls.engine.run.inbox import refusal_of
from ralph_ls.protocol.run.commands import COMMAND_TYPES, Asker
from ralph_ls.protocol.run.state import RunState
from ralph_ls.store.layout import StateFolder
from ralph_ls.store.project.trust import RunTrust, TrustRecord, write_record
from ralph_ls.store.run.ancestry import MARKER
from ralph_ls.store.run.lock import own_start_time
from tests.unit.core.loop.simulated_run import RUN, command

FIELDS: dict[str, dict[str, Any]] = {
    "answer": {"text": "blue"},
    "note": {"text": "look"},
    "skip": {"task": "1"},
    "resetTask": {"task": "1"},
    "allow": {"approvals": ({"key": "a", "sha256": "0" * 64},)},
}
KINDS = [cls.model_fields["kind"].default for cls in COMMAND_TYPES]
OF_COMMANDS = {"answer", "note", "stop"}


@pytest.fixture
def workspace(tmp_path: Path) -> Any:
    state = StateFolder(folder=tmp_path / "state")
    return SimpleNamespace(run=RUN, state=state, trust=RunTrust({}))


def code_of(kind: str, workspace: Any, asker: Asker | None) -> str | None:
    given = command(kind, asker=asker, **FIELDS.get(kind, {})).command
    refusal = refusal_of(given, workspace, RunState(run=RUN))
    return None if refusal is None else refusal.code


def this() -> Asker:
    return Asker(pid=os.getpid(), start_time=own_start_time())


@pytest.mark.parametrize("kind", KINDS)
class TestEveryCommand:
    def test_from_outside_it_is_taken(self, kind: str, workspace: Any) -> None:
        assert code_of(kind, workspace, this()) is None

    @pytest.mark.parametrize("part", ["3", "on_pr_ready", "notify.command"])
    def test_from_inside_only_commands_may_give_some(
        self, kind: str, part: str, workspace: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv(MARKER, f"{RUN}/{part}")
        may = part != "3" and kind in OF_COMMANDS
        assert code_of(kind, workspace, this()) == (None if may else "from-inside")

    def test_from_another_run_it_is_taken(
        self, kind: str, workspace: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv(MARKER, "20200101T000000Z-ffff/3")
        assert code_of(kind, workspace, this()) is None

    def test_nobody_may_ask_for_others(self, kind: str, workspace: Any) -> None:
        assert code_of(kind, workspace, None) == "no-asker"
        gone = Asker(pid=os.getpid(), start_time=own_start_time() - 100)
        assert code_of(kind, workspace, gone) == "asker-gone"


def test_approvals_that_appear_are_reported_once(workspace: Any) -> None:
    allowed = {f"prompt-{number:02d}": "0" * 64 for number in range(12)}
    write_record(workspace.state, TrustRecord(allowed=allowed))
    (one,) = remove_added_approvals(workspace)
    assert remove_added_approvals(workspace) == ()
    assert one.code == "approvals-removed"
    assert "prompt-00, prompt-01" in one.message
    assert "prompt-09, …;" in one.message


ADOPTING = """\
import os, subprocess, sys
from ralph_ls.engine.process.reaper import adopting_orphans, reap_adopted

ORPHAN = "import os\\nif os.fork() == 0:\\n {first}\\n os.read(0, 1)\\n print(os.getppid())"
with adopting_orphans():
    parent = subprocess.Popen(
        [sys.executable, "-c", ORPHAN], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        start_new_session=True,
    )
    os.waitid(os.P_PID, parent.pid, os.WEXITED | os.WNOWAIT)
    print("ours", reap_adopted(), parent.wait())
    said, _ = parent.communicate(b"x")
    os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
    print("adopted", int(said) == os.getpid(), reap_adopted())
"""
"""Our child that has ended is left to the process that waits for it; its orphan comes to us."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "n_reaped"), [("pass", 1), ("os.setsid()", 0)], ids=["plain", "session-leader"]
)
def test_an_orphan_stays_a_descendant_of_the_engine(first: str, n_reaped: int) -> None:
    code = ADOPTING.replace("{first}", first)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["ours 0 0", f"adopted True {n_reaped}"]
