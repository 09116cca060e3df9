"""Judge: when work is judged, what follows from a verdict, and how many rounds there are.

A judge looks at work that is valid, before the gate (docs/rules.md#judge). Its pass adds nothing to
the evidence. Where it requests changes, the tasks are open again in the plan, and the next agent
gets the reasons. A request that no task of the plan can carry, as for a request on GitHub, refuses
every completion until a judge passes the work or the user overrules it. An undecided judge
changes nothing, and is reported; what one that failed had to judge, the next one judges too.
After ``max_rounds`` requests in a row the run is stuck.

Nothing here starts a judge or edits a plan.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ralph_ls.core.agent.usage import add_known, add_usage
from ralph_ls.core.loop.effects import JudgeWork
from ralph_ls.core.loop.inputs import IterationRead, WorkJudged
from ralph_ls.core.loop.rules.gate import GateResult
from ralph_ls.core.plurals import count_of, some_of
from ralph_ls.core.prompt.judge import change_line
from ralph_ls.protocol.config.config import ProfileName
from ralph_ls.protocol.config.tables import JudgeWhen
from ralph_ls.protocol.run.events import Judged
from ralph_ls.protocol.run.report import JudgeVerdict, Usage
from ralph_ls.protocol.run.state import CurrentIteration, JudgeTotals, RunState
from ralph_ls.protocol.run.values import Baseline, Mode, TaskRef

WHOLE_RUN = ""
"""The key of requests that are about no task of the plan."""

NOT_PASSED = "the judge requests changes"
"""The refusal of a completion."""

STUCK_PREFIX = "the judge requested changes"
"""The first words of the breaker's reason for a judge that never passes."""

SHOWN_CHANGES = 3


def judge_due(
    run: RunState,
    current: CurrentIteration,
    given: IterationRead,
    *,
    progress: bool,
    completes: bool,
) -> JudgeWork | None:
    """The order to judge the open iteration's work; None where nothing is to be judged.

    ``progress``: it made some. ``completes``: the run would be complete with it, if no judge
    objected.
    """
    config, started = run.config.judge, current.started
    is_off = not config.is_on or run.config.profile is ProfileName.STORIES
    if is_off or started.mode is not Mode.BUILD or current.judged is not None:
        return None
    tasks = _subject(run, current, given, with_held=progress or completes)
    is_by_task = config.when is JudgeWhen.TASK
    is_of_task = is_by_task and bool(tasks)
    is_whole = completes and (not is_by_task or not given.plan.counts.total)
    if not is_of_task and not is_whole:
        return None
    known = [run.judge_requests[key] for key in keys_of(tasks) if key in run.judge_requests]
    return JudgeWork(
        start=started.start,
        iteration=started.iteration,
        tasks=tasks,
        base=_base(run, keys_of(tasks) if is_of_task else (WHOLE_RUN,)) or started.baseline,
        round=1 + max((one.round for one in known), default=0),
        requested=tuple(change for one in known for change in one.changes),
        validation=None if current.validated is None else current.validated.tail,
        skipped=run.skipped,
    )


def _base(run: RunState, keys: Iterable[str]) -> Baseline | None:
    """The tree that the work was begun on, by the first of the keys that has one."""
    return next((run.judge_bases[key] for key in keys if key in run.judge_bases), None)


def _subject(
    run: RunState, current: CurrentIteration, given: IterationRead, *, with_held: bool
) -> tuple[TaskRef, ...]:
    """The tasks to judge: those that the iteration finished, or an earlier one that was not judged,
    and those whose requests only a judge can settle.
    """
    titles, own = given.changes.titles or {}, current.started.task
    done = [
        own
        if own is not None and own.id == task
        else TaskRef(id=task, title=titles.get(task, task))
        for task in given.tasks_done
        if task not in given.moved
    ]
    held = [task for one in held_requests(run) for task in one.tasks if with_held]
    # The diff begins where the first of them was begun, and earlier ones are the first.
    return tuple({task.id: task for task in (*run.judge_owed, *done, *held)}.values())


def keys_of(tasks: Iterable[TaskRef]) -> tuple[str, ...]:
    """The keys of the requests about these tasks; without any, that of the whole run."""
    return tuple(task.id for task in tasks) or (WHOLE_RUN,)


def held_requests(run: RunState) -> tuple[Judged, ...]:
    """Requests that no open task of the plan carries, so that they hold every completion."""
    held = [one for one in run.judge_requests.values() if not one.reopened]
    return tuple({one.seq: one for one in held}.values())


def is_held(run: RunState, current: CurrentIteration | None = None) -> bool:
    """Whether a judge keeps the run from being complete."""
    judged = None if current is None else current.judged
    if judged is not None and judged.verdict is JudgeVerdict.CHANGES_REQUESTED:
        return True
    return bool(held_requests(run))


def requests_for(run: RunState, task: TaskRef | None) -> tuple[Judged, ...]:
    """The requests that the next agent has to meet."""
    own = None if task is None else run.judge_requests.get(task.id)
    found = [*([] if own is None else [own]), *held_requests(run)]
    return tuple({one.seq: one for one in found}.values())


def after_judge(held: IterationRead, given: WorkJudged) -> IterationRead:
    """The reading of an iteration after the judge: tasks that are open again are not done."""
    plan = held.plan if given.plan is None else given.plan
    done = tuple(task for task in held.tasks_done if task not in given.reopened)
    return replace(held, plan=plan, tasks_done=done)


def refuse_completion(run: RunState, current: CurrentIteration, gate: GateResult) -> GateResult:
    """The gate's decision about work for which a judge requests changes: none is accepted."""
    is_claimed = gate.accepted or gate.refusal is not None
    if is_claimed and is_held(run, current):
        return replace(gate, accepted=False, refusal=NOT_PASSED, why="")
    return gate


def why_stuck(current: CurrentIteration) -> str | None:
    """Why the run stops for a judge that never passes; None where it does not."""
    judged = current.judged
    if judged is None or judged.verdict is not JudgeVerdict.CHANGES_REQUESTED:
        return None
    if judged.round < judged.max_rounds:
        return None
    about = f" for {some_of([one.title for one in judged.tasks], 2)}" if judged.tasks else ""
    wants = "; ".join(change_line(one) for one in judged.changes[:SHOWN_CHANGES])
    times = count_of(judged.round, "time")
    row = f"{times} in a row" if judged.round > 1 else times
    return f"{STUCK_PREFIX} {row}{about}: {wants}; accept the work with: ralph overrule"


def is_stuck_by_judge(run: RunState) -> bool:
    """Whether the breaker is open for a judge that never passes."""
    return run.breaker.reason.startswith(STUCK_PREFIX)


def usage_with_judge(current: CurrentIteration, usage: Usage | None) -> Usage | None:
    """The usage of an iteration's agents, with its judge's; the context is that of the agents."""
    judged = None if current.judged is None else current.judged.usage
    if judged is None:
        return usage
    return add_usage(
        usage, judged.model_copy(update={"context_tokens": None, "context_window": None})
    )


# Folding


def requests_after_verdict(run: RunState, judged: Judged) -> dict[str, Judged]:
    """The requests that are open after a verdict; an undecided one leaves them."""
    if judged.verdict is JudgeVerdict.CANNOT_TELL:
        return run.judge_requests
    keys = keys_of(judged.tasks)
    others = {key: one for key, one in run.judge_requests.items() if key not in keys}
    if judged.verdict is JudgeVerdict.PASSED:
        # Who judges the whole run judges all of it.
        return others if judged.tasks else {}
    return {**others, **dict.fromkeys(keys, judged)}


def owed_after_iteration(run: RunState) -> tuple[TaskRef, ...]:
    """Tasks that became done in an iteration that was not judged, such as an invalid one."""
    current, evidence = run.current, run.evidence
    is_off = run.config.judge.when is not JudgeWhen.TASK
    if is_off or current is None or evidence is None or current.judged is not None:
        return run.judge_owed
    # A journal may lack the evidence of an iteration; what is here is then another's.
    tasks_done = evidence.tasks_done if run.evidence_start == current.started.start else ()
    own, titles = current.started.task, evidence.titles or {}
    done = [
        own
        if own is not None and own.id == task
        else TaskRef(id=task, title=titles.get(task, task))
        for task in tasks_done
    ]
    return tuple({task.id: task for task in (*run.judge_owed, *done)}.values())


def owed_after_verdict(run: RunState, judged: Judged) -> tuple[TaskRef, ...]:
    """Tasks that are still to be judged after a verdict; all of them where a judge failed."""
    others = tuple(one for one in run.judge_owed if one not in judged.tasks)
    return (*others, *judged.tasks) if judged.failed else others


def requests_after_overruling(run: RunState, tasks: tuple[TaskRef, ...]) -> dict[str, Judged]:
    """The requests that are left after the user has overruled those about these tasks."""
    keys = keys_of(tasks)
    return {key: one for key, one in run.judge_requests.items() if key not in keys}


def requests_after_reset(run: RunState) -> dict[str, Judged]:
    """The requests after a user's reset: they stay, and are counted from the beginning."""
    return {key: one.model_copy(update={"round": 0}) for key, one in run.judge_requests.items()}


def totals_after_verdict(totals: JudgeTotals, judged: Judged) -> JudgeTotals:
    """The totals with one more verdict."""
    verdict = judged.verdict
    return JudgeTotals(
        passed=totals.passed + (verdict is JudgeVerdict.PASSED),
        changes=totals.changes + (verdict is JudgeVerdict.CHANGES_REQUESTED),
        unclear=totals.unclear + (verdict is JudgeVerdict.CANNOT_TELL),
        overruled=totals.overruled,
        seconds=round(add_known(totals.seconds, judged.seconds) or 0.0, 3),
        usage=add_usage(totals.usage, judged.usage),
    )


def bases_after_start(
    run: RunState, task: TaskRef | None, baseline: Baseline
) -> dict[str, Baseline]:
    """The trees that work was begun on, with an iteration that begins; none without a judge."""
    if not run.config.judge.is_on:
        return run.judge_bases
    # What was changed before keeps its place out of the diff, unless there is a flood of it.
    dirty = baseline.dirty if len(baseline.dirty) <= KEPT_DIRTY else {}
    base = Baseline(head=baseline.head, dirty=dirty)
    keys = (WHOLE_RUN,) if task is None else (WHOLE_RUN, task.id)
    return {**dict.fromkeys(keys, base), **run.judge_bases}


KEPT_DIRTY = 200
"""Files that were changed before work on a task began."""
