"""Card: the one thing of a loop that needs attention first, with the actions for it.

Everything else that waits for the user is appended to the same card, so that nothing is hidden.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from ralph_ls.core.loop.profiles import is_parallel
from ralph_ls.core.loop.rules.waits import is_parked_for_user, review_due, stuck_words
from ralph_ls.core.plan.queries import count_tasks
from ralph_ls.core.plurals import count_of
from ralph_ls.core.views.model import actions as controls
from ralph_ls.core.views.model.control_chars import escape_control_chars
from ralph_ls.core.views.model.diagnostic import DiagnosticCode
from ralph_ls.core.views.model.document_context import (
    DocumentContext,
    OpenHalt,
    needs_reset,
    needs_review,
    open_blocker,
    open_question,
)
from ralph_ls.core.views.model.words import one_line, some_lines, split_text
from ralph_ls.core.views.panel.question import labelled_choices
from ralph_ls.core.views.panel.run_status import ended_words, is_half_open, panel_state
from ralph_ls.core.views.text.lane_summary import next_of_parallel
from ralph_ls.core.views.text.run_end import counter_words, task_words
from ralph_ls.core.views.text.status import OVERLOAD, UNREACHABLE, USAGE_LIMIT, wait_words
from ralph_ls.core.views.text.summary import format_duration, is_estimated
from ralph_ls.protocol.lsp.panel import Action, Card, Meter, PanelState, Tone, Verb
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import Breaker, BreakerState, Phase

MAX_CARD_CHARS = 1000
"""Shown characters of a question or a reason; the whole text is in its file."""

SHOWN_ERROR = 200

SHOWN_CHOICE = 80
"""Characters of an option on its button."""

TOOLS_SETTING = "tools.allow"
"""The setting by which an agent is permitted a tool."""

LONG_WAIT = timedelta(seconds=30)
"""Shorter waits get no card: they are over before it is read."""


def card(context: DocumentContext) -> Card | None:
    """The card of a work tree; None where nothing needs attention. Total."""
    made = _of_state(context) or _needs_user(context) or _parked_lanes(context)
    if made is None:
        return None
    also = [text for kind, text in _open_halts(context) if kind != made.kind]
    return made.model_copy(update={"text": "\n\n".join(filter(None, (made.text, *also)))})


def plan_meter(context: DocumentContext) -> Meter:
    """How much of the plan is done now; where there is no plan to read, as the run counted it.

    A parallel run ticks tasks on its branch, which the plan in the work tree shows once it is
    merged.
    """
    if context.state is not None and (not context.plan.tasks or _counts_branch(context)):
        counted = context.state.counts
        return Meter(value=counted.required_done, of=counted.required)
    counts = count_tasks(context.plan)
    return Meter(value=counts.done_required, of=counts.required)


def _counts_branch(context: DocumentContext) -> bool:
    """Whether the branch of a parallel run has more finished tasks than the plan here."""
    state = context.state
    if state is None or not is_parallel(state.config):
        return False
    return state.counts.required_done > count_tasks(context.plan).done_required


def breaker_reason(state: RunState) -> str:
    """The reason of the breaker's state, and the threshold at which it opens."""
    breaker, threshold = state.breaker, state.config.breaker.no_progress_open
    opens = f"; opens at {threshold}" if threshold > 0 else ""
    is_half = breaker.state is BreakerState.HALF_OPEN
    return f"{escape_control_chars(breaker.reason)}{opens if is_half else ''}"


def environment_lines(context: DocumentContext, state: RunState) -> Iterator[str]:
    """Signs of a broken environment, with count, threshold and remedy.

    See docs/rules.md#breaker. Counters that are off or zero are omitted.
    """
    breaker, rules = state.breaker, state.config.breaker
    if rules.denials_open > 0 and breaker.consecutive_denials:
        of = count_of(rules.denials_open, "iteration")
        yield f"permission denied in {breaker.consecutive_denials} of {of}"
        # The reason of a breaker that opened for it already names the setting.
        if context.history.denied and TOOLS_SETTING not in breaker.reason:
            tools = one_line(", ".join(context.history.denied), limit=SHOWN_ERROR)
            yield f"denied: {tools}; allow it with the setting {TOOLS_SETTING}"
    if rules.set_aside_open > 0 and breaker.consecutive_set_asides:
        of = count_of(rules.set_aside_open, "task")
        yield f"{breaker.consecutive_set_asides} of {of} set aside in a row without progress"


def _of_state(context: DocumentContext) -> Card | None:
    state = context.state
    if state is None:
        return None
    match panel_state(context):
        case PanelState.RUNNING:
            return _half_open(context, state) if is_half_open(context) else None
        case PanelState.STOPPING:
            text = "The agent may finish this iteration; then the run ends."
            return _made(context, "run-stops", Tone.PLAIN, "Stopping after this iteration", text)
        case PanelState.PAUSED:
            return _paused(context, state)
        case PanelState.WAITING:
            return _long_wait(context, state)
        case PanelState.BLOCKED if controls.all_tasks_blocked(context):
            return _lacks_a_task(context, state)
        case PanelState.STUCK:
            return _stuck(context, state)
        case PanelState.CRASHED:
            return _crashed(context, state)
        case PanelState.COMPLETE:
            return _ended(context, state, "run-complete", Tone.GOOD)
        case PanelState.ENDED:
            return _ended(context, state, "run-ended", Tone.PLAIN)
        case PanelState.FATAL:
            return _ended(context, state, "run-fatal", Tone.BAD)
        case _:
            return None


def _needs_user(context: DocumentContext) -> Card | None:
    """A blocker before a question, as the loop takes them."""
    waits = open_blocker(context)
    if waits is not None:
        return Card(
            kind=DiagnosticCode.RUN_BLOCKED,
            tone=Tone.BAD,
            title=_in_iteration("Blocked", waits.iteration),
            text=_shown(waits.text),
            actions=(*_settling(context), *_halt_file(context, DiagnosticCode.RUN_BLOCKED)),
        )
    waits = open_question(context)
    if waits is None:
        return None
    return Card(
        kind=DiagnosticCode.QUESTION_WAITING,
        tone=Tone.WARNING,
        title=_asks(waits),
        text=_shown(waits.text),
        actions=(
            *_choices(context, waits.text),
            *_settling(context),
            # The file is in the lane's work tree.
            *(_halt_file(context, DiagnosticCode.QUESTION_WAITING) if waits.lane is None else ()),
        ),
    )


def _asks(waits: OpenHalt) -> str:
    if waits.lane is not None:
        return f"Lane {waits.lane} asks"
    return _in_iteration("Ralph asks", waits.iteration)


SHOWN_LANES = 5


def _parked_lanes(context: DocumentContext) -> Card | None:
    """The lanes of a parallel run that are kept for the user."""
    state = context.state
    parked = [] if state is None else [one for one in state.lanes if is_parked_for_user(one)]
    if state is None or not parked:
        return None
    lines = [
        f"{one_line(lane.task.title, limit=SHOWN_CHOICE)}: {some_lines(lane.message)}"
        for lane in parked[:SHOWN_LANES]
    ]
    if len(parked) > SHOWN_LANES:
        lines.append(f"and {len(parked) - SHOWN_LANES} more")
    text = _shown("\n".join(lines))
    title = f"{count_of(len(parked), 'lane')} parked"
    tone = Tone.WARNING if panel_state(context) is PanelState.RUNNING else Tone.BAD
    return _made(context, "lanes-parked", tone, title, text)


def _choices(context: DocumentContext, question: str) -> Iterator[Action]:
    """The options that the question lists, each an answer."""
    for label, choice in labelled_choices(question):
        title = one_line(f"{label} {choice}".strip(), limit=SHOWN_CHOICE)
        yield controls.choice_action(context, title, choice)


def _open_halts(context: DocumentContext) -> Iterator[tuple[str, str]]:
    """Everything that waits for the user, each with the kind of its card."""
    if (waits := open_blocker(context)) is not None:
        yield DiagnosticCode.RUN_BLOCKED, f"Blocked: {_shown(waits.text)}"
    if (waits := open_question(context)) is not None:
        yield DiagnosticCode.QUESTION_WAITING, f"Ralph asks: {_shown(waits.text)}"
    if (parked := _parked_lanes(context)) is not None:
        yield parked.kind, f"{parked.title}: {parked.text}"
    state = context.state
    if state is not None and state.breaker.state is BreakerState.OPEN and needs_reset(context):
        yield (
            DiagnosticCode.BREAKER_OPEN,
            f"Breaker open: {escape_control_chars(state.breaker.reason)}",
        )


def _half_open(context: DocumentContext, state: RunState) -> Card:
    reason = f"Breaker half-open: {breaker_reason(state)}"
    lines = (reason, *environment_lines(context, state), *_last_error(state.breaker))
    text = "\n".join(lines)
    return Card(
        kind=DiagnosticCode.BREAKER_HALF_OPEN,
        tone=Tone.WARNING,
        title=f"No progress{_of_threshold(state)}",
        text=text,
        actions=(*controls.user_actions(context), *_log(context, state)),
    )


def _of_threshold(state: RunState) -> str:
    """`` (2 of 3)``: the iterations without progress; empty where no number of them opens it."""
    opens = state.config.breaker.no_progress_open
    count = state.breaker.consecutive_no_progress
    return f" ({count} of {opens})" if 0 < count <= opens else ""


def _stuck(context: DocumentContext, state: RunState) -> Card:
    breaker = state.breaker
    is_open = breaker.state is BreakerState.OPEN
    reason = escape_control_chars(stuck_words(breaker, state.stuck_count, state.config) or "")
    lines = [reason, *(_open_lines(context, state) if is_open else ())]
    return Card(
        kind=DiagnosticCode.BREAKER_OPEN if is_open else "run-stuck",
        tone=Tone.BAD,
        title="Breaker open" if is_open else "Stuck",
        text="\n".join(lines),
        since=breaker.last_change_at if is_open else None,
        actions=(*_settling(context), *_log(context, state)),
    )


def _open_lines(context: DocumentContext, state: RunState) -> Iterator[str]:
    lines = list(counter_words(state))
    yield from [f"in a row: {', '.join(lines)}"] if lines else []
    yield from environment_lines(context, state)
    yield from _last_error(state.breaker)


def _last_error(breaker: Breaker) -> Iterator[str]:
    if breaker.error_streaks and breaker.error_history:
        yield f"last error: {one_line(breaker.error_history[-1], limit=SHOWN_ERROR)}"


def _paused(context: DocumentContext, state: RunState) -> Card:
    if needs_review(context):
        due = review_due(state)
        why = "" if due is None else f"{due[0].upper()}{escape_control_chars(due[1:])}. "
        text = f"{why}Look at the work; the run continues when you approve it."
        made = _made(context, "run-review", Tone.WARNING, "Review", text)
        return made.model_copy(update={"actions": (*made.actions, *_log(context, state))})
    if context.phase is Phase.PAUSED:
        return _made(context, "run-paused", Tone.WARNING, "Paused", "Continues when you resume it.")
    text = "What it waited for is settled, but its engine is not running."
    return _made(context, "run-ready", Tone.WARNING, "Ready to continue", text)


NOT_COUNTED = {
    USAGE_LIMIT: "The iteration that reached the limit does not count.",
    OVERLOAD: "The iteration that found the model overloaded does not count.",
    UNREACHABLE: "The iteration that could not reach the API does not count.",
}


def _long_wait(context: DocumentContext, state: RunState) -> Card | None:
    until, since = state.until, state.phase_since
    if until is None or since is None or until - since < LONG_WAIT:
        return None
    # A viewer shows until when, in its own time zone.
    text = NOT_COUNTED.get(state.phase_reason or "", "")
    title = f"Waiting{wait_words(state.phase_reason, None)}"
    return _made(context, "run-waits", Tone.PLAIN, title, text)


def _lacks_a_task(context: DocumentContext, state: RunState) -> Card:
    text = "a task in the plan that is not blocked" if state.end is None else state.end.message
    if state.end is None:
        text = f"it waits for {text}"
    return Card(
        kind="plan-blocked",
        tone=Tone.BAD,
        title="Blocked",
        text=_shown(text),
        actions=(
            *_settling(context),
            *controls.run_actions(context)[:1],
            controls.show_file_action(state.plan),
        ),
    )


def _crashed(context: DocumentContext, state: RunState) -> Card:
    text = f"The engine of run {escape_control_chars(state.run)} (pid {state.pid}) is gone."
    made = _made(context, DiagnosticCode.ENGINE_GONE, Tone.BAD, "Engine gone", text)
    actions = (*made.actions, *_log(context, state))
    return made.model_copy(update={"since": state.at, "actions": actions})


def _ended(context: DocumentContext, state: RunState, kind: str, tone: Tone) -> Card:
    summary = [
        count_of(state.iterations, "iteration"),
        format_duration(state.active_seconds),
    ]
    if state.request is None:
        done = plan_meter(context)
        words = f"{done.value} of {count_of(done.of or 0, 'task')} done"
        summary.append(words if done.of or not state.receipts else task_words(state))
    if context.history.cost_usd is not None:
        about = "≈" if is_estimated(state.usage) else ""
        summary.append(f"{about}${context.history.cost_usd:.2f}")
    reason = [] if state.end is None else [_shown(state.end.message)]
    if is_parallel(state.config) and (command := next_of_parallel(state)):
        reason.append(f"Next: {escape_control_chars(command)}")
    made = _made(
        context, kind, tone, ended_words(state.end), "\n".join((*reason, " · ".join(summary)))
    )
    return made.model_copy(update={"actions": (*made.actions, *_log(context, state))})


def _made(context: DocumentContext, kind: str, tone: Tone, title: str, text: str) -> Card:
    """A card with the general actions of a run."""
    actions = (*_settling(context), *controls.run_actions(context))
    return Card(kind=kind, tone=tone, title=title, text=text, actions=actions)


def _settling(context: DocumentContext) -> Iterator[Action]:
    """The actions that only the user can decide on; not the reset of a half open breaker."""
    for action in controls.user_actions(context):
        if action.verb is not Verb.RESET or not is_half_open(context):
            yield action


def _log(context: DocumentContext, state: RunState) -> Iterator[Action]:
    if state.start:
        yield controls.show_log_action(context, state.start)


def _halt_file(context: DocumentContext, code: DiagnosticCode) -> Iterator[Action]:
    """Open the halt file; its path is known from the settings of a run."""
    if context.state is not None:
        paths = context.state.config.paths
        path = paths.blocked if code is DiagnosticCode.RUN_BLOCKED else paths.decide
        yield controls.show_file_action(path)


def _in_iteration(what: str, iteration: int | None) -> str:
    return what if iteration is None else f"{what} (iteration {iteration})"


def _shown(text: str) -> str:
    shown, rest = split_text(some_lines(text), MAX_CARD_CHARS)
    return f"{shown}…" if rest else shown
