"""Actions: commands that the user can give to a loop in its present state.

Lenses and the panel offer the same ones. An action has a title that says what will happen, a verb
and its arguments; the engine that receives it may still refuse. Where an action is shown is not
known here.
"""

from __future__ import annotations

from collections.abc import Iterator

from ralph_ls.core.loop.rules.waits import can_end_wait, is_ended_by_clock, is_parked_for_user
from ralph_ls.core.plan.queries import count_tasks
from ralph_ls.core.views.model.document_context import (
    DocumentContext,
    needs_reset,
    needs_review,
    open_blocker,
    open_question,
)
from ralph_ls.protocol.lsp.panel import Action, Verb
from ralph_ls.protocol.run.values import EndReason, LaneState, Phase

WORKING_PHASES = frozenset(
    {Phase.STARTING, Phase.PREPARING, Phase.RUNNING, Phase.SETTLING, Phase.WAITING}
)
"""Phases in which a run continues by itself and has not been asked to stop."""


def answer_action(context: DocumentContext) -> Action | None:
    """Answer the open question; None without one."""
    if open_question(context) is None:
        return None
    title = f"Answer{_and_continue(context)}…"
    return Action(title=title, verb=Verb.ANSWER, arguments=_answer_arguments(context))


def choice_action(context: DocumentContext, title: str, choice: str) -> Action:
    """Answer the open question with one of its options."""
    arguments = {**_answer_arguments(context), "text": choice}
    return Action(title=title, verb=Verb.ANSWER, arguments=arguments)


def resolve_action(context: DocumentContext) -> Action | None:
    """Resolve the open blocker; None without one."""
    if open_blocker(context) is None:
        return None
    title = f"Mark blocker as resolved{_and_continue(context)}"
    return Action(title=title, verb=Verb.RESUME, arguments=_resume_arguments(context))


def reset_action(context: DocumentContext) -> Action | None:
    """Close the breaker; None where that would change nothing."""
    if not needs_reset(context):
        return None
    title = f"Reset breaker{_and_continue(context)}"
    return Action(title=title, verb=Verb.RESET, arguments=_resume_arguments(context))


def overrule_action(context: DocumentContext) -> Action | None:
    """Accept the work that the judge did not pass; None where it requests nothing."""
    state = context.state
    if state is None or not state.judge_requests:
        return None
    if state.end is not None and state.end.reason is EndReason.COMPLETE:
        return None
    title = f"Overrule the judge{_and_continue(context)}"
    return Action(title=title, verb=Verb.OVERRULE, arguments=_resume_arguments(context))


def approve_action(context: DocumentContext) -> Action | None:
    """Approve what was done; None without an engine, where resuming the run approves it."""
    if not needs_review(context) or not context.live:
        return None
    return Action(title="Approve and continue", verb=Verb.RESUME, arguments=_run_arguments(context))


def user_actions(context: DocumentContext) -> tuple[Action, ...]:
    """The actions that only the user can decide on, in the order that every view uses."""
    found = (
        answer_action(context),
        resolve_action(context),
        approve_action(context),
        overrule_action(context),
        reset_action(context),
    )
    return tuple(action for action in found if action is not None)


def run_actions(context: DocumentContext) -> tuple[Action, ...]:
    """Start or resume where nothing runs, else what the engine accepts in its phase."""
    return tuple(_ask_engine(context) if context.live else _begin(context))


def stop_now_action(context: DocumentContext) -> Action:
    """End the run at once, together with the agent."""
    arguments = {**_run_arguments(context), "now": True}
    return Action(title="Stop now", verb=Verb.STOP, arguments=arguments)


def show_log_action(context: DocumentContext, start: int) -> Action:
    """Open the log of an iteration's agent."""
    return Action(title="Show log", verb=Verb.SHOW_LOG, arguments=log_arguments(context, start))


def show_file_action(path: str) -> Action:
    """Open a file of the work tree."""
    title = f"Open {path.rpartition('/')[2]}"
    return Action(title=title, verb=Verb.SHOW_FILE, arguments={"path": path})


def log_arguments(context: DocumentContext, start: int) -> dict[str, object]:
    """The arguments that name an iteration's log."""
    return {**_run_arguments(context), "start": start}


def is_pausing(context: DocumentContext) -> bool:
    """Whether the run pauses once the iteration is settled."""
    return context.state is not None and context.state.pause_requested


def is_wait_endable(context: DocumentContext) -> bool:
    """Whether the run waits for something without which the user may let it continue."""
    return context.state is not None and can_end_wait(context.state)


def can_resume(context: DocumentContext) -> bool:
    """Whether a run without an engine can be resumed with nothing to be resolved first."""
    state = context.state
    if state is None or open_question(context) or open_blocker(context) or needs_reset(context):
        return False
    # A run at its limit would end at once, and a complete one has nothing left to do.
    return (
        state.end is None
        or is_ended_by_clock(state)
        or state.end.reason not in {EndReason.COMPLETE, EndReason.LIMIT}
    )


def is_all_done(context: DocumentContext) -> bool:
    """Whether the run is complete, and its plan has no required task that is open by now."""
    state = context.state
    if state is None or state.end is None or state.end.reason is not EndReason.COMPLETE:
        return False
    counts = count_tasks(context.plan)
    return counts.done_required >= counts.required


def has_parked_lanes(context: DocumentContext) -> bool:
    """Whether a lane of a parallel run is parked, other than with a question."""
    state = context.state
    return state is not None and any(is_parked_for_user(lane) for lane in state.lanes)


def all_tasks_blocked(context: DocumentContext) -> bool:
    """Whether only the plan blocks the run: every remaining task is blocked there."""
    state = context.state
    if state is None or state.blocked is not None or open_blocker(context) is not None:
        return False
    if any(lane.state is LaneState.PARKED for lane in state.lanes):
        return False
    return state.phase_reason == EndReason.BLOCKED.value


def _begin(context: DocumentContext) -> Iterator[Action]:
    if can_resume(context):
        yield Action(title="Resume run", verb=Verb.RESUME, arguments=_resume_arguments(context))
    # It would find nothing to do in a plan that is done, unless the plan is elsewhere.
    title = "Start another run" if is_all_done(context) else "Start loop"
    yield Action(title=title, verb=Verb.START)


def _ask_engine(context: DocumentContext) -> Iterator[Action]:
    if context.phase is Phase.STOPPING:
        yield stop_now_action(context)
        return
    if context.phase is Phase.PAUSED or (
        context.phase is Phase.PARKED and all_tasks_blocked(context)
    ):
        yield Action(title="Resume", verb=Verb.RESUME, arguments=_run_arguments(context))
    elif context.phase is Phase.WAITING and is_wait_endable(context):
        yield Action(title="Continue now", verb=Verb.RESUME, arguments=_run_arguments(context))
        yield Action(title="Pause", verb=Verb.PAUSE, arguments=_run_arguments(context))
    elif context.phase in WORKING_PHASES and is_pausing(context):
        title = "Cancel the pause"
        yield Action(title=title, verb=Verb.RESUME, arguments=_run_arguments(context))
    elif context.phase in WORKING_PHASES:
        yield Action(title="Pause", verb=Verb.PAUSE, arguments=_run_arguments(context))
    retries = context.phase is Phase.PARKED or context.phase in WORKING_PHASES
    if retries and not is_pausing(context) and has_parked_lanes(context):
        title = "Retry parked lanes"
        yield Action(title=title, verb=Verb.RESUME, arguments=_run_arguments(context))
    title = "Stop after this iteration" if context.phase in WORKING_PHASES else "Stop"
    yield Action(title=title, verb=Verb.STOP, arguments=_run_arguments(context))


def _and_continue(context: DocumentContext) -> str:
    """Without an engine, resolving a halt also resumes the run (docs/rules.md#inbox)."""
    return "" if context.state is None or context.live else " and continue"


def _answer_arguments(context: DocumentContext) -> dict[str, object]:
    """With the task whose lane asks, where the run is parallel."""
    waits = open_question(context)
    of_lane = {} if waits is None or waits.task is None else {"task": waits.task}
    return {**_resume_arguments(context), **of_lane}


def _resume_arguments(context: DocumentContext) -> dict[str, object]:
    return (
        _run_arguments(context)
        if context.state is None or context.live
        else {**_run_arguments(context), "continue": True}
    )


def _run_arguments(context: DocumentContext) -> dict[str, object]:
    return {} if context.state is None else {"run": context.state.run}
