"""Templates by kind of project: a real small project, a set-up, and a loop that it validates."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.engine.project_builder import git, write_agent
from tests.engine.ralph_runner import Ralph

pytestmark = pytest.mark.slow

TEST = "import unittest\nclass T(unittest.TestCase):\n    def test(self): self.assertTrue(True)\n"
GOES = "echo $* >>../ran; case $* in *pytest*) exit 5;; esac"
"""Fake program of a language; pytest finds no test yet."""

PROJECTS: Mapping[str, tuple[Mapping[str, str], str, str]] = {
    "python-cli": ({"tool.py": "", "tests/test_tool.py": TEST}, "", ""),
    "python-service": (
        {"pyproject.toml": "[tool.pytest.ini_options]\n", "tests/conftest.py": ""},
        "python3",
        "-m pytest -q",
    ),
    "node-service": ({"package.json": '{"scripts":{"test":"x"}}'}, "npm", "run test"),
    "go-cli": ({"go.mod": "module x\n"}, "go", "vet ./...\ntest ./..."),
    "rust-cli": ({"Cargo.toml": "[package]\n"}, "cargo", "test"),
    "docs": ({"Makefile": "check:\n\techo made >>../ran\n"}, "", "made"),
    "react-app": ({"README.md": "empty\n"}, "npm", ""),
}
"""By template: the files of a project, the program that is faked, and what it was called with."""

AGENT = r"""cat >/dev/null
n=$(grep -c '\[ \]' @fix_plan.md)
sed -i '0,/- \[ \]/s//- [x]/' @fix_plan.md
echo "$n" >>work; git add -A; git commit -qm Work
printf '%s\n' ---RALPH_STATUS--- 'STATUS: IN_PROGRESS' 'TASKS_COMPLETED_THIS_LOOP: 1' \
'FILES_MODIFIED: 2' 'TESTS_STATUS: PASSING' 'EXIT_SIGNAL: false' ---END_RALPH_STATUS---"""


@pytest.mark.parametrize("name", PROJECTS)
def test_a_loop_on_a_project_of_that_kind(ralph: Ralph, tmp_path: Path, name: str) -> None:
    files, program, called = PROJECTS[name]
    root = tmp_path / "tree"
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    git(root, "init", "-q")
    agent = write_agent(tmp_path / "agents", AGENT)
    if program:
        write_agent(tmp_path / "bin", GOES, name=program)
    around = {"PATH": os.pathsep.join([str(tmp_path / "bin"), os.environ["PATH"]])}
    flags = ("--task", "Rename photos by date", "--agent-command", agent)
    made = ralph(root, "init", "--template", name, *flags, env=around)
    assert made.exit_code == 0, made.stderr
    if made.stdout.endswith("ralph allow && ralph run\n"):
        # A script of package.json is the repository's own.
        assert ralph(root, "allow", "--yes", env=around).exit_code == 0
    else:
        assert made.stdout.endswith("Next, start the loop:\n  ralph run\n")
    assert "── AGENTS.md (new)" in made.stdout
    done = ralph(root, "run", "1", env=around)
    assert (done.exit_code, done.stderr) == (1, ""), done.stdout
    assert done.kinds().count("validated") == 1
    ran = (tmp_path / "ran").read_text("utf-8") if (tmp_path / "ran").exists() else done.stdout
    assert called in ran
