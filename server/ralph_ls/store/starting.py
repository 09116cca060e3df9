"""Starting a run in the background, for whoever asks: a terminal or an editor.

What keeps a run from starting is found by the engine itself, in a process of its own; it says
which error of ours it was beside the words, so that the asker can raise the very same one.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ralph_ls.core.loop.ownership import Settlement
from ralph_ls.protocol.config import Config, OnHalt, ProfileName
from ralph_ls.protocol.errors import NoEngine, RalphError, UsageError
from ralph_ls.protocol.request import STDIN
from ralph_ls.store.config_file import earlier_choice, load_settings, require_one_profile
from ralph_ls.store.launch import Launched, launch_detached
from ralph_ls.store.layout import RunFiles, StateFolder, Worktree, new_run_id
from ralph_ls.store.runs import find_run

EDITOR_LIMIT = 20
"""Iterations of a start that names no limit, where the settings have none either (SPEC §3)."""

REFUSED = "ralph-refused: "
"""How a launched engine's line on standard error begins that names the error's class."""

FLAGS = {
    "profile": "--profile",
    "agent": "--agent",
    "paths.plan": "--plan",
    "mode": "--mode",
    "task": "--task",
    "max_stuck": "--max-stuck",
    "timeout": "--timeout",
    "max_duration": "--max-time",
    "max_cost_usd": "--max-cost",
    "max_tokens": "--max-tokens",
    "on_halt": "--on-halt",
    "issue.file": "--issue",
    "issue.github": "--issue",
    "models.every": "--model",
}

REPEATED = {"tools.allow": "--allow-tool", "tools.deny": "--deny-tool"}
"""Flags that are given once for each value."""


class EngineFailed(RalphError):
    """A launched engine ended before its run began, and named none of our errors."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


@dataclass(frozen=True, slots=True, kw_only=True)
class StartOrder:
    """What somebody wants run in the background."""

    environment: Mapping[str, str]
    overrides: Mapping[str, Any] = field(default_factory=dict)
    """Dotted snake_case key to value: what was given for this run alone."""
    resume: bool = False
    """Go on with the last run that did not end with 0."""
    settle: Settlement | None = None
    """What is to be done with all that an open iteration of it left."""
    by: str | None = None
    """Who resumes it, where that is not the terminal."""
    read_stdin: Callable[[], bytes] | None = None
    """What came on standard input, for a request that is there; None: nothing can."""
    default_limit: int | None = None
    """Iterations, where neither the order nor the settings have a limit; None: refuse that."""


_FLAGS = {Settlement.TAKE_ALL: "--take-all", Settlement.LEAVE: "--leave"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """A run that goes on in the background."""

    run: str
    pid: int
    limit: int | None
    """Iterations that it may take; None where only its duration is limited."""
    files: RunFiles


def start_detached(
    worktree: Worktree, state: StateFolder, order: StartOrder, now: datetime
) -> Begun:
    """Start an engine and wait until its run has begun.

    Raises the ``RalphError`` that the engine was refused with, ``UsageError`` without a limit,
    ``NoEngine`` where there is no run to resume. Blocks.
    """
    given = {key: value for key, value in order.overrides.items() if value is not None}
    known, earlier = given, None
    run = new_run_id(now)
    files = state.run(run)
    if order.resume:
        found = find_run(worktree, state)
        if found is None:
            raise NoEngine(f"there was never a run in {worktree.root}; start one with: ralph run")
        run, files, known = found.state.run, found.files, {**found.state.overrides, **given}
        earlier = earlier_choice(found.state)
    settings = load_settings(worktree.root, order.environment, known, earlier=earlier)
    require_one_profile(settings)
    config = settings.config
    if order.default_limit is None:
        _require_limit(config)
    elif config.max_iterations is None and config.max_duration is None:
        given["max_iterations"] = order.default_limit
    on_halt = config.on_halt or OnHalt.WAIT
    arguments = [*run_arguments({**given, "on_halt": on_halt.value}), "--run-id", run]
    arguments += ["--resume"] if order.resume else []
    arguments += [] if order.settle is None else [_FLAGS[order.settle]]
    # In one word with its flag, so that a name which begins with a dash is still a name.
    arguments += [f"--by={order.by}"] if order.by else []
    is_on_stdin = config.profile is ProfileName.ISSUE and config.issue.file == STDIN
    launched = launch_detached(
        arguments,
        cwd=worktree.root,
        environment=order.environment,
        files=files,
        given=order.read_stdin() if order.read_stdin and is_on_stdin and not order.resume else b"",
    )
    if not launched.started:
        raise _refusal_of(launched, files)
    limit = given.get("max_iterations", config.max_iterations)
    return Begun(run=run, pid=launched.pid, limit=limit, files=files)


def _require_limit(config: Config) -> None:
    """Raise ``UsageError`` where nothing is sure to end the run."""
    is_metered = config.max_cost_usd is not None or config.max_tokens is not None
    is_bound = config.max_iterations is not None or config.max_duration is not None
    if not is_bound and (config.allow_unmetered or not is_metered):
        raise UsageError("a run in the background needs a limit, such as: ralph run 20 --detach")


def run_arguments(overrides: Mapping[str, Any]) -> list[str]:
    """The command line that gives these overrides again, for a process of its own."""
    arguments = ["run"]
    if overrides.get("max_iterations") is not None:
        arguments.append(str(overrides["max_iterations"]))
    if overrides.get("allow_unmetered"):
        arguments.append("--allow-unmetered")
    if overrides.get("skip_review"):
        arguments.append("--skip-review")
    if overrides.get("push") is not None:
        arguments.append("--push" if overrides["push"] else "--no-push")
    for key, flag in REPEATED.items():
        arguments += [word for value in overrides.get(key) or () for word in (flag, str(value))]
    table = overrides.get("agents.command")
    for key, flag in FLAGS.items():
        value = overrides.get(key)
        if value not in {None, ""} and not (key == "agent" and table is not None):
            arguments += [flag, str(value)]
    if table is not None:
        arguments += ["--agent-command", shlex.join(table["argv"])]
        arguments += ["--agent-prompt", table["prompt"]]
    return arguments


@contextmanager
def telling_refusals() -> Iterator[None]:
    """Around a launched engine: name the error that keeps its run from beginning."""
    try:
        yield
    except RalphError as error:
        sys.stderr.write(f"{REFUSED}{type(error).__name__}\n")
        raise


def _refusal_of(launched: Launched, files: RunFiles) -> RalphError:
    """The error that the engine ended with, in its own words."""
    told = told_refusal(launched.error)
    if told is not None:
        return told
    lines = launched.error.splitlines()
    exit_code = launched.exit_code or RalphError.exit_code
    last = lines[-1].removeprefix("ralph: ") if lines else "it said nothing"
    return EngineFailed(
        f"the engine ended with {exit_code} before its run began: {last}; "
        f"all that it said is in {files.engine_errors}",
        exit_code,
    )


def told_refusal(errors: str) -> RalphError | None:
    """The error of ours that a process named on its standard error, in its own words."""
    lines = errors.splitlines()
    for index in reversed(range(len(lines))):
        if lines[index].startswith(REFUSED):
            cls = _errors().get(lines[index].removeprefix(REFUSED).strip())
            message = "\n".join(lines[index + 1 :]).removeprefix("ralph: ").strip()
            if cls is not None and message:
                return cls(message)
    return None


def _errors() -> dict[str, type[RalphError]]:
    """Every error of ours that is made of a message alone, by its name."""
    found: dict[str, type[RalphError]] = {}
    waiting: list[type[RalphError]] = [RalphError]
    while waiting:
        cls = waiting.pop()
        if cls is not EngineFailed:
            found[cls.__name__] = cls
        waiting += cls.__subclasses__()
    return found
