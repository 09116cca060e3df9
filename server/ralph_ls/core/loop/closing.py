"""Closing an iteration: its end told with all its counters, and why its agent failed.

One event carries everything that the next iteration is counted from, so that an engine which dies
beside it leaves nothing half counted.
"""

from __future__ import annotations

from ralph_ls.core.agent.failure import WORDS
from ralph_ls.core.loop import unfinished
from ralph_ls.core.loop.effects import CloseIteration
from ralph_ls.core.loop.failing import FALLBACK, TOLD, crashed_words, held_words
from ralph_ls.core.loop.handover import is_uncommitted, work_left
from ralph_ls.core.loop.state import Draft
from ralph_ls.core.loop.telling import warn_once
from ralph_ls.core.loop.verdict import CRASHES_TO_FATAL, Settlement, confirms, verdict
from ralph_ls.protocol.run.events import IterationEnded

KEPT_ERRORS = 5


def tell_failure(draft: Draft, settlement: Settlement) -> None:
    """Warn of what keeps the agent from its work, and of who works on in its place."""
    run, given, number = draft.run, settlement.read, settlement.current.started.start
    hold, replaced, kind = settlement.hold, settlement.replaced, given.failure_kind
    told = None if hold is None else held_words(run, hold, given)
    if told is not None:
        warn_once(draft, number, *told)
    elif replaced is not None:
        message = crashed_words(replaced, given, times=CRASHES_TO_FATAL)
        warn_once(draft, number, FALLBACK, message)
    elif kind is not None and kind in TOLD:
        code, advice = TOLD[kind]
        said = f": {given.failure}" if given.failure else ""
        warn_once(draft, number, code, f"the agent {WORDS[kind]}{said}; {advice}")


def end_iteration(draft: Draft, settlement: Settlement) -> None:
    """Tell that the iteration is over, with all that the next one is to be counted from."""
    run, given, current = draft.run, settlement.read, settlement.current
    cut_short = settlement.cut_short
    recommendation, missing = run.recommendation, run.missing_reports
    if given.report is not None and settlement.hold is None:
        recommendation, missing = given.report.recommendation, 0
    elif not cut_short:
        recommendation, missing = "", run.missing_reports + 1
    crashes = run.crashes if cut_short else 0
    if settlement.works_on:
        crashes = 0
    elif settlement.failed:
        crashes = run.crashes + 1
    denied = given.denied_tools
    # Nobody knows how long an iteration ran before its engine died. Where the clock was set back
    # meanwhile, it took as long as its agent at least, which was timed otherwise.
    seconds = 0.0 if settlement.lost else (draft.now - current.started.at).total_seconds()
    seconds = max(seconds, 0.0 if current.exit is None else current.exit.seconds)
    ended = draft.tell(
        IterationEnded,
        start=current.started.start,
        mode=current.started.mode,
        outcome=settlement.outcome,
        counted=settlement.counted,
        seconds=round(seconds, 3),
        commit=settlement.commit,
        uncommitted=is_uncommitted(run, current, cut_short=cut_short),
        left=work_left(run, current, given, cut_short=cut_short),
        fingerprint=settlement.evidence.fingerprint,
        breaker=settlement.breaker,
        stuck_count=settlement.stuck_count,
        indicators=settlement.gate.indicators,
        missing_reports=missing,
        crashes=crashes,
        recommendation=recommendation,
        counts=given.plan.counts,
        usage=given.usage,
        failure=given.failure_kind if settlement.hold is None else settlement.hold.kind,
        agent_out=settlement.agent_out,
        permission_denials=None if denied is None else len(denied),
        denied_tools=tuple(dict.fromkeys(denied or ())),
        completion_words=given.completion_words,
        confirmed=confirms(run, settlement) or None,
        attempts=dict(settlement.attempts),
        skipped=unfinished.skipped_after(run, settlement),
        session=given.session,
        errors=given.errors[:KEPT_ERRORS],
        verdict=verdict(run, settlement, draft.now),
    )
    draft.order(CloseIteration(ended=ended))
