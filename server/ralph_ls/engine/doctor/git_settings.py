"""Programs that git starts because the settings of this clone alone say so.

They are not run by looking, and not brought by ``git clone``; one who got the folder from somewhere
else should know of them before a run, in which git follows them.
"""

from __future__ import annotations

import re
from pathlib import Path

from ralph_ls.core.views.model.control_chars import escape_control_chars
from ralph_ls.core.views.report.doctor_checks import passed_check
from ralph_ls.protocol.json_output import CheckResult
from ralph_ls.store.external.git_command import run_git
from ralph_ls.store.external.git_safety import NO_TRANSPORT, programs_named

SHOWN = 6

LIST = "git config --local --list"

_TRANSPORT = re.compile(
    r"core\.(?:askpass|gitproxy|sshcommand)|credential\..*|protocol\..*|remote\..*", re.IGNORECASE
)


def check_git_settings(root: Path) -> list[CheckResult]:
    """Name them; nothing where there are none."""
    named = [escape_control_chars(key) for key in _named(root)]
    if not named:
        return []
    more = ", …" if len(named) > SHOWN else ""
    keys = ", ".join(named[:SHOWN]) + more
    message = f"in this clone alone git is set to start programs: {keys} ({LIST})"
    return [passed_check("git-programs", message)]


def transports(root: Path) -> tuple[str, ...]:
    """Those that git would start to reach a remote."""
    return tuple(escape_control_chars(key) for key in _named(root) if _TRANSPORT.fullmatch(key))


def _named(root: Path) -> list[str]:
    def ask(*arguments: str) -> bytes:
        return run_git(root, *arguments, settings=NO_TRANSPORT)

    return list(dict.fromkeys(key for key, _ in programs_named(ask)))
