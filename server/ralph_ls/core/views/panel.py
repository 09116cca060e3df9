"""Everything that a panel shows of one work tree, put together in words (UX §4).

A viewer draws it and decides nothing. It is made whole again whenever anything changes, so it
must stay cheap, and it must never know how, where or how often it is drawn.
"""

from __future__ import annotations

from datetime import datetime

from ralph_ls.core.loop.fold import IDLE_PHASES
from ralph_ls.core.plan.queries import count_tasks
from ralph_ls.core.views import controls
from ralph_ls.core.views.card import card
from ralph_ls.core.views.facts import facts, running_time
from ralph_ls.core.views.question import question_view
from ralph_ls.core.views.rows import MAX_ROWS, with_roll_back
from ralph_ls.core.views.seen import Seen, needs_review, open_blocker, waiting_question
from ralph_ls.core.views.six import answers
from ralph_ls.core.views.standing import standing
from ralph_ls.core.views.status import needs_person
from ralph_ls.protocol.lsp.panel import IterationRow, Meter, Panel, PanelState
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import Phase


def panel(seen: Seen, rows: tuple[IterationRow, ...] = (), now: datetime | None = None) -> Panel:
    """The panel of a work tree, whose plan is ``seen``. Total.

    ``rows`` are the run's iterations, newest first; ``now`` counts the running time on, and
    without it the time is that of the last event.
    """
    stands, state = standing(seen), seen.state
    waiting = sum(one is not None for one in (waiting_question(seen), open_blocker(seen)))
    waits_for_gesture = stands.state in {PanelState.STUCK, PanelState.CRASHED} or needs_review(seen)
    run = RunState() if state is None else state
    return Panel(
        state=stands.state,
        headline=stands.headline,
        short=stands.short,
        tone=stands.tone,
        needs_person=waiting > 0 if state is None else needs_person(state, seen.phase),
        waiting=waiting,
        badge=max(waiting, int(waits_for_gesture)),
        live=seen.live,
        breaker=run.breaker.state,
        iterations=Meter(value=run.iteration, of=run.config.max_iterations),
        tasks=_tasks(seen, run),
        seconds=round(running_time(seen, now), 3),
        ticking=seen.live and run.phase not in IDLE_PHASES,
        until=run.until if seen.live and seen.phase is Phase.WAITING else None,
        answers=answers(seen),
        card=card(seen),
        facts=facts(seen, now),
        actions=(*controls.settling(seen), *controls.running(seen)),
        question=question_view(seen),
        rows=with_roll_back(rows[:MAX_ROWS], live=seen.live),
    )


def _tasks(seen: Seen, run: RunState) -> Meter:
    """Counted in the plan as it is looked at; the run's own count where no plan is."""
    if not seen.plan.tasks:
        return Meter(value=run.counts.required_done, of=run.counts.required)
    counts = count_tasks(seen.plan)
    return Meter(value=counts.done_required, of=counts.required)
