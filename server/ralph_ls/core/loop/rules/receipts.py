"""Receipts: what each task of a run took, from the iterations that were started for it.

The one source of these figures: the summary, `ralph runs`, exports, hovers and the commit trailer
show what is computed here (docs/rules.md#metrics).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ralph_ls.core.agent.usage import add_known
from ralph_ls.core.loop.rules.budget import amount_words, tokens_of
from ralph_ls.protocol.run.events import IterationEnded
from ralph_ls.protocol.run.report import Usage
from ralph_ls.protocol.run.state import CurrentIteration, RunState, TaskReceipt
from ralph_ls.protocol.run.values import Evidence, TaskRef


def receipts_after_iteration(state: RunState, ended: IterationEnded) -> dict[str, TaskReceipt]:
    """The receipts after an iteration; ``state`` is the one in which it was open."""
    current = state.current
    if current is None:
        return state.receipts
    evidence, own = _evidence_of(state, current), current.started.task
    payer = _payer(own, evidence)
    cost = _Cost(ended.seconds, ended.usage, counted=ended.counted)
    receipts = dict(state.receipts)
    finished = [_named(task_id, evidence) for task_id in evidence.tasks_done]
    for task in {one.id: one for one in (own, payer, *finished) if one is not None}.values():
        known = receipts.get(task.id) or TaskReceipt(task=task)
        changes: dict[str, object] = {}
        if own is not None and own.id == task.id:
            changes |= {**_OPEN, "task": own, "attempts": known.attempts + 1}
        is_payer = payer is not None and payer.id == task.id
        if is_payer:
            changes |= _with_iteration(known, current, cost)
        if task.id in evidence.tasks_done:
            changes |= {
                "done": True,
                "iteration": ended.iteration,
                "start": ended.start,
                "commit": ended.commit,
                "within": None if is_payer else payer,
            }
        receipts[task.id] = known.model_copy(update=changes)
    return receipts


def finished_receipts(state: RunState) -> list[TaskReceipt]:
    """The receipts of the tasks that became done in the run, in the order in which they did."""
    done = [one for one in state.receipts.values() if one.done]
    return sorted(done, key=lambda one: one.start or 0)


def receipt_at_commit(
    state: RunState, current: CurrentIteration, evidence: Evidence, usage: Usage | None
) -> TaskReceipt | None:
    """The receipt of the task that the open iteration finishes; None where it finishes none.

    Its duration is not known yet, and is left as it was.
    """
    payer = _payer(current.started.task, evidence)
    if payer is None or payer.id not in evidence.tasks_done:
        return None
    known = state.receipts.get(payer.id) or TaskReceipt(task=payer)
    is_own = current.started.task is not None and current.started.task.id == payer.id
    changes = _with_iteration(known, current, _Cost(0.0, usage, counted=True))
    tried = {"attempts": known.attempts + is_own, "done": True}
    return known.model_copy(update={**changes, **tried})


_OPEN: Mapping[str, object] = {
    "done": False,
    "iteration": None,
    "start": None,
    "commit": None,
    "within": None,
}
"""The fields of a task that is worked on: where it was done before, it was opened again."""


@dataclass(frozen=True, slots=True)
class _Cost:
    """What an iteration took, as far as its other events do not have it."""

    seconds: float
    usage: Usage | None
    counted: bool


def _evidence_of(state: RunState, current: CurrentIteration) -> Evidence:
    is_own = state.evidence is not None and state.evidence_start == current.started.start
    return state.evidence if is_own and state.evidence is not None else Evidence()


def _payer(own: TaskRef | None, evidence: Evidence) -> TaskRef | None:
    """The task whose receipt has the iteration; None where it was for none and finished none."""
    done = evidence.tasks_done
    if not done or (own is not None and own.id in done):
        return own
    return _named(done[0], evidence)


def _named(task_id: str, evidence: Evidence) -> TaskRef:
    return TaskRef(id=task_id, title=(evidence.titles or {}).get(task_id, task_id))


def _with_iteration(
    known: TaskReceipt, current: CurrentIteration, cost: _Cost
) -> dict[str, object]:
    """The changes of a receipt by one more iteration."""
    agent, usage, validated = current.agent, cost.usage, current.validated
    own_seconds = 0.0 if current.exit is None else current.exit.seconds
    dollars = add_known(known.cost_usd, None if usage is None else usage.cost_usd)
    return {
        "iterations": known.iterations + cost.counted,
        "retries": known.retries + (0 if agent is None else agent.attempt - 1),
        "seconds": round(known.seconds + cost.seconds, 3),
        "agent_seconds": round(known.agent_seconds + current.agent_seconds + own_seconds, 3),
        "tokens": add_known(known.tokens, tokens_of(usage)),
        "cost_usd": None if dollars is None else round(dollars, 6),
        "estimated": known.estimated or (usage is not None and bool(usage.estimated)),
        "validations": known.validations + (validated is not None),
        "failed_validations": known.failed_validations
        + (validated is not None and not validated.ok),
    }


def receipt_fields(receipt: TaskReceipt) -> str:
    """A receipt on one line for programs; what is not known is left out.

    ``iterations=2 attempts=2 retries=0 agent-seconds=61 tokens=31000 cost-usd=0.42 validations=2``
    """
    fields: dict[str, object] = {
        "iterations": receipt.iterations,
        "attempts": receipt.attempts,
        "retries": receipt.retries,
        "agent-seconds": round(receipt.agent_seconds),
    }
    if receipt.tokens is not None:
        fields["tokens"] = receipt.tokens
    if receipt.cost_usd is not None:
        fields["cost-usd"] = amount_words(receipt.cost_usd) or "0"
        if receipt.estimated:
            fields["cost-estimated"] = "true"
    fields["validations"] = receipt.validations
    return " ".join(f"{name}={value}" for name, value in fields.items())
