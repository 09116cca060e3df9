"""Validation: what happens to work that fails a script of the project.

Work that fails is handled by ``on_validate_fail`` (docs/rules.md#validation). ``stop`` ends the
run. ``rollback`` undoes the whole iteration, which is no progress, and the breaker counts it; where
that is impossible without changes that are not the iteration's, the run ends with the reason.
``repair`` leaves the work, and the next iteration is for the same task, up to ``max_repairs``
times. Work that failed completes no run, whatever its agent reports or ticks.

Nothing here runs scripts or git.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from ralph_ls.core.loop.effects import UndoWork
from ralph_ls.core.loop.inputs import IterationRead, Prepared, WorkUndone
from ralph_ls.core.loop.rules.gate import GateResult
from ralph_ls.core.plan.verification.criterion_checks import TaskVerification
from ralph_ls.core.plurals import count_of
from ralph_ls.protocol.config.config import OnValidateFail
from ralph_ls.protocol.run.events import Validated
from ralph_ls.protocol.run.iteration_events import CriterionChecked
from ralph_ls.protocol.run.state import CurrentIteration, RunState
from ralph_ls.protocol.run.values import Evidence, Mode

NOT_VALID = "its changes did not pass validation"


def is_in_script_folder(script: str) -> bool:
    """Whether a validation script is one of several in a folder, so that messages name it."""
    return script.rpartition("/")[0].endswith(".d")


def validation_failure_words(validated: Validated) -> str:
    """``the validation script failed with exit code 1 after iteration 3``."""
    how = "timed out" if validated.timed_out else f"failed with exit code {validated.exit_code}"
    which = f" {validated.script}" if is_in_script_folder(validated.script) else ""
    return f"the validation script{which} {how} after iteration {validated.iteration}"


def why_invalid(validated: Validated) -> str:
    """The same with the last line that the script printed."""
    said = validated.tail.strip().rpartition("\n")[2].strip()[:SHOWN_LAST_LINE]
    words = validation_failure_words(validated)
    return f"{words}: {said}" if said and not validated.timed_out else words


SHOWN_LAST_LINE = 200
"""Characters of the last line that a validation script printed."""


def is_invalid(current: CurrentIteration) -> bool:
    """Whether the work of the open iteration failed validation."""
    return current.validated is not None and not current.validated.ok


def is_repair_iteration(run: RunState) -> bool:
    """Whether the next iteration is to repair work that failed validation."""
    wanted = run.config.on_validate_fail is OnValidateFail.REPAIR
    return wanted and run.failed_validation is not None


def repair_iteration(run: RunState, given: Prepared, *, left_out: Collection[str]) -> Prepared:
    """The next iteration, for the task whose work failed validation, whatever the plan contains.

    Where that task was set aside, or the user has it skipped, the repair is part of another one's.
    """
    failed = run.failed_validation
    if failed is None or not is_repair_iteration(run):
        return given
    if failed.task is None:
        return replace(given, mode=Mode.PLAN) if failed.mode is Mode.PLAN else given
    if failed.task.id in left_out:
        return given
    plan = replace(given.plan, next_task=failed.task)
    return replace(given, mode=failed.mode, plan=plan, must_claim=False)


def rollback_due(
    run: RunState, current: CurrentIteration, evidence: Evidence, *, stopped: bool
) -> UndoWork | None:
    """The order to roll the iteration back; None where it stays, or was rolled back already."""
    wanted = run.config.on_validate_fail is OnValidateFail.ROLLBACK and not stopped
    if not wanted or not is_invalid(current) or current.rolled_back is not None:
        return None
    user_commits = tuple(
        commit.hash for commit in evidence.commits if commit.by_person and not commit.repository
    )
    return UndoWork(
        start=current.started.start,
        iteration=current.started.iteration,
        base=current.started.baseline,
        began=current.started.at,
        user_commits=user_commits,
        skipped=run.skipped,
    )


def after_rollback(held: IterationRead, given: WorkUndone) -> IterationRead:
    """The reading of an iteration after its rollback."""
    if given.refused:
        return held
    plan = held.plan if given.plan is None else given.plan
    return replace(
        held, plan=plan, tasks_done=(), moved=(), reviewed=(), renamed={}, plan_changed=False
    )


def validation_fatal_words(run: RunState, current: CurrentIteration) -> str | None:
    """Why the run ends for a failed validation; None where there was none, or it continues."""
    validated = current.validated
    if validated is None or validated.ok:
        return None
    words = validation_failure_words(validated)
    match run.config.on_validate_fail:
        case OnValidateFail.ROLLBACK:
            undone = current.rolled_back
            if undone is None or undone.ok:
                return None
            return f"{words}, and the iteration could not be rolled back: {undone.refused}"
        case OnValidateFail.REPAIR:
            n_repairs = 0 if run.failed_validation is None else run.failed_validation.in_a_row
            if n_repairs < run.config.max_repairs:
                return None
            return f"{words}; {count_of(n_repairs, 'repair')} did not fix it"
        case _:
            return why_invalid(validated)


def refuse_completion(run: RunState, current: CurrentIteration, gate: GateResult) -> GateResult:
    """The gate's decision about work that failed validation: no completion is accepted."""
    goes_on = run.config.on_validate_fail is not OnValidateFail.STOP
    if gate.accepted and goes_on and is_invalid(current):
        return replace(gate, accepted=False, refusal=NOT_VALID, why="")
    return gate


SHOWN_CHECKS = 50


def checks_of_event(verification: TaskVerification) -> tuple[CriterionChecked, ...]:
    """The checks of a task for an event, failed ones first where there are many."""
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
