"""What came of a closed task's checks, as the journal has it and as the loop reads it again."""

from __future__ import annotations

from ralph_ls.core.plan.beads.criteria import SUCCESS
from ralph_ls.core.plan.closing.checks import Check, Checked, Verification
from ralph_ls.protocol.run.events import CriteriaVerified
from ralph_ls.protocol.run.iteration_events import CriterionChecked

SHOWN_CHECKS = 50


def checks_told(verification: Verification) -> tuple[CriterionChecked, ...]:
    """The checks of a task as an event tells them, those that failed first where there are many."""
    checked = verification.checked
    if len(checked) > SHOWN_CHECKS:
        checked = tuple(sorted(checked, key=lambda one: not one.failed)[:SHOWN_CHECKS])
    return tuple(
        CriterionChecked(
            criterion=one.check.criterion,
            command=one.check.command,
            exit_code=one.exit_code,
            timed_out=one.timed_out,
            seconds=one.seconds,
            tail=one.tail,
            not_run=one.not_run,
            wanted=one.check.wanted or None,
        )
        for one in checked
    )


def verification_of(event: CriteriaVerified) -> Verification:
    """What an event tells; the words of its commands are not told."""
    return Verification(
        task=event.task,
        reopened=event.reopened,
        checked=tuple(
            Checked(
                check=Check(
                    criterion=one.criterion, command=one.command, wanted=one.wanted or SUCCESS
                ),
                exit_code=one.exit_code,
                timed_out=one.timed_out,
                seconds=one.seconds,
                tail=one.tail,
                not_run=one.not_run,
            )
            for one in event.checks
        ),
    )
