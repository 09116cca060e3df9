"""Work that did not validate: whether the run ends, takes it back, or has it mended (SPEC §9).

``on_validate_fail`` says which. ``stop`` ends the run (S, validate.sh). ``rollback`` takes all of
the iteration back, which is no progress, and the breaker counts it; where that cannot be done
without touching what is not the iteration's, the run ends and says why. ``repair`` leaves the work
where it is, and the next iteration is for the same task, as often as ``max_repairs`` says. Whatever
was said or ticked, what did not validate completes no run.

It must never know how scripts and git are called.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from ralph_ls.core.loop.effects import UndoWork
from ralph_ls.core.loop.gate import GateResult
from ralph_ls.core.loop.inputs import IterationRead, Prepared, WorkUndone
from ralph_ls.core.words import count_of
from ralph_ls.protocol.config.config import OnValidateFail
from ralph_ls.protocol.run.events import Validated
from ralph_ls.protocol.run.state import CurrentIteration, RunState
from ralph_ls.protocol.run.values import Evidence, Mode

REFUSED = "what it changed did not validate"


def in_folder(script: str) -> bool:
    """Whether a validation script is one of several in their folder, so that it has to be named."""
    return script.rpartition("/")[0].endswith(".d")


def failure_words(validated: Validated) -> str:
    """``the validation script .ralph/validate.d/10-client ended with 1 after iteration 3``."""
    how = "ran out of time" if validated.timed_out else f"ended with {validated.exit_code}"
    which = f" {validated.script}" if in_folder(validated.script) else ""
    return f"the validation script{which} {how} after iteration {validated.iteration}"


def is_invalid(current: CurrentIteration) -> bool:
    """Whether what the open iteration left did not validate."""
    return current.validated is not None and not current.validated.ok


def is_repairing(run: RunState) -> bool:
    """Whether the next iteration is there to mend what did not validate."""
    wanted = run.config.on_validate_fail is OnValidateFail.REPAIR
    return wanted and run.failed_validation is not None


def taken_again(run: RunState, given: Prepared, *, left_out: Collection[str]) -> Prepared:
    """The next iteration, for the task whose work did not validate, whatever the plan says of it.

    Where that was set aside, or a person has it skipped, another one is mended with.
    """
    failed = run.failed_validation
    if failed is None or not is_repairing(run):
        return given
    if failed.task is None:
        return replace(given, mode=Mode.PLAN) if failed.mode is Mode.PLAN else given
    if failed.task.id in left_out:
        return given
    plan = replace(given.plan, next_task=failed.task)
    return replace(given, mode=failed.mode, plan=plan, must_claim=False)


def undo_due(
    run: RunState, current: CurrentIteration, evidence: Evidence, *, stopped: bool
) -> UndoWork | None:
    """The order to take the iteration back; None where it stays, or was taken back already."""
    wanted = run.config.on_validate_fail is OnValidateFail.ROLLBACK and not stopped
    if not wanted or not is_invalid(current) or current.rolled_back is not None:
        return None
    persons = tuple(
        commit.hash for commit in evidence.commits if commit.by_person and not commit.repository
    )
    return UndoWork(
        start=current.started.start,
        iteration=current.started.iteration,
        base=current.started.baseline,
        began=current.started.at,
        persons=persons,
        skipped=run.skipped,
    )


def after_undoing(held: IterationRead, given: WorkUndone) -> IterationRead:
    """What was read of an iteration, once nothing is left of what it did."""
    if given.refused:
        return held
    plan = held.plan if given.plan is None else given.plan
    return replace(
        held, plan=plan, tasks_done=(), moved=(), reviewed=(), renamed={}, plan_changed=False
    )


def fatal_words(run: RunState, current: CurrentIteration) -> str | None:
    """Why the run ends for a failed validation; None where there was none, or it goes on."""
    validated = current.validated
    if validated is None or validated.ok:
        return None
    words = failure_words(validated)
    match run.config.on_validate_fail:
        case OnValidateFail.ROLLBACK:
            undone = current.rolled_back
            if undone is None or undone.ok:
                return None
            return f"{words}, and it was not rolled back: {undone.refused}"
        case OnValidateFail.REPAIR:
            n_repairs = 0 if run.failed_validation is None else run.failed_validation.in_a_row
            if n_repairs < run.config.max_repairs:
                return None
            return f"{words}, the {count_of(n_repairs, 'repair')} before did not mend it"
        case _:
            return words


def hold_gate(run: RunState, current: CurrentIteration, gate: GateResult) -> GateResult:
    """The gate's word on work that is not valid: no completion is accepted for it."""
    goes_on = run.config.on_validate_fail is not OnValidateFail.STOP
    if gate.accepted and goes_on and is_invalid(current):
        return replace(gate, accepted=False, refusal=REFUSED, why="")
    return gate
