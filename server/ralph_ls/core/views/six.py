"""The six questions of a person who looks at a loop, answered for an editor.

As ``status`` answers them for a terminal, but that an editor has buttons, and little room. It must
never know which editor.
"""

from __future__ import annotations

from ralph_ls.core.views import controls
from ralph_ls.core.views.seen import Seen, open_blocker, waiting_question
from ralph_ls.core.views.status import answer_six, phase_words
from ralph_ls.core.views.words import some_lines
from ralph_ls.protocol.panel import AnswerView
from ralph_ls.protocol.run_words import EndReason, Phase
from ralph_ls.protocol.state import RunState

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
    limit = run.config.max_iterations
    of = "" if limit is None else f" of {limit}"
    doing = PHASE_WORDS.get(seen.phase) or phase_words(run, seen.phase)
    return f"yes, {doing}, iteration {run.iteration}{of}"


def _next(seen: Seen, run: RunState) -> str:
    """The one thing to do next, in the words of its button."""
    waits = waiting_question(seen) is not None or open_blocker(seen) is not None
    if not waits and seen.live and seen.phase in {*controls.WORKING, Phase.STOPPING}:
        return "nothing, it goes on by itself"
    settling = controls.settling(seen)
    if run.end is not None and run.end.reason is EndReason.COMPLETE:
        return "nothing, the plan is done"
    title = (*settling, *controls.running(seen))[0].title.rstrip("…")
    return title[0].lower() + title[1:]
