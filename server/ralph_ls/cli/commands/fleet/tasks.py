"""``ralph fleet status``, ``logs``, ``answer``, ``retry``, ``stop`` and ``drain``."""

from __future__ import annotations

from ralph_ls.cli.fleet_context import FleetContext
from ralph_ls.cli.fleet_inbox import answer_task
from ralph_ls.cli.output import print_text, write_json
from ralph_ls.core.suggestions import did_you_mean
from ralph_ls.protocol.errors import UsageError
from ralph_ls.protocol.fleet import (
    FleetRepositoryView,
    FleetRunState,
    FleetStatus,
    FleetTaskState,
    FleetTaskView,
)

SHOWN = {
    FleetTaskState.ASKING: "asks",
    FleetTaskState.QUEUED: "waits for its merge",
}


def show_status(context: FleetContext) -> None:
    """Print the status, for people or programs."""
    if context.as_json:
        status = _status(context)
        write_json(status.model_dump_json(by_alias=True, exclude_none=True, indent=2))
        return
    print_status(context)


def print_status(context: FleetContext) -> None:
    """Print the status for people."""
    status = _status(context)
    if status.run is None or status.state is None:
        print_text("The fleet has not run yet. Start it: ralph fleet run --until-done")
        return
    cost = f" · ${status.cost_usd:.2f}" if status.cost_usd else ""
    print_text(f"Run {status.run} · {status.state.value}{cost}")
    for repository in status.repositories:
        _print_repository(repository, status)
    for worker in status.workers:
        labels = f" [{', '.join(worker.labels)}]" if worker.labels else ""
        at = f": {', '.join(worker.tasks)}" if worker.tasks else ": no task"
        print_text(f"\nworker {worker.worker}{labels}{at}")


def _print_repository(repository: FleetRepositoryView, status: FleetStatus) -> None:
    name, merged, total = repository.name, repository.merged, repository.total
    print_text(f"\n{name}: {merged} of {total} merged into {repository.onto}")
    if repository.problem is not None:
        print_text(f"  breaker open: {repository.problem}")
    lacking = {one.task: one.unreleased for one in status.tasks if one.unreleased is not None}
    for task in status.tasks:
        if task.task.startswith(f"{name}#"):
            _print_task(task)
            for key in task.waits_for:
                if key in lacking:
                    print_text(f"      {key} is merged, but {lacking[key]}")


def _print_task(task: FleetTaskView) -> None:
    state = SHOWN.get(task.state, task.state.value)
    more = f" for {', '.join(task.waits_for)}" if task.waits_for else ""
    print_text(f"  {task.task}  {task.title} · {state}{more}")
    if task.message is not None and task.state is not FleetTaskState.MERGED:
        for line in task.message.splitlines()[:6]:
            print_text(f"      {line}")
    if task.state is FleetTaskState.ASKING:
        print_text(f"      → ralph fleet answer '{task.task}' TEXT")
    elif task.state is FleetTaskState.PARKED:
        print_text(f"      → ralph fleet retry '{task.task}'")


def answer(context: FleetContext, words: tuple[str, ...]) -> None:
    """Answer a task's question; the first answer counts."""
    if len(words) < 2:
        raise UsageError("name the task and the answer: ralph fleet answer 'api#T3' Use SQLite")
    status = _status(context)
    task = _find(status, words[0])
    text = " ".join(words[1:])
    if task.state is not FleetTaskState.ASKING:
        raise UsageError(f"{task.task} asks nothing (it is {task.state.value})")
    if not answer_task(context, task.task, text):
        raise UsageError(f"{task.task} was answered meanwhile")
    print_text(f"{task.task} continues with your answer.")


def retry(context: FleetContext, words: tuple[str, ...]) -> None:
    """Let parked tasks be tried again."""
    status = _status(context)
    chosen = (
        [_find(status, word) for word in words]
        if words
        else [one for one in status.tasks if one.state is FleetTaskState.PARKED]
    )
    n_changed = context.ledger().retry(status.run or "", [one.task for one in chosen])
    print_text(f"{n_changed} tasks are tried again.")
    if n_changed and not status.workers:
        print_text("No worker is there: ralph fleet run --until-done")


def stop(context: FleetContext, *, drain: bool) -> None:
    """Stop the fleet's agents, or let them finish and start no others."""
    ledger = context.ledger()
    run = ledger.active_run()
    if run is None:
        raise UsageError("no run of the fleet is active; see: ralph fleet status")
    ledger.set_run_state(run, FleetRunState.DRAINING if drain else FleetRunState.STOPPED)
    print_text(
        "Tasks at work are finished and merged; no other is started."
        if drain
        else "Agents are stopped; what was committed is kept."
    )
    print_text("Continue: ralph fleet run --until-done")


def show_logs(context: FleetContext, words: tuple[str, ...]) -> None:
    """Print what the agents of a task wrote on this machine."""
    from ralph_ls.cli.commands.runs.logs import print_logs
    from ralph_ls.cli.commands.runs.target import Target
    from ralph_ls.cli.context import CommandWorktree
    from ralph_ls.engine.fleet.attempt_logs import find_attempt

    if len(words) != 1:
        raise UsageError("name the task: ralph fleet logs 'api#T3'")
    status = _status(context)
    task = _find(status, words[0])
    found = find_attempt(context.environment, status.run or "", task.task)
    if found is None:
        at = f"; it is on that of {task.worker}" if task.worker else ""
        raise UsageError(f"this machine has no output of {task.task}{at}")
    place = CommandWorktree(worktree=found.worktree, state=found.state)
    print_logs(Target(place=place, files=found.files, iteration=None, is_live=False))


def _status(context: FleetContext) -> FleetStatus:
    from ralph_ls.engine.fleet.status import status_of

    return status_of(context.ledger(), context.address())


def _find(status: FleetStatus, name: str) -> FleetTaskView:
    """The task of a name, ``repository#id`` or ``repository#title``."""
    for task in status.tasks:
        repository = task.task.partition("#")[0]
        if name in {task.task, f"{repository}#{task.title}"}:
            return task
    near = did_you_mean(name, [one.task for one in status.tasks])
    raise UsageError(f"the fleet has no task {name!r}{near}; see: ralph fleet status")
