"""Changes of a run's state with the events of an iteration, from its start to its end."""

from __future__ import annotations

from collections.abc import Mapping

from ralph_ls.core.agent.usage import add_usage
from ralph_ls.core.loop.changes import (
    IterationChanges,
    RevertedChanges,
    RunChanges,
    replace_iteration,
)
from ralph_ls.core.loop.evidence.repetition import repetition_after_iteration
from ralph_ls.core.loop.rules import budget, failure_policy, judge
from ralph_ls.core.loop.rules.agent_choice import session_after_iteration
from ralph_ls.core.loop.rules.commits import next_commit_base
from ralph_ls.core.loop.rules.gate import failing_tests_after
from ralph_ls.core.loop.rules.receipts import receipts_after_iteration
from ralph_ls.protocol.config.config import Committer, OnValidateFail
from ralph_ls.protocol.run.agent_tools import ReportTool
from ralph_ls.protocol.run.events import (
    AgentExited,
    AgentReported,
    AgentStarted,
    Committed,
    CriteriaVerified,
    EventBase,
    EvidenceGathered,
    GuardReverted,
    IterationEnded,
    IterationStarted,
    Judged,
    JudgeStarted,
    PlanChanged,
    PromiseRead,
    Pushed,
    RalphStatusUpdate,
    RolledBack,
    TaskSetAside,
    Validated,
    Warned,
)
from ralph_ls.protocol.run.state import (
    CurrentIteration,
    DiscoveryView,
    FailedValidation,
    IterationFacts,
    LastIteration,
    Question,
    RunState,
    RunTotals,
)
from ralph_ls.protocol.run.values import EndStates, Evidence, Mode, Outcome, TaskRef

OUTCOMES_WITHOUT_RESULT = frozenset({Outcome.LOST, Outcome.LIMITED, Outcome.STOPPED})
"""Outcomes of iterations that were cut off: the next prompt repeats the content of theirs."""

KEPT_WARNINGS = 10
KEPT_OUTSIDE_FAILURES = 5
KEPT_PATHS = 200
KEPT_DISCOVERIES = 20
KEPT_HISTORY = 5
"""Iterations in the loop history (docs/rules.md#breaker)."""

BUDGET_WARNING = "budget-"
"""The prefix of the code of a warning that most of a budget is used up."""


def changes_of_iteration(
    state: RunState, event: IterationStarted | AgentStarted | AgentExited | IterationEnded
) -> RunChanges:
    """The changes of an event that begins, moves or ends an iteration."""
    match event:
        case IterationStarted():
            end_states = state.seen or EndStates((event.baseline.fingerprint,))
            is_ours = state.config.commits is Committer.LOOP
            return {
                "start": event.start,
                "iteration": event.iteration,
                "tries": event.tries,
                "current": CurrentIteration(started=event),
                "commit_base": next_commit_base(state.commit_base, state.owed, event.baseline)
                if is_ours
                else None,
                "counts": event.counts,
                "seen": end_states,
                "verdict": None,
                "specs_unplanned": False,
                "judge_bases": judge.bases_after_start(state, event.task, event.baseline),
                "attempts": state.attempts if event.attempts is None else event.attempts,
                "set_aside": without_task(state.set_aside, event.task),
            }
        case AgentStarted() if state.current is not None:
            # An agent that is started once more replaces the one that has ended.
            before = state.current.agent_seconds
            before += 0.0 if state.current.exit is None else state.current.exit.seconds
            return {
                "current": replace_iteration(
                    state.current, agent=event, exit=None, agent_seconds=before, reported=()
                )
            }
        case AgentExited() if state.current is not None:
            return {"current": replace_iteration(state.current, exit=event)}
        case IterationEnded():
            return _iteration_ended(state, event)
        case _:
            return {}


def _iteration_ended(state: RunState, event: IterationEnded) -> RunChanges:
    changes: RunChanges = {
        "current": None,
        "commit_base": state.commit_base if event.uncommitted else None,
        "owed": event.left if event.uncommitted else None,
        "counts": event.counts,
        "seen": state.seen.plus(event.fingerprint),
        "breaker": event.breaker,
        "stuck_count": event.stuck_count,
        "indicators": event.indicators,
        "missing_reports": event.missing_reports,
        "attempts": event.attempts,
        "skipped": event.skipped,
        "failed_validation": _failed_validation(state, event),
        "session": session_after_iteration(
            state.session,
            event,
            task=_task_of(state),
            now=event.at,
            agent=None if state.current is None else state.current.agent,
        ),
        "history": (*state.history, _facts_of(state, event))[-KEPT_HISTORY:],
        "receipts": receipts_after_iteration(state, event),
        "totals": _totals_after(state, event),
        "usage": add_usage(state.usage, event.usage),
        "calls": budget.calls_after_iteration(state, event),
        "crashes": event.crashes,
        "judge_owed": judge.owed_after_iteration(state),
        "overloads": failure_policy.overloads_after(state, event),
        "waited_seconds": failure_policy.waited_after(state, event),
        "agents_out": failure_policy.unavailable_after_iteration(state.agents_out, event.agent_out),
        "recommendation": event.recommendation,
        "verdict": event.verdict,
        "last": LastIteration(
            iteration=event.iteration,
            start=event.start,
            outcome=event.outcome,
            counted=event.counted,
            seconds=event.seconds,
            commit=event.commit,
            claims=event.claims,
        ),
    }
    reverted = () if state.current is None else state.current.reverted
    # The next prompt repeats the content of the prompt of an agent that was cut off.
    changes["reverted"] = (
        (*state.reverted, *reverted) if event.outcome in OUTCOMES_WITHOUT_RESULT else reverted
    )
    if event.counted:
        changes["counted"] = state.counted + 1
    if event.confirmed:
        changes["confirmations"] = state.confirmations + 1
    if event.outcome in OUTCOMES_WITHOUT_RESULT:
        return changes
    return changes | _used_up_by(state, event)


def _used_up_by(state: RunState, event: IterationEnded) -> RunChanges:
    """Changes by an iteration that came to its end: it has used up the content of its prompt."""
    changes: RunChanges = {"failing_tests": failing_tests_after(state, event)}
    is_own = state.evidence_start == event.start
    if is_own and state.evidence is not None:
        changes |= repetition_after_iteration(state, state.evidence)
    if event.mode is Mode.PLAN:
        changes["has_planned"] = True
    elif event.outcome is Outcome.PROGRESS:
        changes["has_planned"] = False
    began = state.current.started.seq if state.current is not None else event.seq
    changes["stuck_iterations"] = state.stuck_iterations + _is_stuck(event)
    changes["notes"] = tuple(note for note in state.notes if note.seq > began)
    changes["discoveries"] = tuple(note for note in state.discoveries if note.seq > began)
    return {**changes, **_settled_question(state.question, began)}


def _settled_question(question: Question | None, began: int) -> RunChanges:
    """A question is settled once an agent had the answer: in its prompt, or as it waited for it."""
    if question is None or question.answer is None:
        return {}
    if question.answered_seq >= began and not question.delivered:
        return {}
    return {"question": None, "settled_question": question.question}


def _is_stuck(event: IterationEnded) -> bool:
    """Whether an iteration that came to its end lacks a commit; a confirmation needs none."""
    return event.commit is None and not event.confirmed


def _failed_validation(state: RunState, event: IterationEnded) -> FailedValidation | None:
    """The failed validation that the next prompt names (docs/rules.md#validation)."""
    known, current, policy = state.failed_validation, state.current, state.config.on_validate_fail
    if current is None or current.validated is None:
        # Work that is still there is still invalid; a rollback is named in one prompt.
        is_named = (
            policy is OnValidateFail.ROLLBACK and event.outcome not in OUTCOMES_WITHOUT_RESULT
        )
        return None if is_named else known
    if current.validated.ok or policy is OnValidateFail.STOP:
        return None
    undone = current.rolled_back
    return FailedValidation(
        validated=current.validated,
        task=None if "taskSetAside" in current.told else current.started.task,
        mode=current.started.mode,
        in_a_row=1 if known is None else known.in_a_row + 1,
        undone=undone is not None and undone.ok,
        backup=None if undone is None else undone.backup,
    )


def _task_of(state: RunState) -> TaskRef | None:
    return None if state.current is None else state.current.started.task


def _totals_after(state: RunState, event: IterationEnded) -> RunTotals:
    """The run's totals with the iteration that has ended."""
    known, current = state.totals, state.current
    is_own = state.evidence_start == event.start
    evidence = state.evidence if is_own and state.evidence is not None else Evidence()
    commits = sum(not commit.by_person for commit in evidence.commits)
    commits += current is not None and current.committed is not None
    paths = tuple(dict.fromkeys((*known.paths, *evidence.paths)))
    files = max(len(paths), known.files, evidence.files)
    is_cut = len(paths) > KEPT_PATHS or evidence.files > len(evidence.paths)
    seconds = known.seconds.get(event.mode.value, 0.0) + event.seconds
    return RunTotals(
        commits=known.commits + commits,
        files=files,
        more_files=known.more_files or is_cut,
        paths=paths[:KEPT_PATHS],
        seconds={**known.seconds, event.mode.value: round(seconds, 3)},
        restored=known.restored + (0 if current is None else len(current.reverted)),
        failures=_failures_after(known.failures, event),
    )


def _failures_after(known: Mapping[str, int], event: IterationEnded) -> dict[str, int]:
    if event.failure is None:
        return dict(known)
    return {**known, event.failure.value: known.get(event.failure.value, 0) + 1}


def without_task(
    events: tuple[TaskSetAside, ...], task: TaskRef | None
) -> tuple[TaskSetAside, ...]:
    """Those of the events that are not about this task."""
    return tuple(one for one in events if task is None or one.task.id != task.id)


def _facts_of(state: RunState, event: IterationEnded) -> IterationFacts:
    """One entry of the loop history, from the iteration's events (docs/rules.md#breaker)."""
    is_own = state.evidence_start == event.start
    evidence = state.evidence if is_own and state.evidence is not None else Evidence()
    return IterationFacts(
        iteration=event.iteration,
        start=event.start,
        outcome=event.outcome,
        failure=event.failure,
        files=evidence.files,
        commits=len(evidence.commits),
        tasks_done=len(evidence.tasks_done),
        confirmed=bool(event.confirmed),
        errors=event.errors,
        report=state.report if state.report_start == event.start else None,
    )


def shown_changes(state: RunState, event: EventBase) -> RunChanges:
    """The changes of an event that only viewers show; most events have none."""
    match event:
        case RalphStatusUpdate(report=report):
            return {
                "report": report,
                "report_iteration": event.iteration,
                "report_start": event.start,
            }
        case PromiseRead(promise=promise):
            return {"promise": promise}
        case EvidenceGathered(evidence=evidence):
            return {
                "evidence": evidence,
                "evidence_iteration": event.iteration,
                "evidence_start": event.start,
            }
        case Judged():
            return _judged_changes(state, event)
        case RolledBack(ok=True):
            return {"evidence": _without_effect(event)}
        case PlanChanged(counts=counts):
            return {"counts": counts}
        case AgentReported(tool=ReportTool.NOTE_DISCOVERY, arguments=arguments, seq=seq):
            noted = DiscoveryView(text=str(arguments.get("text", "")), seq=seq)
            return {"discoveries": (*state.discoveries, noted)[-KEPT_DISCOVERIES:]}
        case TaskSetAside(task=task):
            return {"set_aside": (*without_task(state.set_aside, task), event)}
        case Warned(code=code):
            from ralph_ls.core.plan.specs import UNPLANNED

            changes: RunChanges = {"warnings": (*state.warnings, event)[-KEPT_WARNINGS:]}
            if event.outside:
                failed = (*state.outside_failures, event)
                changes["outside_failures"] = failed[-KEPT_OUTSIDE_FAILURES:]
            if code == UNPLANNED:
                changes["specs_unplanned"] = True
            if code.startswith(BUDGET_WARNING):
                name = code.removeprefix(BUDGET_WARNING)
                changes["budgets_warned"] = (*state.budgets_warned, name)
            return changes
        case _:
            return {}


def _judged_changes(state: RunState, event: Judged) -> RunChanges:
    """A task that a judge has opened again is not done, whatever the evidence had."""
    changes: RunChanges = {
        "judgement": event,
        "judge_requests": judge.requests_after_verdict(state, event),
        "judge_owed": judge.owed_after_verdict(state, event),
        "judge_totals": judge.totals_after_verdict(state.judge_totals, event),
    }
    evidence = state.evidence
    if evidence is not None and state.evidence_start == event.start and event.reopened:
        done = tuple(task for task in evidence.tasks_done if task not in event.reopened)
        changes["evidence"] = evidence.model_copy(update={"tasks_done": done})
    return changes


def _without_effect(undone: RolledBack) -> Evidence:
    """Evidence after a rollback: none, and so no progress.

    Its end state is not remembered: the same work done again, and valid then, is progress.
    """
    where = f"; they are kept on {undone.backup}" if undone.backup else ""
    why = f"the changes did not pass validation and were rolled back{where}"
    return Evidence(why=why)


def current_changes(state: RunState, event: EventBase) -> RunChanges:
    """Remember that the open iteration has had this event."""
    current = state.current
    if current is None or event.__dict__.get("start") != current.started.start:
        return {}
    changes: IterationChanges = {"told": (*current.told, event_name(event))}
    match event:
        case AgentReported():
            # It may come often, and is known by itself.
            changes = {"reported": (*current.reported, event)}
        case CriteriaVerified():
            changes["verified"] = (*current.verified, event)
        case Validated():
            changes["validated"] = event
        case RolledBack():
            changes["rolled_back"] = event
        case JudgeStarted():
            changes["judging"] = event
        case Judged():
            changes["judged"] = event
        case GuardReverted():
            # The agent's version is for users to read, and would be kept at every boundary.
            emptied: RevertedChanges = {"text": ""}
            changes["reverted"] = (*current.reverted, event.model_copy(update=emptied))
        case Committed():
            changes["committed"] = event
        case Pushed():
            changes["pushed"] = event
        case _:
            pass
    return {"current": current.model_copy(update=changes)}


def event_name(event: EventBase) -> str:
    """The name under which an open iteration remembers an event."""
    return (
        warning_name(event.code) if isinstance(event, Warned) else str(getattr(event, "kind", ""))
    )


def warning_name(code: str) -> str:
    """The name of a warning: one of each code is enough for an iteration."""
    return f"warned:{code}"
