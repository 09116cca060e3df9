"""No Python that anybody starts for us finds a module of the folder that it is started in."""

from __future__ import annotations

import ast
import itertools
import os
import re
import site
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ralph_ls.store.own_python import isolation, keep_search_path_absolute, own_command

ROOT = Path(__file__).resolve().parents[3]
SERVER = ROOT / "server" / "ralph_ls"

BUILDER = "store/own_python.py"
"""The one module that builds a command line of Python."""

SHOWN = {
    "engine/notify/delivery.py": "names the interpreter in the command that installs Apprise",
    "engine/fleet/extra.py": "names the interpreter in the command that installs the extra",
    "engine/doctor/project.py": "names the interpreter and looks for the program beside it",
}
"""Modules that read ``sys.executable`` and start nothing with it."""

CALLED_BY = {"own_command", "launcher"}

PYTHON = re.compile(r"(?:.*/)?(?:python[\d.]*|py)(?:\.exe)?")

COMMAND = re.compile(r"""executable|["']-[mc]["']""")
"""In each of them; parsing all modules takes seconds."""

TYPED = re.compile(r"(?:\bpython[\d.]*|\bpy -3)((?: -{1,2}\S+)*?) -[mc] (\S+)")

OF_THE_PROJECT = re.compile(r"unittest|pytest|coverage|hatchling|tests\.|…|\{")
"""Modules that belong in a work tree: its own tests, what builds this project, and none at all."""

GIT = ("git", "-c", "safe.directory=*")

SHOWING = ("docs/", "README", "SECURITY", "client-vscode/", "server/", "schemas/")

WRITTEN = {".md", ".lua", ".json", ".jsonc", ".toml", ".yml", ".yaml", ".py", ".txt", ".vim", ""}


def command_lines_in(name: str, text: str) -> Iterator[str]:
    """Every place that builds a command line of Python without ``own_command``."""
    if not COMMAND.search(text):
        return
    tree = ast.parse(text)
    within = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            is_python = node.attr == "executable" and getattr(node.value, "id", "") == "sys"
            if is_python and name not in SHOWN:
                yield f"{name}:{node.lineno}: sys.executable"
        elif isinstance(node, ast.List | ast.Tuple | ast.Call):
            found = node.args if isinstance(node, ast.Call) else node.elts
            words = [one.value for one in found if isinstance(one, ast.Constant)]
            named = [one for one in words if isinstance(one, str)]
            of_module = any(
                flag == "-m" and module.split(".")[0] in {"ralph_ls", "venv", "pip", "unittest"}
                for flag, module in itertools.pairwise(named)
            )
            called = any(PYTHON.fullmatch(one) for one in named) and {"-m", "-c"} & {*named}
            if (of_module or called) and not _goes_to_builder(node, within):
                yield f"{name}:{node.lineno}: {ast.unparse(node)}"


def _goes_to_builder(node: ast.AST | None, within: dict[ast.AST, ast.AST]) -> bool:
    """Whether it is an argument of ``own_command``, or a constant that only it is given."""
    while node is not None:
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in CALLED_BY:
            return True
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "_MODULE":
            return True
        node = within.get(node)
    return False


def typed_in(name: str, text: str) -> Iterator[str]:
    """Every command line of Python in a document that would import from the current folder."""
    for found in TYPED.finditer(text):
        flags, module = found[1].split(), found[2]
        if not {"-I", "-P"} & {*flags} and not OF_THE_PROJECT.match(module.strip("`'\"")):
            line = text.count("\n", 0, found.start()) + 1
            yield f"{name}:{line}: {found[0]}"


def test_every_command_line_of_python_is_built_in_one_module() -> None:
    modules = {path.relative_to(SERVER).as_posix(): path for path in SERVER.rglob("*.py")}
    of_others = {name for name in modules if name.startswith("engine/demo/files/")}
    assert {BUILDER, *SHOWN} <= modules.keys()
    found = [
        line
        for name, path in modules.items()
        if name != BUILDER and name not in of_others
        for line in command_lines_in(name, path.read_text(encoding="utf-8"))
    ]
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        "words = [sys.executable, '-m', 'ralph_ls']",
        "words = ['python3', '-c', code]",
        "run(('/usr/bin/python3.12', '-m', name))",
        "MODULE = ('-m', 'ralph_ls.engine.agent.acp')",
        "run('-m', 'ralph_ls')",
        "Popen(executable=sys.executable)",
    ],
)
def test_another_one_would_be_found(text: str) -> None:
    assert [*command_lines_in("x.py", text)]


def test_no_document_shows_one_that_imports_from_the_current_folder() -> None:
    listed = subprocess.run(
        [*GIT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    names = [name for name in os.fsdecode(listed.stdout).split("\0") if name]
    shown = [
        name
        for name in names
        if Path(name).suffix in WRITTEN
        and name.startswith(SHOWING)
        and "/generated/" not in name
        and "/files/" not in name
        and not name.endswith("package-lock.json")
    ]
    assert "docs/agents/hooks.md" in shown
    assert "client-vscode/package.json" in shown
    texts = {name: (ROOT / name) for name in shown if (ROOT / name).is_file()}
    found = [
        line
        for name, path in texts.items()
        for line in typed_in(name, path.read_text(encoding="utf-8", errors="replace"))
    ]
    assert found == []


@pytest.mark.parametrize(
    "text",
    ["python -m ralph_ls", "/a/python3.12 -m venv x", "python3 -B -m ralph_ls", "py -3 -m pip"],
)
def test_such_a_document_would_be_found(text: str) -> None:
    assert [*typed_in("x.md", text)]
    assert not [*typed_in("x.md", text.replace(" -m", " -I -m"))]


def test_the_command_starts_this_interpreter() -> None:
    words = own_command("-m", "ralph_ls", "--version")
    assert words == [sys.executable, words[1], "-m", "ralph_ls", "--version"]
    assert words[1] in {"-I", "-P"}


def test_it_is_isolated_where_the_package_is_found_without_pythonpath(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    package = str(ROOT / "server")
    monkeypatch.setattr(site, "ENABLE_USER_SITE", False)
    assert isolation({}) == "-I"
    assert isolation({"PYTHONPATH": os.pathsep.join(["", str(tmp_path)])}) == "-I"
    assert isolation({"PYTHONPATH": os.pathsep.join([str(tmp_path), package])}) == "-P"
    (tmp_path / "link").symlink_to(package)
    assert isolation({"PYTHONPATH": str(tmp_path / "link")}) == "-P"
    monkeypatch.setattr(site, "ENABLE_USER_SITE", True)
    monkeypatch.setattr(site, "getusersitepackages", lambda: package)
    assert isolation({}) == "-P"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, None),
        ("", None),
        (":", None),
        (".:lib", None),
        (":/more:", "/more"),
        ("/a:../b:/c", "/a:/c"),
    ],
)
def test_no_entry_of_the_search_path_follows_the_current_folder(
    monkeypatch: pytest.MonkeyPatch, before: str | None, after: str | None
) -> None:
    if before is None:
        monkeypatch.delenv("PYTHONPATH", raising=False)
    else:
        monkeypatch.setenv("PYTHONPATH", before)
    keep_search_path_absolute()
    assert os.environ.get("PYTHONPATH") == after


def test_ralphs_own_variables_reach_an_isolated_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``-I`` is about ``PYTHON*`` alone: the state folder is where the user has set it."""
    monkeypatch.delenv("PYTHONPATH", raising=False)
    code = "import os, sys; print(os.environ['RALPH_STATE_DIR'], sys.flags.isolated)"
    words = own_command("-c", code)
    environment = {**os.environ, "RALPH_STATE_DIR": str(tmp_path)}
    done = subprocess.run(
        words, env=environment, cwd=tmp_path, capture_output=True, check=True, text=True
    )
    assert done.stdout.split() == [str(tmp_path), "1" if words[1] == "-I" else "0"]
