"""Tasks of the user's fleets that wait for the user, as this machine last read them.

They are in a database that only programs with the optional extra can read. Those leave what waits
in a file of the state folder, one for each database, so that ``ralph ps`` and editors list it
without the extra. The file has no address and no key of the database.
"""

from __future__ import annotations

import contextlib
import hashlib
import shlex
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from pydantic import ValidationError

from ralph_ls.protocol.errors import RalphError, UsageError
from ralph_ls.protocol.fleet import DATABASE_VARIABLE, FleetTaskState, WaitingTask, WaitingTasks
from ralph_ls.protocol.json_output import RunAnywhere
from ralph_ls.protocol.run.values import Phase, TaskRef
from ralph_ls.store.external.programs import run_program
from ralph_ls.store.files import PRIVATE_FILE, make_private_folder, read_if_there, write_atomic
from ralph_ls.store.layout import state_root

ANSWER_SECONDS = 60.0
"""A database that does not answer by then is given up."""

LARGEST_OUTPUT = 20_000


def save_waiting(root: Path, database: str, found: WaitingTasks | None) -> None:
    """Replace what waits in one database, named by its address without the password.

    None, or no task, removes the file. ``root`` is the folder of all state. Raises ``OSError``
    where it cannot be written.
    """
    name = hashlib.sha256(database.encode()).hexdigest()[:16]
    path = root / "fleet" / "waiting" / f"{name}.json"
    if found is None or not found.tasks:
        path.unlink(missing_ok=True)
        return
    data = found.model_dump_json(by_alias=True, exclude_none=True).encode() + b"\n"
    if read_if_there(path) != data:
        make_private_folder(path.parent)
        write_atomic(path, data, mode=PRIVATE_FILE)


def waiting_runs(environment: Mapping[str, str]) -> list[RunAnywhere]:
    """What waits in all databases, the newest first."""
    found = [(task, fleet) for fleet in saved_waiting(environment) for task in fleet.tasks]
    found.sort(key=lambda one: one[0].since, reverse=True)
    return [_as_run(task, fleet) for task, fleet in found]


def resume_task(environment: Mapping[str, str], task: str, text: str | None) -> str:
    """Answer a task that asks, or try a parked one again; returns what became of it.

    The program that read the database does it, since this one may lack the extra. Raises
    ``UsageError`` where no such task waits here, and ``RalphError`` with that program's words
    where it refuses.
    """
    state = FleetTaskState.PARKED if text is None else FleetTaskState.ASKING
    for fleet in saved_waiting(environment):
        if any(one.task == task and one.state is state for one in fleet.tasks):
            return _ask_program(fleet, environment, task, text)
    what = "is not parked" if text is None else "asks nothing"
    raise UsageError(f"{task} {what}; see what waits for you: ralph inbox")


def _ask_program(
    fleet: WaitingTasks, environment: Mapping[str, str], task: str, text: str | None
) -> str:
    words = ("retry", task) if text is None else ("answer", task, text)
    if fleet.needs_variable and DATABASE_VARIABLE not in environment:
        raise UsageError(
            f"{DATABASE_VARIABLE} is not set in this editor, so the fleet's database is not known; "
            f"answer in a terminal: {shlex.join(('ralph', 'fleet', *words))}"
        )
    try:
        done = run_program(
            [*fleet.command, "fleet", *fleet.options, "--", *words],
            cwd=state_root(environment),
            environment=environment,
            timeout_seconds=ANSWER_SECONDS,
            largest_answer=LARGEST_OUTPUT,
        )
    except (OSError, ValueError) as error:
        raise RalphError(f"{fleet.command[0]} cannot be run: {error}") from error
    except subprocess.TimeoutExpired as error:
        raise RalphError("the fleet's database did not answer; try again") from error
    if done.code != 0:
        raise RalphError(done.stderr.strip().removeprefix("ralph: ") or f"it ended {done.code}")
    return done.stdout.strip()


def saved_waiting(environment: Mapping[str, str]) -> Iterator[WaitingTasks]:
    """What waits, by database."""
    folder = state_root(environment) / "fleet" / "waiting"
    for path in sorted(folder.glob("*.json")):
        # One that a newer program wrote is listed by that program.
        with contextlib.suppress(OSError, ValidationError):
            yield WaitingTasks.model_validate_json(read_if_there(path) or b"")


def _as_run(task: WaitingTask, fleet: WaitingTasks) -> RunAnywhere:
    is_question = task.state is FleetTaskState.ASKING
    words = ("answer", task.task) if is_question else ("retry", task.task)
    return RunAnywhere(
        workspace=task.workspace,
        fleet_task=task.task,
        fleet_state="asking" if is_question else "parked",
        run=fleet.run,
        plan="",
        live=False,
        phase=Phase.PARKED,
        activity=task.message,
        iteration=task.iterations,
        task=TaskRef(id=task.task.partition("#")[2], title=task.title),
        required=1,
        started_at=task.since,
        needs=f"{'asks' if is_question else 'parked'}: {task.message}",
        next=shlex.join(("ralph", "fleet", *words)) + (" TEXT" if is_question else ""),
    )
