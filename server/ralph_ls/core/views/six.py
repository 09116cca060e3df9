"""The six questions of a person who looks at a loop, answered for an editor.

As ``status`` answers them for a terminal, but that an editor has buttons, and little room: what a
line of the panel says anyway (``facts``) is not said twice. It must never know which editor.
"""

from __future__ import annotations

from ralph_ls.core.views import controls
from ralph_ls.core.views.facts import SHOWN_TITLE
from ralph_ls.core.views.seen import Seen, open_blocker, waiting_question
from ralph_ls.core.views.status import answer_six, doing, phase_words
from ralph_ls.core.views.waits import clock_words, deadline
from ralph_ls.core.views.words import facts_of, iteration_words, one_line, some_lines
from ralph_ls.protocol.lsp.panel import AnswerView
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import EndReason, Mode, Phase

WITHOUT_RUN = (
    ("Running", "no, no loop has run here yet"),
    ("Doing", "nothing"),
    ("Last change", "nothing yet"),
    ("Needs you", "no"),
    ("Stopped", "it has not begun"),
    ("Next", "start loop"),
)
"""The six, where no run was ever made."""


PHASE_WORDS = {
    Phase.PARKED: "waiting for you",
    Phase.STOPPING: "stopping after this iteration",
}
"""Phases that a person calls otherwise."""


def answers(seen: Seen) -> tuple[AnswerView, ...]:
    """The six questions of a person who looks at a loop, answered, in their order. Total."""
    told = list(WITHOUT_RUN)
    if seen.state is not None:
        told = answer_six(seen.state, seen.phase, pid=seen.pid if seen.live else None)
        told[0] = (told[0][0], _running(seen, seen.state))
        told[1] = (told[1][0], _doing(seen, seen.state))
        told[2] = (told[2][0], _last_change(seen.state))
        told[-1] = (told[-1][0], _next(seen, seen.state))
    elif waiting_question(seen) is not None:
        told[3] = ("Needs you", "yes, a question waits for an answer")
    elif open_blocker(seen) is not None:
        told[3] = ("Needs you", "yes, a blocker waits to be resolved")
    return tuple(AnswerView(heading=heading, text=some_lines(text)) for heading, text in told)


def _running(seen: Seen, run: RunState) -> str:
    """Whether it is running, without the names that only a program needs."""
    if seen.phase is Phase.ENDED:
        return "no, it has ended"
    if seen.phase is Phase.CRASHED:
        return "no, its engine is gone"
    if not seen.live:
        return f"no, the system stopped its engine while it was {seen.phase.value}"
    how = PHASE_WORDS.get(seen.phase) or phase_words(run, seen.phase)
    until = deadline(run)
    since = None if run.current is None else run.current.started.at
    end = "" if until is None else f", until {clock_words(until, since=since)} at the latest"
    return f"yes, {how}, {iteration_words(run)}{end}"


def _doing(seen: Seen, run: RunState) -> str:
    """The task in work, with its mode where it is not built, or the one that waits for a person."""
    waits = open_blocker(seen) or waiting_question(seen)
    number = None if waits is None else waits.start
    task = None if number is None else seen.history.tasks.get(number)
    if task is not None:
        return one_line(task.title, limit=SHOWN_TITLE)
    if run.request is not None:
        title = one_line(run.request.title, limit=SHOWN_TITLE)
        return (
            title if run.current is not None and seen.live else f"nothing now; asked for: {title}"
        )
    text = one_line(doing(run, seen.phase), limit=SHOWN_TITLE)
    began = run.current.started if run.current is not None and seen.live else None
    if began is None or began.task is None or began.mode is Mode.BUILD:
        return text
    return f"{text} · {began.mode.value}"


def _last_change(run: RunState) -> str:
    """The evidence of the last iteration, and its commit."""
    if run.last is None or run.evidence is None:
        return "nothing yet"
    commit = f" ({run.last.commit[:7]})" if run.last.commit else ""
    return f"#{run.last.iteration}: {run.evidence.why or facts_of(run.evidence)}{commit}"


def _next(seen: Seen, run: RunState) -> str:
    """The one thing to do next, in the words of its button."""
    waits = waiting_question(seen) is not None or open_blocker(seen) is not None
    if not waits and seen.live and seen.phase in {*controls.WORKING, Phase.STOPPING}:
        return "nothing, it goes on by itself"
    settling = controls.settling(seen)
    if run.end is not None and run.end.reason is EndReason.COMPLETE:
        return f"nothing, the {'plan' if run.request is None else 'request'} is done"
    title = (*settling, *controls.running(seen))[0].title.rstrip("…")
    return title[0].lower() + title[1:]
