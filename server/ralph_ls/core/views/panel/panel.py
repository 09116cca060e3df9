"""Panel: everything that a viewer shows of one work tree (docs/rules.md#panel).

A viewer draws it and decides nothing. It is rebuilt on every change, so it must stay cheap.

The status summary has shorter answers than in a terminal: an editor has buttons, and the lines of
`facts` are not repeated.
"""

from __future__ import annotations

from datetime import datetime

from ralph_ls.core.loop.fold import IDLE_PHASES
from ralph_ls.core.loop.profiles import is_parallel
from ralph_ls.core.loop.rules.waits import asking_lanes
from ralph_ls.core.views.model import actions
from ralph_ls.core.views.model.document_context import (
    DocumentContext,
    needs_review,
    open_blocker,
    open_question,
)
from ralph_ls.core.views.model.words import evidence_words, iteration_words, one_line, some_lines
from ralph_ls.core.views.panel.card import card, plan_meter
from ralph_ls.core.views.panel.facts import MAX_TITLE_CHARS, facts, running_time
from ralph_ls.core.views.panel.lanes import lane_table
from ralph_ls.core.views.panel.question import question_view
from ralph_ls.core.views.panel.rows import MAX_ROWS, with_roll_back
from ralph_ls.core.views.panel.run_status import run_status
from ralph_ls.core.views.text.lane_summary import next_of_parallel
from ralph_ls.core.views.text.status import (
    HOLD_WORDS,
    WAIT_NAMES,
    activity_words,
    needs_user,
    status_answers,
)
from ralph_ls.protocol.json_output import LaneTable
from ralph_ls.protocol.lsp.panel import (
    AnswerView,
    Card,
    IterationRow,
    Meter,
    Panel,
    PanelState,
)
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import Mode, Phase

ANSWERS_WITHOUT_RUN = (
    ("Running", "no, no loop has run here yet"),
    ("Needs you", "no"),
    ("Next", "start loop"),
)
"""The status summary of a work tree without a run."""


SHORT_PHASE_WORDS = {Phase.STOPPING: "stopping after this iteration"}
"""Names of phases for users, where they differ."""


def panel_answers(context: DocumentContext) -> tuple[AnswerView, ...]:
    """The answers of the status summary, in order. Total."""
    answers = list(ANSWERS_WITHOUT_RUN)
    if context.state is not None:
        answers = status_answers(
            context.state, context.phase, pid=context.pid if context.live else None
        )
        shorter = {
            "Running": _running(context, context.state),
            "Doing": _doing(context, context.state),
            "Last change": _last_change(context.state),
            "Next": _next(context, context.state),
        }
        answers = [(heading, shorter.get(heading, text)) for heading, text in answers]
    elif open_question(context) is not None:
        answers[1] = ("Needs you", "yes, it waits for your answer")
    elif open_blocker(context) is not None:
        answers[1] = ("Needs you", "yes, it waits until you resolve a blocker")
    return tuple(AnswerView(heading=heading, text=some_lines(text)) for heading, text in answers)


def _running(context: DocumentContext, run: RunState) -> str:
    """Whether the loop runs, without process id and run id."""
    if context.phase is Phase.ENDED:
        return "no, it has ended"
    if context.phase is Phase.CRASHED:
        return "no, its engine is gone"
    if not context.live:
        return f"no, the system stopped its engine while it was {context.phase.value}"
    if context.phase in HOLD_WORDS:
        return f"no, {HOLD_WORDS[context.phase]}, {iteration_words(run)}"
    how = SHORT_PHASE_WORDS.get(context.phase) or context.phase.value
    if context.phase is Phase.WAITING:
        # Until when, a viewer shows by its own clock.
        how = f"waiting{WAIT_NAMES.get(run.phase_reason or '', '')}"
    return f"yes, {how}, {iteration_words(run)}"


def _task_in_work(context: DocumentContext, run: RunState) -> str:
    """Of a live run, or of one that waits for the user; empty where it has none."""
    works = context.phase in {*actions.WORKING_PHASES, Phase.STOPPING}
    is_in_work = works and context.live and run.current is not None
    if is_in_work or open_blocker(context) or open_question(context):
        words = _doing(context, run)
        return "" if words.startswith(NOTHING) else words
    return ""


NOTHING = "nothing now"


def _doing(context: DocumentContext, run: RunState) -> str:
    """The task in work, with its mode unless it is built, or the task that waits for the user."""
    waits = open_blocker(context) or open_question(context)
    number = None if waits is None else waits.start
    task = None if number is None else context.history.tasks.get(number)
    if task is not None:
        return one_line(task.title, limit=MAX_TITLE_CHARS)
    if run.request is not None:
        title = one_line(run.request.title, limit=MAX_TITLE_CHARS)
        return (
            title
            if run.current is not None and context.live
            else f"nothing now; asked for: {title}"
        )
    text = one_line(activity_words(run, context.phase), limit=MAX_TITLE_CHARS)
    began = run.current.started if run.current is not None and context.live else None
    if began is None or began.task is None or began.mode is Mode.BUILD:
        return text
    return f"{text} · {began.mode.value}"


def _last_change(run: RunState) -> str:
    """The evidence of the last iteration, and its commit; empty before it."""
    if run.last is None or run.evidence is None:
        return ""
    commit = f" ({run.last.commit[:7]})" if run.last.commit else ""
    return f"#{run.last.iteration}: {run.evidence.why or evidence_words(run.evidence)}{commit}"


def _next(context: DocumentContext, run: RunState) -> str:
    """The next action, with the title of its button."""
    waits = open_question(context) is not None or open_blocker(context) is not None
    if not waits and context.live and context.phase in {*actions.WORKING_PHASES, Phase.STOPPING}:
        return "nothing; it continues on its own"
    settling = actions.user_actions(context)
    is_over = context.phase is Phase.ENDED and is_parallel(run.config)
    if is_over and not waits and (command := next_of_parallel(run)):
        return command
    if not waits and actions.is_all_done(context):
        return f"nothing, the {'plan' if run.request is None else 'request'} is done"
    title = (*settling, *actions.run_actions(context))[0].title.rstrip("…")
    return title[0].lower() + title[1:]


def panel(
    context: DocumentContext, rows: tuple[IterationRow, ...] = (), now: datetime | None = None
) -> Panel:
    """The panel of a work tree; ``context`` is that of its plan. Total.

    ``rows`` are the run's iterations, newest first. ``now`` extends the running time; without it
    the time is that of the last event.
    """
    status, state = run_status(context), context.state
    run = RunState() if state is None else state
    n_asking = len(asking_lanes(run)) or int(open_question(context) is not None)
    waiting = n_asking + int(open_blocker(context) is not None)
    waits_for_gesture = (
        status.state in {PanelState.STUCK, PanelState.CRASHED}
        or needs_review(context)
        or actions.has_parked_lanes(context)
    )
    lanes = lane_table(run, context.phase)
    shown = card(context)
    doing = _task_in_work(context, run) if lanes is None else _merged_words(lanes)
    return Panel(
        state=status.state,
        headline=status.headline,
        doing=doing,
        short=status.short,
        tone=status.tone,
        needs_person=waiting > 0 if state is None else needs_user(state, context.phase),
        waiting=waiting,
        badge=max(waiting, int(waits_for_gesture)),
        live=context.live,
        breaker=run.breaker.state,
        iterations=_iterations(run),
        tasks=plan_meter(context),
        seconds=round(running_time(context, now), 3),
        ticking=context.live and run.phase not in IDLE_PHASES,
        until=run.until if context.live and context.phase is Phase.WAITING else None,
        answers=tuple(
            _beside(one, shown, doing, is_parallel=lanes is not None)
            for one in panel_answers(context)
        ),
        card=shown,
        facts=facts(context, now),
        actions=(*actions.user_actions(context), *actions.run_actions(context)),
        question=question_view(context),
        rows=with_roll_back(rows[:MAX_ROWS], live=context.live),
        lanes=lanes,
    )


def _merged_words(lanes: LaneTable) -> str:
    """What is merged; the headline has the lanes at work."""
    return f"{lanes.merged} of {lanes.of} merged into {lanes.branch}"


def _beside(answer: AnswerView, shown: Card | None, doing: str, *, is_parallel: bool) -> AnswerView:
    """The answer, marked where something else of the panel says it."""
    is_said = {
        "Running": True,
        "Doing": answer.text == doing or shown is not None or is_parallel,
        "Needs you": answer.text == "no" or shown is not None,
        "Stopped": shown is not None,
        "Not done": True,
        "Next": True,
    }.get(answer.heading, False)
    return answer.model_copy(update={"redundant": True}) if is_said else answer


def _iterations(run: RunState) -> Meter:
    """The newest iteration, and the limit unless it is below that, after a resumption."""
    limit = run.config.max_iterations
    is_passed = limit is not None and run.iteration > limit
    return Meter(value=run.iteration, of=None if is_passed else limit)
