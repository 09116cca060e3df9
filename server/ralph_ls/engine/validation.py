"""The validation scripts: which are due, and one run of each with its own timeout (SPEC §9).

``validate.sh`` comes first, then those of ``validate.d`` by name; the first that fails ends it.
A script that names globs runs where a file that it names was changed since everything was last
valid: what a stopped or a refused iteration changed is looked at with the next one, and so is all
after an engine died. Each runs as a process group like an agent, and only as it was allowed. This
module must never judge what a failure means for the loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from ralph_ls.core.loop.effects import Validate
from ralph_ls.core.loop.inputs import Notice, ValidationFinished
from ralph_ls.core.loop.rules.validation import matches_globs, script_globs
from ralph_ls.engine import process
from ralph_ls.engine.environment import agent_environment
from ralph_ls.engine.git_work import Hands
from ralph_ls.engine.sandbox.starting import in_box
from ralph_ls.protocol.errors import RalphError
from ralph_ls.store.files import read_regular
from ralph_ls.store.project import trust
from ralph_ls.store.project.scripts import can_run, validation_files

TAIL_CHARACTERS = 2000


class Validating:
    """The validation scripts for one engine."""

    def __init__(self, hands: Hands) -> None:
        self._hands = hands
        self._workspace = hands.workspace
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
        """Whether scripts have to run for an iteration, and what is to be told about them.

        ``nothing`` says that its engine died under it and that it had changed nothing.
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
        return bool(self._due), self._tell_skipped(not_executable)

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
            if ended.exit_code != 0 or ended.timed_out or self._hands.is_stopping():
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

    def _tell_skipped(self, paths: Iterable[str]) -> tuple[Notice, ...]:
        """Each script that cannot be executed, once for as long as the engine lives."""
        fresh = [path for path in paths if path not in self._told]
        if not fresh:
            return ()
        self._told.update(fresh)
        named = " ".join(fresh)
        are = "is not executable and was" if len(fresh) == 1 else "are not executable and were"
        make = "it" if len(fresh) == 1 else "them"
        message = f"{', '.join(fresh)} {are} skipped; make {make} so with: chmod +x {named}"
        return (Notice(code="validate-not-executable", message=message),)

    async def _run(
        self, path: str, order: Validate, number: int
    ) -> tuple[process.ProcessExit, str]:
        workspace = self._workspace
        if not can_run(workspace.root, path):
            raise RalphError(
                f"{path} could run when the loop began and cannot now; put it back, "
                f"for example with: git checkout -- {path}"
            )
        workspace.trust.require(self._claims(path, self._read(path)))
        outcome_path = workspace.files.folder / f"validate-{order.start:03d}-{number:02d}.out"
        launch = process.Launch(
            argv=(str(workspace.root / path),),
            cwd=workspace.root,
            environment=agent_environment(
                workspace.environment,
                marker=workspace.marker(order.start),
                start=order.start,
                iteration=order.iteration,
                max_iterations=workspace.config.max_iterations,
                scratch=None,
            ),
            stdin=None,
            stdout_path=outcome_path,
            stderr_path=outcome_path.with_suffix(".err"),
            marker=workspace.marker(order.start),
            timeout_seconds=workspace.config.validate_timeout or None,
            idle_timeout_seconds=None,
            grace_seconds=process.GRACE_SECONDS,
        )
        printed = bytearray()

        def keep(_stream: str, data: bytes) -> None:
            self._hands.on_output(data)
            printed.extend(data)
            del printed[: -4 * (TAIL_CHARACTERS + 1)]

        launch, leave_box = in_box(workspace.box_for_checks, launch)
        started = await process.start(launch, redactor=workspace.redactor, on_output=keep)
        self._hands.on_start(started)
        ended = await started.wait()
        await asyncio.to_thread(leave_box)
        return ended, printed.decode("utf-8", errors="replace")[-TAIL_CHARACTERS:]
