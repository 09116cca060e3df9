"""The validation script: whether it is due, and one run of it with its own timeout (SPEC §9).

It runs as a process group like an agent, and only as it was allowed. It must never judge what a
failure means for the loop.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from ralph_ls.core.loop.inputs import Notice, ValidationFinished
from ralph_ls.engine import process
from ralph_ls.engine.environment import agent_environment
from ralph_ls.engine.workspace import Workspace
from ralph_ls.protocol.errors import RalphError
from ralph_ls.store import trust

TAIL_CHARACTERS = 2000


def can_validate(workspace: Workspace) -> bool:
    """Whether there is a validation script that can run."""
    return can_run(workspace.root, workspace.config.paths.validate_script)


def can_run(root: Path, path: str) -> bool:
    """Whether this file of the work tree is a script that can be executed."""
    return (root / path).is_file() and os.access(root / path, os.X_OK)


def must_validate(
    workspace: Workspace, *, could_at_start: bool, lost: bool
) -> tuple[bool, tuple[Notice, ...]]:
    """Whether the script has to run now, and what is to be told about it.

    ``could_at_start`` says whether it could run when this engine began, ``lost`` that nobody saw
    the end of the iteration's agent.
    """
    path = workspace.config.paths.validate_script
    if lost or not (could_at_start or (workspace.root / path).is_file()):
        return False, ()
    if not could_at_start and not can_validate(workspace):
        message = f"{path} is not executable and was skipped; make it so with: chmod +x {path}"
        return False, (Notice(code="validate-not-executable", message=message),)
    return True, ()


async def run_validation(
    workspace: Workspace,
    iteration: int,
    *,
    on_output: Callable[[bytes], None],
    on_start: Callable[[process.RunningProcess], None],
) -> ValidationFinished:
    """Run the validation script, if it is still the one that was allowed.

    ``on_start`` gets the process as soon as there is one, so that it can be stopped. Raises a
    ``RalphError`` where the script cannot run any more or is not allowed.
    """
    path = workspace.config.paths.validate_script
    if not can_validate(workspace):
        raise RalphError(
            f"{path} could run when the loop began and cannot now; put it back, "
            f"for example with: git checkout -- {path}"
        )
    now_there = trust.claims_of(workspace.root, workspace.config, {})
    trust.require_allowed(workspace.state, [claim for claim in now_there if claim.key == path])
    outcome_path = workspace.files.folder / f"validate-{iteration:03d}.out"
    launch = process.Launch(
        argv=(str(workspace.root / path),),
        cwd=workspace.root,
        environment=agent_environment(
            workspace.environment,
            marker=workspace.marker(iteration),
            iteration=iteration,
            max_iterations=workspace.config.max_iterations,
            scratch=None,
        ),
        stdin=None,
        stdout_path=outcome_path,
        stderr_path=outcome_path.with_suffix(".err"),
        marker=workspace.marker(iteration),
        timeout_seconds=workspace.config.validate_timeout or None,
        idle_timeout_seconds=None,
        grace_seconds=process.GRACE_SECONDS,
    )
    printed = bytearray()

    def keep(_stream: str, data: bytes) -> None:
        on_output(data)
        printed.extend(data)
        del printed[: -4 * (TAIL_CHARACTERS + 1)]

    started = await process.start(launch, redactor=workspace.redactor, on_output=keep)
    on_start(started)
    ended = await started.wait()
    tail = printed.decode("utf-8", errors="replace")[-TAIL_CHARACTERS:]
    return ValidationFinished(
        ok=ended.exit_code == 0 and not ended.timed_out,
        exit_code=ended.exit_code,
        timed_out=ended.timed_out,
        seconds=round(ended.seconds, 3),
        tail=tail,
    )
