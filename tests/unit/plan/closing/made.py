"""Verifications as tests need them."""

from __future__ import annotations

from typing import Any

from ralph_ls.core.plan.closing.checks import Check, Checked, Verification
from ralph_ls.protocol.run.values import TaskRef


def checked(criterion: str, command: str, exit_code: int | None = 0, **more: Any) -> Checked:
    check = Check(criterion=criterion, command=command, argv=tuple(command.split()))
    return Checked(check=check, exit_code=exit_code, **more)


def verification(task: str, *all_checked: Checked) -> Verification:
    return Verification(task=TaskRef(id=task, title="A task"), checked=all_checked)
