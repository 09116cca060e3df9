"""Verifications as tests need them."""

from __future__ import annotations

from typing import Any

from ralph_ls.core.plan.verification.criterion_checks import (
    CheckOutcome,
    CriterionCheck,
    TaskVerification,
)
from ralph_ls.protocol.run.values import TaskRef


def checked(criterion: str, command: str, exit_code: int | None = 0, **more: Any) -> CheckOutcome:
    check = CriterionCheck(criterion=criterion, command=command, argv=tuple(command.split()))
    return CheckOutcome(check=check, exit_code=exit_code, **more)


def verification(task: str, *all_checked: CheckOutcome) -> TaskVerification:
    return TaskVerification(task=TaskRef(id=task, title="A task"), checked=all_checked)
