"""Commands of ``on_*`` speak for the user: they may answer. Validation scripts may not."""

from __future__ import annotations

import shlex
import sys

import pytest

from tests.engine.issue.request_project import ASKS, WORKS, issue_scene
from tests.engine.project_builder import git
from tests.engine.ralph_runner import Scene, told

RALPH = shlex.join([sys.executable, "-P", "-m", "ralph_ls"])

CONFIG = """\
profile = "issue"
on_question = ["./hook.sh"]
[issue]
file = "issue.md"
"""


@pytest.mark.slow
def test_a_command_may_answer_and_validation_may_not(scene: Scene) -> None:
    agent = f'if [ "$RALPH_ITERATION" = 1 ]; then {ASKS}; exit; fi\n{WORKS}'
    issue_scene(scene, agent, config=CONFIG)
    tries = f'{RALPH} "$@" 2>>"{scene.kept}/$1.err"; echo $? >"{scene.kept}/$1"'
    for name, words in (("hook.sh", "t reset; t answer blue"), (".ralph/validate.sh", "t note x")):
        path = scene.file(name)
        path.write_text(f"#!/bin/sh\nt() {{ {tries}; }}\n{words}\n", encoding="utf-8")
        path.chmod(0o755)
    git(scene.repository, "add", "-A")
    git(scene.repository, "commit", "-q", "-m", "The scripts")
    scene.tell("allow", "--yes")
    done = scene.run("2", "--on-halt", "wait")
    codes = {name: (scene.kept / name).read_text().strip() for name in ("reset", "answer", "note")}
    assert codes == {"reset": "77", "answer": "0", "note": "77"}
    assert "inside the command on_question of run" in (scene.kept / "reset.err").read_text()
    assert "inside an iteration of run" in (scene.kept / "note.err").read_text()
    (answered,) = told(done, "questionAnswered")
    assert answered.answer == "blue"
