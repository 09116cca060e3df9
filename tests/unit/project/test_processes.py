"""Every process is started by the supervisor, or in one of few places that say why not."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import ralph_ls

PACKAGE = Path(ralph_ls.__file__).parent
# The sample project of the demo is somebody else's project, as far as these rules go.
SAMPLE = PACKAGE / "engine" / "demo" / "files"

ELSEWHERE = {
    "client/client.py": "a server of another program, which ends with its connection",
    "store/external/supervisor.py": "it is the supervisor",
    "engine/process/running_process.py": (
        "the event loop's way: agents, validation, on_*, commits and pushes"
    ),
    "engine/process/reaper.py": "the nursery of agents, which ends with this process",
    "engine/process/reaper_main.py": "it is the nursery: it forks reapers, and those agents",
    "engine/parallel/lane_main.py": (
        "it forks the engines of lanes, which outlive the run, as those of store/run/launch.py do"
    ),
    "engine/parallel/lane_starter.py": "starts the process that forks them, which ends with it",
    "engine/worktree/keeper.py": (
        "the keeper outlives an engine that was killed, which is its purpose"
    ),
    "engine/agent/acp/__main__.py": (
        "it is an agent's process itself and ends with that one's group"
    ),
    "engine/agent/interactive.py": "the agent's own program, in the user's terminal",
    "store/external/foreground_process.py": (
        "our own program in the user's terminal; ended with the run"
    ),
    "store/project/config_edit.py": "the user's editor, in the user's terminal",
    "store/run/launch.py": "an engine in the background outlives whoever started it",
    "store/run/one_shot_process.py": (
        "our own program, which ends with its standard input; ended by end_family"
    ),
}
"""The modules that start processes, and why each does."""

STARTS = {
    "Popen",
    "call",
    "check_call",
    "check_output",
    "create_subprocess_exec",
    "create_subprocess_shell",
    "fork",
    "forkpty",
    "getoutput",
    "getstatusoutput",
    "popen",
    "posix_spawn",
    "posix_spawnp",
    "subprocess_exec",
    "subprocess_shell",
    "startfile",
    "system",
}
OF_SUBPROCESS = {"run"}
BEGINNINGS = ("exec", "spawn")
MODULES = {"os", "subprocess", "asyncio", "multiprocessing", "pty"}

MAY_START = re.compile(
    rf"\b(?:{'|'.join(sorted(STARTS))}|subprocess\.run|(?:{'|'.join(BEGINNINGS)})\w*)\s*\("
    rf"|\bimport\b[^\n]*\b(?:git|pty|sh)\b|\bfrom\s+(?:git|{'|'.join(sorted(MODULES))})\b"
)
"""What a module has that starts a process; most have nothing of it, and need not be parsed."""


def starts_in(source: str) -> list[str]:
    """What in a module starts a process, by the names that it is called by."""
    if MAY_START.search(source) is None:
        return []
    nodes = list(ast.walk(ast.parse(source)))
    imported = {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in nodes
        if isinstance(node, ast.ImportFrom) and node.module in MODULES
        for alias in node.names
    }
    return [found for node in nodes if (found := _start_of(node, imported))]


def _start_of(node: ast.AST, imported: dict[str, str]) -> str:
    if isinstance(node, ast.Import):
        foreign = {alias.name.partition(".")[0] for alias in node.names} & {"git", "pty", "sh"}
        return next(iter(foreign), "")
    if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "git":
        return "git"
    if not isinstance(node, ast.Call):
        return ""
    match node.func:
        case ast.Attribute(value=ast.Name(id="subprocess"), attr=name) if name in OF_SUBPROCESS:
            return f"subprocess.{name}"
        case ast.Attribute(value=ast.Name(id="os"), attr=name) if name.startswith(BEGINNINGS):
            return f"os.{name}"
        case ast.Attribute(attr=name) if name in STARTS:
            return name
        case ast.Name(id=name) if name in imported:
            last = imported[name].rpartition(".")[2]
            is_start = last in STARTS | OF_SUBPROCESS or last.startswith(BEGINNINGS)
            return imported[name] if is_start else ""
        case _:
            return ""


def modules() -> Iterator[Path]:
    for path in sorted(PACKAGE.rglob("*.py")):
        if not path.is_relative_to(SAMPLE):
            yield path


def test_only_the_supervisor_and_few_others_start_processes() -> None:
    found = {
        path.relative_to(PACKAGE).as_posix(): starts
        for path in modules()
        if (starts := starts_in(path.read_text(encoding="utf-8")))
    }
    assert set(found) == set(ELSEWHERE), found


@pytest.mark.parametrize(
    "source",
    [
        "import subprocess\nsubprocess.run(['git'])",
        "from subprocess import run as go\ngo(['git'])",
        "import subprocess as s\ns.Popen(['git'])",
        "import os\nos.system('git')",
        "import os\nos.execvp('git', [])",
        "import os\nos.posix_spawn('git', [], {})",
        "import os\nos.fork()",
        "import asyncio\nasyncio.create_subprocess_exec('git')",
        "async def x(loop): await loop.subprocess_exec(None)",
        "from git.cmd import Git",
        "import git",
    ],
)
def test_the_search_finds_each_way(source: str) -> None:
    assert starts_in(source)


def test_other_words_are_not_taken_for_one() -> None:
    source = "from x import run\nrun()\nself.call_later(1)\nloop.run()\nos.execution = 1"
    assert starts_in(source) == []
