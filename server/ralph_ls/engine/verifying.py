"""Running what the criteria of closed tasks name, and telling what of a plan may not be run.

Each command runs as words, in the agent's environment and as a process group of its own, with a
timeout, and only where ``ralph allow`` has shown it (SPEC §2, Trust). It must never judge what a
failure means for the loop, nor know how a plan is written.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ralph_ls.core.loop.effects import ReadIteration
from ralph_ls.core.loop.inputs import Notice
from ralph_ls.core.plan.verification.criterion_checks import (
    NEEDS_SHELL,
    NOT_ALLOWED,
    NOT_FOUND,
    STOPPED,
    CheckOutcome,
    CriterionCheck,
    TaskClosing,
    TaskVerification,
    describe_not_run,
)
from ralph_ls.core.plurals import count_of
from ralph_ls.engine import process
from ralph_ls.engine.environment import agent_environment, find_program
from ralph_ls.engine.sandbox.box import Files
from ralph_ls.engine.sandbox.starting import in_box
from ralph_ls.engine.sources.choice import look_for_plan, source_of
from ralph_ls.engine.sources.source import Written
from ralph_ls.engine.workspace import Workspace
from ralph_ls.protocol.errors import AgentUnavailable, RalphError
from ralph_ls.protocol.run.state import RunState
from ralph_ls.store.files import make_private_folder
from ralph_ls.store.project import trust
from ralph_ls.store.project.config_file import LoadedSettings

TAIL_CHARACTERS = 2000
SHOWN_COMMANDS = 3

_CODES = {
    NOT_ALLOWED: "verify-not-allowed",
    NEEDS_SHELL: "verify-needs-shell",
    STOPPED: "verify-stopped",
}


class Verifying:
    """Runs the commands of one iteration's closings, each of them once."""

    def __init__(
        self,
        workspace: Workspace,
        order: ReadIteration,
        *,
        on_output: Callable[[bytes], None],
        on_start: Callable[[process.RunningProcess], None],
        is_stopping: Callable[[], bool],
    ) -> None:
        self._workspace = workspace
        self._order = order
        self._on_output = on_output
        self._on_start = on_start
        """Gets each process as soon as there is one, so that it can be stopped."""
        self._is_stopping = is_stopping
        self._ran: dict[tuple[str, ...], CheckOutcome] = {}

    async def close(self, texts: tuple[str, str], run: RunState, done: Collection[str]) -> Written:
        """Run what closed tasks name, and have the plan say what came of it.

        ``texts`` are the plan before and after the iteration, ``done`` the tasks it finished. One
        that was verified before, by an engine that died then, is not verified again.
        """
        workspace = self._workspace
        if not workspace.config.verify:
            return Written(text=texts[1])
        told = () if run.current is None else run.current.verified
        held = {one.task.id for one in told if one.ok}
        closings = await asyncio.to_thread(workspace.source.closings, *texts, done)
        seen = await self.run([one for one in closings if one.task.id not in held])
        if not seen:
            return Written(text=texts[1])
        written = await asyncio.to_thread(workspace.source.close, seen, texts[0])
        return replace(written, notices=(*tell_verified(seen), *written.notices))

    async def run(self, closings: Sequence[TaskClosing]) -> tuple[TaskVerification, ...]:
        """What came of the checks; a command that several criteria name is run for the first."""
        claims = trust.claims_of_commands(one.command for one in _all_of(closings))
        missing = {claim.text for claim in self._workspace.trust.missing(claims)}
        return tuple(
            [
                TaskVerification(
                    task=closing.task,
                    checked=tuple([await self._checked(one, missing) for one in closing.checks]),
                )
                for closing in closings
            ]
        )

    async def _checked(self, check: CriterionCheck, missing: set[str]) -> CheckOutcome:
        if not check.argv:
            return CheckOutcome(check=check, not_run=NEEDS_SHELL)
        if check.command in missing:
            return CheckOutcome(check=check, not_run=NOT_ALLOWED)
        known = self._ran.get(check.argv)
        if known is not None:
            return replace(known, check=check)
        if self._is_stopping():
            return CheckOutcome(check=check, not_run=STOPPED)
        ran = await self._run(check)
        self._ran[check.argv] = ran
        return ran

    async def _run(self, check: CriterionCheck) -> CheckOutcome:
        workspace = self._workspace
        environment = agent_environment(
            workspace.environment,
            marker=workspace.marker(self._order.start),
            start=self._order.start,
            iteration=self._order.iteration,
            max_iterations=workspace.config.max_iterations,
            scratch=make_private_folder(workspace.files.scratch),
            extra=workspace.agent.env,
            only=workspace.config.env.only,
        )
        try:
            program = find_program(check.argv[0], environment, workspace.root)
        except AgentUnavailable:
            return CheckOutcome(check=check, exit_code=NOT_FOUND)
        name = f"verify-{self._order.start:03d}-{len(self._ran) + 1:02d}.out"
        outcome_path = workspace.files.folder / name
        launch = process.Launch(
            argv=(str(program), *check.argv[1:]),
            cwd=workspace.root,
            environment=environment,
            stdin=None,
            stdout_path=outcome_path,
            stderr_path=outcome_path.with_suffix(".err"),
            marker=workspace.marker(self._order.start),
            timeout_seconds=workspace.config.verify_timeout or None,
            idle_timeout_seconds=None,
            grace_seconds=process.GRACE_SECONDS,
        )
        printed = bytearray()

        def keep(_stream: str, data: bytes) -> None:
            self._on_output(data)
            printed.extend(data)
            del printed[: -4 * (TAIL_CHARACTERS + 1)]

        self._on_output(f"$ {check.command}\n".encode("utf-8", errors="replace"))
        launch, leave_box = in_box(
            workspace.box_for_checks, launch, files=Files(writable=(workspace.files.scratch,))
        )
        started = await process.start(launch, redactor=workspace.redactor, on_output=keep)
        self._on_start(started)
        ended = await started.wait()
        await asyncio.to_thread(leave_box)
        return CheckOutcome(
            check=check,
            exit_code=None if ended.timed_out or ended.stopped else ended.exit_code,
            timed_out=ended.timed_out,
            seconds=round(ended.seconds, 3),
            tail=printed.decode("utf-8", errors="replace")[-TAIL_CHARACTERS:],
            not_run=STOPPED if ended.stopped else "",
        )


def tell_verified(verifications: Iterable[TaskVerification]) -> tuple[Notice, ...]:
    """What was not run for closed tasks, one notice for each reason."""
    told: dict[str, list[str]] = {}
    for one in verifications:
        for reason, said in describe_not_run(one):
            told.setdefault(_CODES[reason], []).append(f"for “{one.task.title}” {said}")
    return tuple(Notice(code=code, message="; ".join(said)) for code, said in told.items())


def tell_not_allowed(workspace: Workspace, text: str) -> tuple[Notice, ...]:
    """At a start: that the plan names commands which nobody has allowed, so that they wait."""
    if not workspace.config.verify:
        return ()
    claims = trust.claims_of_commands(workspace.source.commands(text))
    missing = workspace.trust.missing(claims)
    if not missing:
        return ()
    names = _named([claim.text for claim in missing])
    message = (
        f"the plan names {count_of(len(missing), 'command')} to verify its tasks with that you "
        f"have not allowed and that will not be run ({names}); look at them with: ralph allow"
    )
    return (Notice(code="verify-not-allowed", message=message),)


def claims_of_plan(
    root: Path, settings: LoadedSettings, environment: Mapping[str, str]
) -> tuple[trust.Claim, ...]:
    """The claims of the commands that a plan names; none where they are never run.

    A plan that cannot be read brings nothing that could run.
    """
    if not settings.config.verify:
        return ()
    try:
        found = look_for_plan(root, settings, environment)
        source = source_of(root, settings.config, found.path, environment)
        return trust.claims_of_commands(source.commands(found.text))
    except RalphError:
        return ()


def _named(commands: Sequence[str]) -> str:
    more = ", …" if len(commands) > SHOWN_COMMANDS else ""
    return ", ".join(commands[:SHOWN_COMMANDS]) + more


def _all_of(closings: Iterable[TaskClosing]) -> Iterable[CriterionCheck]:
    return (check for closing in closings for check in closing.checks)
