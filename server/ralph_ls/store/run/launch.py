"""Launch: starts an engine in the background, or runs one of our commands.

The new process has a separate session, so closing the terminal or the editor does not end it. Its
standard error goes to ``engine.err`` beside the run's journal (docs/rules.md#run). The work tree's
modules are kept off its import path (`own_python`).

The engine itself finds what keeps a run from starting. It names the class of its error beside the
message, so that the caller can raise the same error.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from ralph_ls.core.loop.evidence.ownership import OwnershipOrder
from ralph_ls.protocol.config.config import Config, OnHalt, ProfileName
from ralph_ls.protocol.errors import REPORT_CLASS, NoEngine, RalphError, UsageError
from ralph_ls.protocol.plan import STDIN
from ralph_ls.protocol.run.events import RunResumed, RunStarted
from ralph_ls.store.files import PRIVATE_FILE, make_private_folder
from ralph_ls.store.layout import RunFiles, StateFolder, Worktree, new_run_id
from ralph_ls.store.own_python import own_command
from ralph_ls.store.project.config_file import load_settings, previous_choice, require_one_profile
from ralph_ls.store.project.setting_problems import FLAGS
from ralph_ls.store.run.engine_output import launcher_variable
from ralph_ls.store.run.follow import LIVE_INTERVAL, FolderWatch, Tail
from ralph_ls.store.run.journal import JournalReader
from ralph_ls.store.run.runs import find_run

ERROR_TAIL = 4000


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchResult:
    """Result of a launch."""

    pid: int
    started: bool
    exit_code: int | None = None
    error: str = ""
    """Standard error of the process, where the run did not start."""


def command_line(arguments: Sequence[str]) -> list[str]:
    """Command line of our program."""
    return own_command("-m", "ralph_ls", *arguments)


def launch_detached(
    arguments: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    files: RunFiles,
    given: bytes = b"",
) -> LaunchResult:
    """Start an engine in the background and wait until its run has started or failed.

    ``given`` is its standard input.
    """
    make_private_folder(files.folder)
    before = files.journal.stat().st_size if files.journal.exists() else 0
    errors_before = files.engine_errors.stat().st_size if files.engine_errors.exists() else 0
    changed = threading.Event()
    with FolderWatch([files.folder], changed.set):
        process = _start(arguments, cwd, environment, files.engine_errors, given)
        tail, reader = Tail(files.journal, offset=before), JournalReader()
        while True:
            changed.clear()
            exit_code = process.poll()
            if _has_begun(tail, reader):
                # Its starter reaps it, however long it runs.
                threading.Thread(target=process.wait, name="reaper", daemon=True).start()
                return LaunchResult(pid=process.pid, started=True)
            if exit_code is not None:
                error = _error_of(files.engine_errors, errors_before)
                return LaunchResult(
                    pid=process.pid, started=False, exit_code=exit_code, error=error
                )
            changed.wait(timeout=LIVE_INTERVAL)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletedCommand:
    """Result of one of our commands."""

    exit_code: int
    out: str
    error: str
    """End of its standard error."""


def run_to_end(
    arguments: Sequence[str], *, cwd: Path, environment: Mapping[str, str]
) -> CompletedCommand:
    """Run our own program in a separate process and wait for its end; it has no input.

    `parse_refusal` finds the error of any verb in what it wrote.
    It is not ended with the waiting process, so that its changes are complete.
    """
    done = subprocess.run(
        command_line(arguments),
        cwd=cwd,
        env={**environment, REPORT_CLASS: "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        start_new_session=sys.platform != "win32",
    )
    return CompletedCommand(
        exit_code=done.returncode,
        out=done.stdout.decode("utf-8", errors="replace"),
        error=done.stderr.decode("utf-8", errors="replace").strip()[-ERROR_TAIL:],
    )


def _start(
    arguments: Sequence[str],
    cwd: Path,
    environment: Mapping[str, str],
    errors: Path,
    given: bytes,
) -> subprocess.Popen[bytes]:
    flags = 0
    if sys.platform == "win32":
        flags = subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.DETACHED_PROCESS
    errors.touch(mode=PRIVATE_FILE)
    with errors.open("ab") as error_file, tempfile.TemporaryFile() as given_file:
        given_file.write(given)
        given_file.seek(0)
        return subprocess.Popen(
            command_line(arguments),
            cwd=cwd,
            env={**environment, **launcher_variable()},
            stdin=given_file if given else subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=error_file,
            start_new_session=sys.platform != "win32",
            creationflags=flags,
        )


def _has_begun(tail: Tail, reader: JournalReader) -> bool:
    begun = False
    while data := tail.read():
        for event in reader.feed(data):
            begun = begun or isinstance(event, RunStarted | RunResumed)
    return begun


def _error_of(path: Path, offset: int) -> str:
    data = Tail(path, offset=offset).read()
    return data.decode("utf-8", errors="replace").strip()[-ERROR_TAIL:]


EDITOR_LIMIT = 20
"""Iterations of a start without a limit, where the settings have none either.

See docs/rules.md#budgets.
"""

REFUSED = "ralph-refused: "
"""Prefix of the line on a launched engine's standard error with the class of its error."""

HELP_HINT = "Try: ralph "
"""Prefix of the line about help in a terminal that follows a message about wrong usage."""

SWITCHES = {
    "allow_unmetered": "--allow-unmetered",
    "lane.direct": "--direct",
    "skip_review": "--skip-review",
}
"""Flags without a value."""

REPEATED = {"tools.allow": "--allow-tool", "tools.deny": "--deny-tool"}
"""Flags that are repeated for each value."""


class EngineStartFailed(RalphError):
    """A launched engine ended before its run started, without one of our errors."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


@dataclass(frozen=True, slots=True, kw_only=True)
class StartOrder:
    """Order to start a run in the background."""

    environment: Mapping[str, str]
    overrides: Mapping[str, Any] = field(default_factory=dict)
    """Dotted snake_case key to value, for this run only."""
    resume: bool = False
    """Resume the last run that did not end with 0."""
    settle: OwnershipOrder | None = None
    """What to do with the changes of its open iteration."""
    by: str | None = None
    """Who resumes it, unless it is the terminal."""
    read_stdin: Callable[[], bytes] | None = None
    """Reads a request from standard input; None where there is no input."""
    default_limit: int | None = None
    """Iterations, where neither the order nor the settings have a limit; None: raise instead."""


_FLAGS = {OwnershipOrder.TAKE_ALL: "--take-all", OwnershipOrder.LEAVE: "--leave"}


@dataclass(frozen=True, slots=True, kw_only=True)
class StartedRun:
    """A run that was started in the background."""

    run: str
    pid: int
    limit: int | None
    """Limit of iterations; None where only the duration is limited."""
    files: RunFiles


def start_detached(
    worktree: Worktree, state: StateFolder, order: StartOrder, now: datetime
) -> StartedRun:
    """Start an engine and wait until its run has started; blocks.

    Raises the ``RalphError`` of the engine, ``UsageError`` without a limit, and ``NoEngine`` where
    there is no run to resume.
    """
    given = {key: value for key, value in order.overrides.items() if value is not None}
    known, earlier = given, None
    run = new_run_id(now)
    files = state.run(run)
    if order.resume:
        found = find_run(worktree, state)
        if found is None:
            raise NoEngine(f"no run in {worktree.root} yet; start one with: ralph run")
        run, files, known = found.state.run, found.files, {**found.state.overrides, **given}
        earlier = previous_choice(found.state)
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
    # In one word with its flag, so that a name may begin with a dash.
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
    return StartedRun(run=run, pid=launched.pid, limit=limit, files=files)


def _require_limit(config: Config) -> None:
    """Raise ``UsageError`` where no limit ends the run."""
    is_metered = config.max_cost_usd is not None or config.max_tokens is not None
    is_bound = config.max_iterations is not None or config.max_duration is not None
    if not is_bound and (config.allow_unmetered or not is_metered):
        raise UsageError("a run in the background needs a limit, such as: ralph run 20 --detach")


def run_arguments(overrides: Mapping[str, Any]) -> list[str]:
    """Command line with these overrides, for a separate process."""
    arguments = ["run"]
    if overrides.get("max_iterations") is not None:
        arguments.append(str(overrides["max_iterations"]))
    arguments += [flag for key, flag in SWITCHES.items() if overrides.get(key)]
    if overrides.get("push") is not None:
        arguments.append("--push" if overrides["push"] else "--no-push")
    for key, flag in REPEATED.items():
        arguments += [word for value in overrides.get(key) or () for word in (flag, str(value))]
    table = overrides.get("agents.command")
    if table is None:
        return arguments + _flags_of(overrides)
    # A command takes the place of an agent that is known by name.
    arguments += _flags_of({**overrides, "agent": None})
    command = shlex.join(table["argv"])
    return [*arguments, "--agent-command", command, "--agent-prompt", table["prompt"]]


def _flags_of(overrides: Mapping[str, Any]) -> list[str]:
    given = [(flag, overrides.get(key)) for key, flag in FLAGS.items()]
    return [word for flag, value in given if value not in {None, ""} for word in (flag, str(value))]


@contextmanager
def reporting_refusals() -> Iterator[None]:
    """Context of a launched engine that reports the error which keeps its run from starting."""
    try:
        yield
    except RalphError as error:
        report_class(error)
        raise


def report_class(error: RalphError) -> None:
    """Write the class of an error to standard error, where its message follows."""
    sys.stderr.write(f"{REFUSED}{type(error).__name__}\n")


def _refusal_of(launched: LaunchResult, files: RunFiles) -> RalphError:
    """The error of an engine, with its message."""
    refusal = parse_refusal(launched.error)
    if refusal is not None:
        return refusal
    lines = launched.error.splitlines()
    exit_code = launched.exit_code or RalphError.exit_code
    last = lines[-1].removeprefix("ralph: ") if lines else "no output"
    return EngineStartFailed(
        f"the engine ended with {exit_code} before the run began: {last}; its full output is in "
        f"{files.engine_errors}",
        exit_code,
    )


def parse_refusal(errors: str) -> RalphError | None:
    """The error that one of our processes reported on standard error, with its message."""
    lines = errors.splitlines()
    for index in reversed(range(len(lines))):
        if lines[index].startswith(REFUSED):
            cls = _errors().get(lines[index].removeprefix(REFUSED).strip())
            told = [line for line in lines[index + 1 :] if not line.startswith(HELP_HINT)]
            message = "\n".join(told).removeprefix("ralph: ").strip()
            if cls is not None and message:
                return cls(message)
    return None


def _errors() -> dict[str, type[RalphError]]:
    """All of our errors that take only a message, by name."""
    found: dict[str, type[RalphError]] = {}
    waiting: list[type[RalphError]] = [RalphError]
    while waiting:
        cls = waiting.pop()
        if cls is not EngineStartFailed:
            found[cls.__name__] = cls
        waiting += cls.__subclasses__()
    return found
