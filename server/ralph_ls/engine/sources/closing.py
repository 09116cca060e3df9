"""Writing what came of closed tasks' checks into a plan that is a file (SPEC §8, Closing).

Somebody may write the file meanwhile, so each edit is made on what lies there then. It must never
know how a plan of some kind says what was seen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from ralph_ls.core.loop.inputs import Notice
from ralph_ls.core.plan.verification.criterion_checks import TaskVerification
from ralph_ls.engine.sources.source import PlanSource, Written
from ralph_ls.protocol.errors import RalphError
from ralph_ls.store.project.plan_file import edit_plan

Change = Callable[[str, str, TaskVerification], str]
"""From the plan's text, the id of the task in it, and what came of its checks, to the new text."""


def close_in_file(
    source: PlanSource, verifications: Sequence[TaskVerification], change: Change
) -> Written:
    """Make the edits one by one; what cannot be written is told, and keeps nothing else back.

    Raises ``PlanMissing`` where the file is gone.
    """
    written: list[TaskVerification] = []
    notices: list[Notice] = []
    for one in verifications:
        try:
            edit = partial(_changed, source, one, change)
            edit_plan(source.root, source.path, edit, "write into it what was verified")
        except RalphError as error:
            told = "is not open again" if one.failed else "does not say in the plan what was run"
            message = f"the task {one.task.id} {told}: {error.message}"
            notices.append(Notice(code="verify-not-written", message=message))
            written.append(one)
        else:
            written.append(replace(one, reopened=bool(one.failed)))
    return Written(text=source.read(), verifications=tuple(written), notices=tuple(notices))


def _changed(source: PlanSource, one: TaskVerification, change: Change, data: bytes) -> bytes:
    """The file with one task's edit made.

    Ids are those of the text in which what is no UTF-8 was replaced; the bytes stay.
    """
    shown = data.decode("utf-8", errors="replace")
    exact = data.decode("utf-8", errors="surrogateescape")
    task_id = one.task.id
    if exact != shown:
        ids = [task.id for task in source.parse(shown).plan.tasks]
        tasks = source.parse(exact).plan.tasks
        task_id = tasks[ids.index(task_id)].id if task_id in ids else task_id
    return change(exact, task_id, one).encode("utf-8", errors="surrogateescape")
