"""The series for pygls: without it each of its tests fails on the installed release, with it none.

``upstream/README.md`` lists every fix with its patch, or with what is proposed instead.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pygls
import pytest

from ralph_ls.editor import lsp

UPSTREAM = Path(__file__).parent / "upstream"
PATCHES = sorted(UPSTREAM.glob("*.patch"))
PLAIN = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONDONTWRITEBYTECODE": "1"}
README = (UPSTREAM / "README.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (.+?) \| .+ \| `([\w.]+)` \| `([\w.]+)` \|$", README, re.MULTILINE)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """The sources of pygls as they are installed, with the tests of the series."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(pygls.__path__[0], tmp_path / "pygls", ignore=ignored)
    apply(tmp_path, "--include=tests/*")
    return tmp_path


def apply(clone: Path, *options: str) -> None:
    subprocess.run(["git", "apply", *options, *PATCHES], cwd=clone, check=True)


def failing(clone: Path) -> set[str]:
    """The test files with a test that fails."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-W", "ignore", "tests"],
        cwd=clone,
        env={**os.environ, **PLAIN, "PYTHONPATH": str(clone)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in {0, 1}, done.stdout + done.stderr
    return set(re.findall(r"^FAILED tests/(\w+)\.py", done.stdout, re.MULTILINE))


@pytest.mark.slow
def test_each_patch_fixes_what_its_test_shows(clone: Path) -> None:
    tests = {path.stem for path in (clone / "tests").glob("*.py")}
    assert len(tests) == len(PATCHES)
    assert failing(clone) == tests
    apply(clone, "--exclude=tests/*")
    assert failing(clone) == set()


def test_every_patch_and_every_fix_has_its_row() -> None:
    numbered = [name for name, _, _ in ROWS if name.isdigit()]
    assert numbered == [path.name[:4] for path in PATCHES]
    assert {fix for _, fix, _ in ROWS} == {
        f"{path.stem}.{name}"
        for path in Path(lsp.__path__[0]).glob("*.py")
        for name in fixes_in(ast.parse(path.read_text(encoding="utf-8")))
    }


@pytest.mark.parametrize("test", sorted({test for _, _, test in ROWS}))
def test_our_test_of_each_is_there(test: str) -> None:
    module, _, name = test.partition(".")
    text = (Path(__file__).parent / f"{module}.py").read_text(encoding="utf-8")
    assert name == "py" or f"class {name}" in text


def fixes_in(tree: ast.AST, within: str = "") -> list[str]:
    """Classes and functions whose docstring names a release of pygls."""
    found: list[str] = []
    for each in ast.iter_child_nodes(tree):
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{within}{each.name}"
            if re.search(r"pygls \d+\.\d", ast.get_docstring(each) or ""):
                found.append(name)
            found += fixes_in(each, f"{name}.")
    return found
