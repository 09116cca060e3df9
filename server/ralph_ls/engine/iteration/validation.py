"""Validation scripts and commands of criteria: which are due, and one run of each with a timeout.

``validate.sh`` comes first, then those of ``validate.d`` by name; the first that fails ends it.
A script that names globs runs where a file that it names was changed since everything was last
valid: changes of a stopped or refused iteration are validated with the next one, and so is
everything after an engine died (docs/rules.md#validation).

A criterion's command runs as words, in the agent's environment, and only where ``ralph allow`` has
shown it (docs/rules.md#verification). Each script and command is a process group like an agent, and
runs only as it was allowed (docs/rules.md#trust). What a failure means is decided elsewhere.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ralph_ls.core.loop.effects import ReadIteration, Validate
from ralph_ls.core.loop.inputs import Notice, ValidationFinished
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
from ralph_ls.core.scripts.globs import matches_globs, script_globs
from ralph_ls.engine.agent.environment import agent_environment, find_program
from ralph_ls.engine.delivery.git_commands import ProcessLauncher
from ralph_ls.engine.plan.selection import locate_plan, source_of
from ralph_ls.engine.plan.source import WrittenPlan
from ralph_ls.engine.process import running_process
from ralph_ls.engine.sandbox.box import BoxFiles
from ralph_ls.engine.sandbox.launch import in_box
from ralph_ls.engine.worktree.workspace import Workspace
from ralph_ls.protocol.errors import AgentUnavailable, RalphError
from ralph_ls.protocol.run.state import RunState
from ralph_ls.store.files import make_private_folder, read_regular
from ralph_ls.store.project import trust
from ralph_ls.store.project.config_file import LoadedSettings
from ralph_ls.store.project.scripts import can_run, validation_files

TAIL_CHARACTERS = 2000


class ScriptValidation:
    """The validation scripts for one engine."""

    def __init__(self, launcher: ProcessLauncher) -> None:
        self._launcher = launcher
        self._workspace = launcher.workspace
        self._at_start = tuple(self._runnable())
        """Those that could run when this engine began: they cannot go away unseen."""
        self._unvalidated: frozenset[str] | None = None
        """What was changed since everything was last valid; None: nobody knows."""
        self._before_this: frozenset[str] | None = None
        """The same without what the open iteration changed."""
        self._due: tuple[str, ...] = ()
        self._told: set[str] = set()

    def begin_run(self) -> None:
        """Nothing was changed yet: this is the run's first iteration."""
        self._unvalidated = frozenset()

    def look(
        self, changed: Iterable[str], *, nothing: bool = False
    ) -> tuple[bool, tuple[Notice, ...]]:
        """Whether scripts have to run for an iteration, and the notices about them.

        ``nothing``: its engine died, and it had changed nothing.
        """
        self._before_this = self._unvalidated
        if self._unvalidated is not None:
            self._unvalidated |= set(changed)
        if nothing:
            self._due = ()
            return False, ()
        there = validation_files(self._workspace.root, self._workspace.config)
        known = [path for path in self._at_start if path not in there]
        not_executable = [path for path in there if not self._may_run(path)]
        self._due = tuple(
            path for path in [*known, *there] if path not in not_executable and self._is_asked(path)
        )
        return bool(self._due), self._skipped_notices(not_executable)

    def undone(self) -> None:
        """What the open iteration changed was taken back."""
        self._unvalidated = self._before_this

    async def run(self, order: Validate) -> ValidationFinished:
        """Run the scripts that are due, as they were allowed, up to the first that fails.

        Raises a ``RalphError`` where one cannot run any more or is not allowed.
        """
        seconds, tail = 0.0, ""
        for number, path in enumerate(self._due, start=1):
            ended, tail = await self._run(path, order, number)
            seconds += ended.seconds
            if ended.exit_code != 0 or ended.timed_out or self._launcher.is_stopping():
                return ValidationFinished(
                    ok=False,
                    exit_code=ended.exit_code,
                    timed_out=ended.timed_out,
                    seconds=round(seconds, 3),
                    tail=tail,
                    script=path,
                    scripts=self._due[:number],
                )
        self._unvalidated = frozenset()
        return ValidationFinished(
            ok=True,
            exit_code=0,
            timed_out=False,
            seconds=round(seconds, 3),
            tail=tail,
            scripts=self._due,
        )

    def _runnable(self) -> list[str]:
        root = self._workspace.root
        return [
            path for path in validation_files(root, self._workspace.config) if can_run(root, path)
        ]

    def _may_run(self, path: str) -> bool:
        return path in self._at_start or can_run(self._workspace.root, path)

    def _is_asked(self, path: str) -> bool:
        data = self._read(path)
        if self._unvalidated is None or self._not_allowed(path, data):
            # One that was changed must not say by itself that nobody need look at it.
            return True
        globs = script_globs(data.decode("utf-8", errors="replace"))
        return not globs or matches_globs(globs, self._unvalidated)

    def _not_allowed(self, path: str, data: bytes) -> bool:
        return bool(self._workspace.trust.missing(self._claims(path, data)))

    def _claims(self, path: str, data: bytes) -> tuple[trust.Claim, ...]:
        """What has to be as it was approved before the script runs: it, and what it runs."""
        workspace = self._workspace
        return trust.claims_of_script(workspace.root, path, data, workspace.trust.keys)

    def _read(self, path: str) -> bytes:
        return read_regular(self._workspace.root / path, trust.LARGEST_FILE) or b""

    def _skipped_notices(self, paths: Iterable[str]) -> tuple[Notice, ...]:
        """Each script that cannot be executed, once for as long as the engine lives."""
        fresh = [path for path in paths if path not in self._told]
        if not fresh:
            return ()
        self._told.update(fresh)
        named = " ".join(fresh)
        are = "is not executable and was" if len(fresh) == 1 else "are not executable and were"
        make = "it" if len(fresh) == 1 else "them"
        message = f"{', '.join(fresh)} {are} skipped; make {make} executable with: chmod +x {named}"
        return (Notice(code="validate-not-executable", message=message),)

    async def _run(
        self, path: str, order: Validate, number: int
    ) -> tuple[running_process.ProcessExit, str]:
        workspace = self._workspace
        if not can_run(workspace.root, path):
            raise RalphError(
                f"{path} could run when the loop began and cannot now; restore it, for example "
                f"with: git checkout -- {path}"
            )
        workspace.trust.require(self._claims(path, self._read(path)))
        return await _run_check(
            self._launcher,
            [str(workspace.root / path)],
            agent_environment(
                workspace.environment,
                marker=workspace.marker(order.start),
                start=order.start,
                iteration=order.iteration,
                max_iterations=workspace.config.max_iterations,
                scratch=None,
            ),
            start=order.start,
            name=f"validate-{order.start:03d}-{number:02d}.out",
        )


async def _run_check(
    launcher: ProcessLauncher,
    argv: Sequence[str],
    environment: Mapping[str, str],
    *,
    start: int,
    name: str,
    files: BoxFiles | None = None,
) -> tuple[running_process.ProcessExit, str]:
    """Run a script or a command to its end; how it ended, and the end of what it printed.

    ``name`` is that of the file for what it prints; ``files`` as for ``in_box``.
    """
    workspace = launcher.workspace
    outcome_path = workspace.files.folder / name
    launch = running_process.Launch(
        argv=tuple(argv),
        cwd=workspace.root,
        environment=environment,
        stdin=None,
        stdout_path=outcome_path,
        stderr_path=outcome_path.with_suffix(".err"),
        marker=workspace.marker(start),
        timeout_seconds=workspace.config.timeouts.validation or None,
        idle_timeout_seconds=None,
        grace_seconds=running_process.GRACE_SECONDS,
    )
    printed = bytearray()

    def keep(_stream: str, data: bytes) -> None:
        launcher.on_output(data)
        printed.extend(data)
        del printed[: -4 * (TAIL_CHARACTERS + 1)]

    launch, leave_box = in_box(workspace.box_for_checks, launch, files=files)
    started = await running_process.start(launch, redactor=workspace.redactor, on_output=keep)
    launcher.on_start(started)
    ended = await started.wait()
    await asyncio.to_thread(leave_box)
    return ended, printed.decode("utf-8", errors="replace")[-TAIL_CHARACTERS:]


SHOWN_COMMANDS = 3

_CODES = {
    NOT_ALLOWED: "verify-not-allowed",
    NEEDS_SHELL: "verify-needs-shell",
    STOPPED: "verify-stopped",
}


class CriteriaVerification:
    """Runs the commands of one iteration's closings, each of them once."""

    def __init__(self, launcher: ProcessLauncher, order: ReadIteration) -> None:
        self._launcher = launcher
        self._workspace = launcher.workspace
        self._order = order
        self._ran: dict[tuple[str, ...], CheckOutcome] = {}

    async def close(
        self, texts: tuple[str, str], run: RunState, done: Collection[str]
    ) -> WrittenPlan:
        """Run what closed tasks name, and have the plan say what came of it.

        ``texts`` are the plan before and after the iteration, ``done`` the tasks it finished. One
        that was verified before, by an engine that died then, is not verified again.
        """
        workspace = self._workspace
        if not workspace.config.verify:
            return WrittenPlan(text=texts[1])
        told = () if run.current is None else run.current.verified
        held = {one.task.id for one in told if one.ok}
        closings = await asyncio.to_thread(workspace.source.closings, *texts, done)
        seen = await self.run([one for one in closings if one.task.id not in held])
        if not seen:
            return WrittenPlan(text=texts[1])
        written = await asyncio.to_thread(workspace.source.close, seen, texts[0])
        return replace(written, notices=(*emit_verified(seen), *written.notices))

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
        if self._launcher.is_stopping():
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
        self._launcher.on_output(f"$ {check.command}\n".encode("utf-8", errors="replace"))
        ended, tail = await _run_check(
            self._launcher,
            [str(program), *check.argv[1:]],
            environment,
            start=self._order.start,
            name=f"verify-{self._order.start:03d}-{len(self._ran) + 1:02d}.out",
            files=BoxFiles(writable=(workspace.files.scratch,)),
        )
        return CheckOutcome(
            check=check,
            exit_code=None if ended.timed_out or ended.stopped else ended.exit_code,
            timed_out=ended.timed_out,
            seconds=round(ended.seconds, 3),
            tail=tail,
            not_run=STOPPED if ended.stopped else "",
        )


def emit_verified(verifications: Iterable[TaskVerification]) -> tuple[Notice, ...]:
    """What was not run for closed tasks, one notice for each reason."""
    told: dict[str, list[str]] = {}
    for one in verifications:
        for reason, said in describe_not_run(one):
            told.setdefault(_CODES[reason], []).append(f"for “{one.task.title}” {said}")
    return tuple(Notice(code=code, message="; ".join(said)) for code, said in told.items())


def emit_not_allowed(workspace: Workspace, text: str) -> tuple[Notice, ...]:
    """At a start: that the plan names commands which nobody has allowed, so that they wait."""
    if not workspace.config.verify:
        return ()
    claims = trust.claims_of_commands(workspace.source.commands(text))
    missing = workspace.trust.missing(claims)
    if not missing:
        return ()
    names = _named([claim.text for claim in missing])
    message = (
        f"the plan names {count_of(len(missing), 'command')} that you haven't approved, so they "
        f"will not run ({names}); review them with: ralph allow"
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
        found = locate_plan(root, settings, environment)
        source = source_of(root, settings.config, found.path, environment)
        return trust.claims_of_commands(source.commands(found.text))
    except RalphError:
        return ()


def _named(commands: Sequence[str]) -> str:
    more = ", …" if len(commands) > SHOWN_COMMANDS else ""
    return ", ".join(commands[:SHOWN_COMMANDS]) + more


def _all_of(closings: Iterable[TaskClosing]) -> Iterable[CriterionCheck]:
    return (check for closing in closings for check in closing.checks)
