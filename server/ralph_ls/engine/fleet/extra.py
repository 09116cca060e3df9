"""Optional extra of a fleet: whether its packages are installed, and how to get them."""

from __future__ import annotations

import os
import shlex
import sys
from importlib.util import find_spec
from pathlib import Path

from ralph_ls.protocol.errors import RalphError

PACKAGES = ("dbos", "sqlalchemy")


def has_extra() -> bool:
    """Whether what a fleet needs is installed; imports none of it."""
    return all(find_spec(name) is not None for name in PACKAGES)


def install_command() -> str:
    """The command that installs the extra beside this program."""
    program = shlex.quote(os.fspath(Path(sys.executable)))
    if find_spec("pip") is not None:
        return f"{program} -m pip install 'ralph-ls[fleet]'"
    return f"uv pip install --python {program} 'ralph-ls[fleet]'"


def require_extra() -> None:
    """Raise a ``RalphError`` that says how to get what is missing."""
    if not has_extra():
        raise RalphError(
            f"ralph fleet needs an optional extra that is not installed; get it with: "
            f"{install_command()}"
        )
