"""Which of the known agents are here, which version, and whether somebody seems to be logged in.

Each is asked for its version, and for nothing else: outside the work tree, all at once, for a
short time, in a process group that ends with it. One that the work tree brings is not asked.
Whether an account still holds is known to the agent's maker alone, and nobody is asked over the
network.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ralph_ls.core.views.report.doctor_checks import warning_check
from ralph_ls.engine.agent_choice import adapter_of
from ralph_ls.engine.agent_description import Description
from ralph_ls.engine.environment import base_agent_environment
from ralph_ls.engine.known_agents import DESCRIPTIONS
from ralph_ls.protocol.config.config import Committer, Config
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.json_output import AgentSeen, CheckResult
from ralph_ls.store.external.git_command import run_git
from ralph_ls.store.external.programs import find_trusted_program, run_program
from ralph_ls.store.layout import Worktree

PATIENCE = 20.0
"""Seconds that a program gets to say its version."""

_LARGEST_ANSWER = 10_000
_VERSION = re.compile(r"\d+(?:\.\d+)+(?:[-+][0-9A-Za-z.+-]*[0-9A-Za-z])?")


def look_for_agents(
    root: Path,
    environment: Mapping[str, str],
    *,
    only: Sequence[str] | None = None,
    patience: float = PATIENCE,
) -> tuple[AgentSeen, ...]:
    """All that are known by name; ``only`` are the variables that a run would pass on."""
    around = base_agent_environment(environment, only=only)
    with ThreadPoolExecutor(len(DESCRIPTIONS), "version of an agent") as pool:
        asked = [pool.submit(_look, one, root, around, patience) for one in DESCRIPTIONS.values()]
        return tuple(answer.result() for answer in asked)


def check_commits_of(worktree: Worktree, config: Config) -> list[CheckResult]:
    """Whether the run's agent could commit in somebody's name, where it is to do so."""
    adapter = adapter_of(config.agent, config)
    known = None if adapter is None else DESCRIPTIONS.get(adapter)
    if known is None or not known.hides_own_git or config.commits is Committer.LOOP:
        return []
    try:
        run_git(worktree.root, "config", "--local", "--get", "user.email")
    except RalphError:
        message = (
            f"the agent {config.agent} keeps your own git settings from the commands that it "
            "runs, and the repository names nobody to commit as"
        )
        remedy = (
            "git config --local user.name 'Your Name'; "
            "git config --local user.email you@example.com"
        )
        return [warning_check("git-identity", message, remedy)]
    return []


def _look(known: Description, root: Path, around: Mapping[str, str], patience: float) -> AgentSeen:
    program = find_trusted_program(known.program, root, around.get("PATH", ""))
    version = None if program is None else _version(program, around, patience)
    return AgentSeen(
        name=known.name,
        program=None if program is None else program.encode(errors="backslashreplace").decode(),
        version=version,
        account=None if program is None else account_of(known, around),
        install=known.install,
        login=known.login,
    )


def _version(program: str, around: Mapping[str, str], patience: float) -> str | None:
    # Some read settings of the folder that they are started in.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        try:
            printed = run_program(
                [program, "--version"],
                cwd=Path(folder),
                environment=around,
                timeout_seconds=patience,
                largest_answer=_LARGEST_ANSWER,
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
    found = _VERSION.search(printed.stdout) or _VERSION.search(printed.stderr)
    return found[0] if found is not None and printed.code == 0 else None


def account_of(known: Description, around: Mapping[str, str]) -> str | None:
    """What tells that somebody has logged in: a variable that is set, or a file that is there."""
    key = next((name for name in known.keys if around.get(name)), None)
    if key is not None:
        return f"{key} is set"
    home = around.get("HOME") or around.get("USERPROFILE")
    for name in known.accounts:
        path = _moved(name, known.homes, around) or (Path(home, name) if home else None)
        if path is not None and path.is_file():
            return f"{path} is there".encode(errors="backslashreplace").decode()
    return None


def _moved(name: str, homes: Mapping[str, str], around: Mapping[str, str]) -> Path | None:
    for variable, folder in homes.items():
        if around.get(variable) and name.startswith(f"{folder}/"):
            return Path(around[variable], name.removeprefix(f"{folder}/"))
    return None
