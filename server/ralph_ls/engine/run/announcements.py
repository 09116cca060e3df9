"""Announcement of a pull request that is ready: the command ``on_pr_ready``.

One process, started once, with a time limit, ended with the run's other processes. Its payload
is in its environment and, as JSON, on its standard input; nothing that an agent or a stranger wrote
becomes part of a command line. A failure is reported and changes nothing in the run.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ralph_ls.core.loop.effects import Announce
from ralph_ls.core.loop.inputs import AnnouncementDone, Notice
from ralph_ls.core.views.model.control_chars import escape_control_chars
from ralph_ls.engine.agent.environment import agent_environment, find_program
from ralph_ls.engine.git import worktree_state
from ralph_ls.engine.notify.notifier import OPEN
from ralph_ls.engine.process import running_process
from ralph_ls.engine.worktree.workspace import Workspace
from ralph_ls.protocol.config.config import CONFIG_FILE
from ralph_ls.protocol.errors import AgentUnavailable, RalphError
from ralph_ls.protocol.run.state import RunState
from ralph_ls.store.files import PRIVATE_FILE, names_in, read_if_there, write_atomic
from ralph_ls.store.layout import RunFiles
from ralph_ls.store.project import trust
from ralph_ls.store.run.ancestry import MARKER

TIME_LIMIT_SECONDS = 600.0
"""Seconds after which a command is ended; pushing a large repository takes its time."""

SHOWN_CHARACTERS = 300
"""Of what a command printed, from its last line on backwards."""

LONGEST_VARIABLE = 4000
"""Characters of a variable."""

KEY, EVENT, CODE = "on_pr_ready", "prReady", "on-pr-ready"
"""The setting that has the command, the event that it gets, and the code of its outcome."""

SUBJECT = f"the command {KEY}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Command:
    """One command, ready to be started."""

    argv: tuple[str, ...]
    environment: dict[str, str]
    given: bytes
    """Its standard input."""
    files: Path
    """Its files in the run's folder, without a suffix."""
    shown: str
    """The same command for a shell, in the work tree."""
    open: str
    """The code of its outcome and what it is, kept in a file until it has ended."""


class Announcements:
    """What the performer does for those outside."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._running: set[running_process.RunningProcess] = set()
        self._stopping = False
        self._numbers = itertools.count(1)

    async def announce(self, order: Announce, run: RunState) -> AnnouncementDone:
        """Run the command or post the comment, and return the outcome; agents cannot break it."""
        what = SUBJECT
        name = self._free_name()
        try:
            command = await asyncio.to_thread(self._command, order, run, name)
        except (RalphError, OSError) as error:
            why = error.message if isinstance(error, RalphError) else str(error)
            return _failed(f"{what} was not started: {why}", "")
        mark = command.files.with_suffix(OPEN)
        try:
            write_atomic(mark, command.open.encode(), mode=PRIVATE_FILE)
            ended, said = await self._run(command)
        except (RalphError, OSError) as error:
            why = error.message if isinstance(error, RalphError) else str(error)
            return _failed(f"{what} failed: {why}", self._by_hand(command))
        finally:
            mark.unlink(missing_ok=True)
        tail = f": {said}" if said else ""
        if ended.exit_code == 0 and not ended.timed_out:
            return AnnouncementDone(code=CODE, message=f"{what} succeeded{tail}")
        return _failed(f"{what} {_how(ended)}{tail}", self._by_hand(command))

    def stop(self) -> None:
        """End whatever runs, with all its children."""
        self._stopping = True
        for running in self._running:
            running.stop()

    def _free_name(self) -> str:
        """The name of the next command's files, free also in the folder of a resumed run."""
        folder = self._workspace.files.folder
        names = (f"announced-{number:03d}" for number in self._numbers)
        return next(name for name in names if not (folder / f"{name}.out").exists())

    async def _run(self, command: _Command) -> tuple[running_process.ProcessExit, str]:
        printed = bytearray()

        def keep(_stream: str, data: bytes) -> None:
            printed.extend(data)
            del printed[: -16 * SHOWN_CHARACTERS]

        launch = running_process.Launch(
            argv=command.argv,
            cwd=self._workspace.root,
            environment=command.environment,
            stdin=command.given,
            stdout_path=command.files.with_suffix(".out"),
            stderr_path=command.files.with_suffix(".err"),
            marker=command.environment[MARKER],
            timeout_seconds=TIME_LIMIT_SECONDS,
            idle_timeout_seconds=None,
            grace_seconds=running_process.GRACE_SECONDS,
            may_leave=True,
        )
        running = await running_process.start(
            launch, redactor=self._workspace.redactor, on_output=keep
        )
        self._running.add(running)
        try:
            if self._stopping:
                running.stop()
            ended = await running.wait()
        finally:
            self._running.discard(running)
        return ended, _transcript_tail(printed.decode("utf-8", errors="replace"))

    def _by_hand(self, command: _Command) -> str:
        """The shell command that repeats it; its standard input is kept in a file for that."""
        given = command.files.with_suffix(".in")
        try:
            write_atomic(given, command.given, mode=PRIVATE_FILE)
        except (RalphError, OSError):
            return command.shown
        return f"{command.shown} <{shlex.quote(str(given))}"

    def _command(self, order: Announce, run: RunState, name: str) -> _Command:
        workspace = self._workspace
        told = self._told(order, run)
        environment = agent_environment(
            workspace.environment,
            marker=f"{workspace.run}/{KEY}/{name}",
            start=order.start,
            iteration=order.iteration,
            max_iterations=workspace.config.max_iterations,
            scratch=None,
        )
        files = workspace.files.folder / name
        argv = workspace.config.on_pr_ready
        trust.require_unchanged_command(
            workspace.root, KEY, argv, workspace.claims, workspace.trust.is_approved
        )
        environment |= {
            # The whole of a long text is on standard input; no variable can hold it.
            f"RALPH_{name.upper()}": value.replace("\0", "")[:LONGEST_VARIABLE]
            for name, value in told.items()
            if isinstance(value, str)
        }
        return _Command(
            argv=(str(_program(KEY, argv[0], environment, workspace.root)), *argv[1:]),
            environment=environment,
            given=json.dumps(told, ensure_ascii=False).encode("utf-8", errors="replace"),
            files=files,
            shown=shlex.join(argv),
            open=f"{CODE}\n{SUBJECT}",
        )

    def _told(self, order: Announce, run: RunState) -> dict[str, object]:
        """The payload of a command, and what a pull request is made of (docs/rules.md#commits)."""
        workspace, redact = self._workspace, self._workspace.redactor.redact
        head = worktree_state.read_head(workspace.worktree.git_dir, workspace.worktree.common_dir)
        request, task = run.request, None if run.current is None else run.current.started.task
        return {
            "event": EVENT,
            "run": workspace.run,
            "start": order.start,
            "iteration": order.iteration,
            "task": None if task is None else {"id": task.id, "title": redact(task.title)},
            "text": redact(order.text),
            "title": "" if request is None else redact(request.title),
            "source": "" if request is None else request.source,
            "url": (request.url if request is not None else None) or "",
            "branch": head.branch or "",
            "head": head.commit or "",
            "workspace": str(workspace.root),
        }


def emit_unknown_outcomes(files: RunFiles) -> list[Notice]:
    """Report what an engine that was killed had started and not seen end; once."""
    notices = []
    names = names_in(files.folder) if files.folder.is_dir() else []
    for mark in (files.folder / name for name in sorted(names) if name.endswith(OPEN)):
        code, _, what = (read_if_there(mark) or b"").decode("utf-8", "replace").partition("\n")
        mark.unlink(missing_ok=True)
        message = (
            f"the outcome of {what} is unknown: the engine ended first; check whether it was done"
        )
        notices.append(Notice(code=f"{code}-unknown", message=message, outside=True))
    return notices


def _failed(why: str, by_hand: str) -> AnnouncementDone:
    remedy = f"; do it yourself: {by_hand}" if by_hand else ""
    return AnnouncementDone(
        code=f"{CODE}-failed",
        message=f"{why}; the run is not affected{remedy}",
        outside=True,
    )


def _program(key: str, name: str, environment: Mapping[str, str], root: Path) -> Path:
    try:
        return find_program(name, environment, root)
    except AgentUnavailable as error:
        raise AgentUnavailable(
            f"its program {name!r} was not found; install it, or change {key} in {CONFIG_FILE}"
        ) from error


def _how(ended: running_process.ProcessExit) -> str:
    if ended.stopped:
        return "was ended at your request"
    if ended.timed_out:
        return f"ran longer than {TIME_LIMIT_SECONDS:g} s and was ended"
    if ended.signal is not None:
        return f"was ended by signal {ended.signal}"
    return f"ended with {ended.exit_code}"


def _transcript_tail(printed: str) -> str:
    """The last line that says something, harmless to show."""
    lines = [line.strip() for line in printed.splitlines() if line.strip()]
    return escape_control_chars(lines[-1])[-SHOWN_CHARACTERS:] if lines else ""
