"""Git commands of the user's own git: to commit and to push, with hooks, filters and signing.

Unlike a query (``store.external.git_command``) it runs all that a call of git by the user would
run, in the user's environment, and may take long. So it is a process of the iteration like an
agent: it has a timeout, and ``stop`` ends it with all that it started. It never prompts.
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ralph_ls.core.loop.effects import IterationEffect
from ralph_ls.core.redaction.redactor import Redactor
from ralph_ls.engine.agent.environment import agent_environment
from ralph_ls.engine.process import running_process
from ralph_ls.engine.sandbox.launch import hooks_in_box
from ralph_ls.engine.worktree.git_locks import GitLocks
from ralph_ls.engine.worktree.workspace import Workspace
from ralph_ls.store.external.git_command import git_program

TAIL_CHARACTERS = 2000

_QUIETLY = (
    "--no-pager",
    # What would run on behind our back is ended with the process that started it.
    "-c",
    "gc.autoDetach=false",
    "-c",
    "maintenance.autoDetach=false",
    "-c",
    "core.fsmonitor=false",
)


@dataclass(frozen=True, slots=True)
class ProcessLauncher:
    """Launcher of the processes of an iteration besides the agent: what they share."""

    workspace: Workspace
    on_output: Callable[[bytes], None]
    """Gets what it prints, redacted."""
    on_start: Callable[[running_process.RunningProcess], None]
    """Gets each process as soon as there is one, so that it can be stopped."""
    is_stopping: Callable[[], bool]
    locks: GitLocks | None = None
    """Moves what a git of ours leaves behind that had to be killed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GitRun:
    """How one call of git ended."""

    exit_code: int | None
    timed_out: bool
    stopped: bool
    printed: str
    """The end of what it printed, at most 2000 characters."""
    stdout: str
    """The same of its standard output alone."""

    @property
    def ok(self) -> bool:
        return self.exit_code == 0

    def how(self, seconds: float) -> str:
        """Why it did not do what it should, in words."""
        if self.timed_out:
            return f"it took longer than {seconds:g} s and was ended"
        if self.stopped:
            return "it was stopped"
        said = self.printed.strip()
        return said or f"git ended with {self.exit_code} without output"


async def run_own_git(
    launcher: ProcessLauncher,
    order: IterationEffect,
    *arguments: str,
    name: str,
    timeout: float,  # noqa: ASYNC109
    stdin: bytes | None = None,
    settings: Mapping[str, str] | None = None,
    redactor: Redactor | None = None,
) -> GitRun:
    """Run git in the work tree to its end; ``name`` is that of the files for what it prints.

    ``settings`` are variables that it finds besides the caller's. Raises a ``RalphError`` where
    there is no git or it cannot be started.
    """
    workspace = launcher.workspace
    environment = agent_environment(
        workspace.environment,
        marker=workspace.marker(order.start),
        start=order.start,
        iteration=order.iteration,
        max_iterations=workspace.config.max_iterations,
        scratch=None,
    )
    output = workspace.files.folder / f"{name}-{order.start:03d}.out"
    hooks, leave_box = await asyncio.to_thread(
        hooks_in_box, workspace.box_for_checks, workspace.files.folder / "git-hooks", environment
    )
    launch = running_process.Launch(
        argv=(git_program(workspace.root), *_QUIETLY, *hooks, *arguments),
        cwd=workspace.root,
        environment={**environment, **NO_QUESTIONS, **(settings or {})},
        stdin=stdin,
        stdout_path=output,
        stderr_path=output.with_suffix(".err"),
        marker=workspace.marker(order.start),
        timeout_seconds=timeout or None,
        idle_timeout_seconds=None,
        grace_seconds=running_process.GRACE_SECONDS,
        may_leave=True,
    )
    printed, of_stdout = bytearray(), bytearray()

    def keep(stream: str, data: bytes) -> None:
        launcher.on_output(data)
        for kept in (printed, of_stdout) if stream == "stdout" else (printed,):
            kept.extend(data)
            del kept[: -4 * (TAIL_CHARACTERS + 1)]

    if launcher.locks is not None:
        await asyncio.to_thread(launcher.locks.begin)
    started = await running_process.start(
        launch, redactor=redactor or workspace.redactor, on_output=keep
    )
    launcher.on_start(started)
    ended = await started.wait()
    await asyncio.to_thread(leave_box)
    if launcher.locks is not None and ended.exit_code is None:
        await asyncio.to_thread(launcher.locks.settle, order.start)
    return GitRun(
        exit_code=ended.exit_code,
        timed_out=ended.timed_out,
        stopped=ended.stopped,
        printed=_tail(printed),
        stdout=_tail(of_stdout),
    )


def ssh_without_questions(environment: Mapping[str, str], configured: str) -> dict[str, str]:
    """The variable that keeps ssh from asking; ``configured`` is git's ``core.sshCommand``.

    A program that ``GIT_SSH`` names takes other options, so it is left as it is.
    """
    command = environment.get("GIT_SSH_COMMAND") or configured
    if not command and environment.get("GIT_SSH"):
        return {}
    words = command or "ssh"
    return {"GIT_SSH_COMMAND": f"{words} {shlex.join(_BATCH_MODE)}"}


_BATCH_MODE: Sequence[str] = ("-o", "BatchMode=yes")

NO_QUESTIONS = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_EDITOR": "true",
    "GCM_INTERACTIVE": "never",
    "SSH_ASKPASS_REQUIRE": "never",
}
"""Nobody is there to answer; an empty editor leaves a message as it is."""


def _tail(data: bytearray) -> str:
    return data.decode("utf-8", errors="replace")[-TAIL_CHARACTERS:]
