"""No control from inside an iteration, in one real run that tries whatever there is."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from ralph_ls.cli.verbs import VERBS, UserOnlyVerb
from tests.engine.project_builder import ROOT, Completed
from tests.engine.ralph_runner import Project, told
from tests.engine.steered_run import inbox_of
from tests.engine.trust.inside_agent import CHANGING, READING

REFUSED = 77


@pytest.mark.slow
class TestInside:
    def test_whatever_changes_the_run_is_refused_and_all_else_works(
        self, project: Project, tmp_path: Path
    ) -> None:
        kept = tmp_path / "found"
        kept.mkdir()
        words = [sys.executable, "-m", "tests.engine.trust.inside_agent", str(kept), "agent"]
        project.agent(f"PYTHONPATH={shlex.quote(str(ROOT))} exec {shlex.join(words)}")
        done = project.run("1")
        for kind in ("agent", "grandchild", "detached"):
            check_refusals(json.loads((kept / f"{kind}.json").read_text()), kind)
        rest = json.loads((kept / "rest.json").read_text())
        assert rest["asked"] == "from-inside"
        check_scratch(rest["scratch"])
        check_journal(done, project)


def check_refusals(found: dict[str, Any], kind: str) -> None:
    assert {name: found[name][0] for name in CHANGING} == dict.fromkeys(CHANGING, REFUSED)
    if kind == "agent":
        assert {name: found[name][0] for name in READING} == dict.fromkeys(READING, 0)
    where = "run " if kind == "detached" and sys.platform == "linux" else "an iteration of run "
    for name in CHANGING:
        message = found[name][1]
        assert f"ralph {name} was refused: it was started from inside {where}" in message
        assert "use another terminal" in message


def check_scratch(found: dict[str, Any]) -> None:
    """An agent's tests may run ``ralph`` where they have a separate state folder."""
    code, message = found.pop("allow in the same state")
    assert code == REFUSED
    assert "set another folder with RALPH_STATE_DIR" in message
    code, _ = found.pop("run")
    assert code in {0, 1}, "it ran, whatever it came to"
    assert {name: result[0] for name, result in found.items()} == dict.fromkeys(found, 0)


def check_journal(done: Completed, project: Project) -> None:
    assert not told(done, "commandAccepted")
    assert [event.code for event in told(done, "commandRejected")] == ["from-inside"]
    warned = {event.code: event.message for event in told(done, "warned")}
    assert ".ralph/validate.sh" in warned["approvals-removed"]
    folder = inbox_of(project).parent
    assert not json.loads((folder / "trust.json").read_text())["allowed"]


def test_every_verb_says_whether_it_changes_a_run() -> None:
    """A new verb has to choose, and one that changes something has to be tried above."""
    assert {name for name, verb in VERBS.items() if isinstance(verb.control, UserOnlyVerb)} == set(
        CHANGING
    )
