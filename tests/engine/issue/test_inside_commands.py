"""Commands of ``on_*`` speak for the user: they may answer. Validation scripts may not."""

from __future__ import annotations

import shlex

import pytest

from tests.engine.issue.request_project import ASKS, WORKS, issue_project
from tests.engine.project_builder import git
from tests.engine.ralph_program import ralph_folder
from tests.engine.ralph_runner import Project, told

CONFIG = """\
profile = "issue"
notify.command = ["./hook.sh"]
notify.events = { complete = [], limit = [] }
[issue]
file = "issue.md"
"""


@pytest.mark.slow
def test_a_command_may_answer_and_validation_may_not(project: Project) -> None:
    agent = f'if [ "$RALPH_ITERATION" = 1 ]; then {ASKS}; exit; fi\n{WORKS}'
    issue_project(project, agent, config=CONFIG)
    ralph = shlex.quote(str(ralph_folder() / "ralph"))
    tries = f'{ralph} "$@" 2>>"{project.kept}/$1.err"; echo $? >"{project.kept}/$1"'
    for name, words in (("hook.sh", "t reset; t answer blue"), (".ralph/validate.sh", "t note x")):
        path = project.file(name)
        path.write_text(f"#!/bin/sh\nt() {{ {tries}; }}\n{words}\n", encoding="utf-8")
        path.chmod(0o755)
    git(project.repository, "add", "-A")
    git(project.repository, "commit", "-q", "-m", "The scripts")
    project.tell("allow", "--yes")
    done = project.run("2", "--on-halt", "wait")
    codes = {
        name: (project.kept / name).read_text().strip() for name in ("reset", "answer", "note")
    }
    assert codes == {"reset": "77", "answer": "0", "note": "77"}
    assert "inside the command notify.command of run" in (project.kept / "reset.err").read_text()
    assert "inside an iteration of run" in (project.kept / "note.err").read_text()
    (answered,) = told(done, "questionAnswered")
    assert answered.answer == "blue"
