"""Stop hook: the command that an agent's program runs, and a check whether it answers.

Settings come with a repository, so only a command that is certainly our own hook is run, and never
a program of the work tree.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

from ralph_ls.core.setup.hooks import HOOK_PLACES, hook_in, launcher, words_of_hook
from ralph_ls.protocol.errors import StateUnusable
from ralph_ls.store.external.programs import find_trusted_program, run_program
from ralph_ls.store.files import read_regular
from ralph_ls.store.own_python import own_command

TIMEOUT_SECONDS = 20.0
LARGEST_ANSWER = 64 * 1024
RENEW = "ralph init --hooks"
_QUESTION = json.dumps({"hook_event_name": "Stop", "stop_hook_active": False})


def own_launcher() -> str:
    """Command that runs this ``ralph``, whatever the agent's PATH."""
    return launcher(own_command)


def check_hook(root: Path, agent: str, environment: Mapping[str, str]) -> str | None:
    """Problem of the stop hook in an agent's settings, with the remedy; empty where it works,
    None where there is none.

    ``environment`` is the agent's, since its program starts the hook.
    """
    place = HOOK_PLACES.get(agent)
    if place is None:
        return None
    try:
        data = read_regular(root / place.path)
    except StateUnusable:
        return None
    if data is None:
        return None
    text = data.decode("utf-8", errors="replace")
    command = hook_in(text, place)
    words = None if command is None else words_of_hook(command)
    if words is None:
        return None
    program: str | None = words[0]
    if command != own_launcher():
        program = find_trusted_program(words[0], root, environment.get("PATH", ""))
    if program is None:
        return (
            f"the stop hook in {place.path} cannot be started: {agent} finds no {words[0]} "
            f"outside this work tree; write it again with: {RENEW} --agent {agent}"
        )
    problem = _ask([program, *words[1:]], root, environment)
    if not problem:
        return ""
    return (
        f"the stop hook in {place.path} does not answer: {problem}; write it again with: "
        f"{RENEW} --agent {agent}"
    )


def _ask(words: list[str], root: Path, environment: Mapping[str, str]) -> str:
    """Why a hook does not answer; empty where it does."""
    try:
        printed = run_program(
            words,
            cwd=root,
            environment=environment,
            timeout_seconds=TIMEOUT_SECONDS,
            largest_answer=LARGEST_ANSWER,
            typed=_QUESTION,
        )
    except subprocess.TimeoutExpired:
        return f"no answer in {TIMEOUT_SECONDS:g} s"
    except OSError as error:
        return f"{words[0]} cannot be run: {error.strerror or error}"
    if printed.code != 0:
        last = next((line for line in reversed(printed.stderr.splitlines()) if line.strip()), "")
        return f"it ended with code {printed.code}{f', {last}' if last else ''}"
    return ""
