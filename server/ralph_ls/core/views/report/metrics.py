"""Metrics: numbers of a run and its iterations, from its events (docs/rules.md#metrics).

Pure: one run is measured from its first event on. What several runs have together is in ``sums``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ralph_ls.core.loop.profiles import is_parallel
from ralph_ls.core.prompt.template import mode_word
from ralph_ls.core.views.report.sums import rounded
from ralph_ls.protocol.config.config import BreakerConfig, Config
from ralph_ls.protocol.json_output import (
    IterationMetrics,
    LaneSpan,
    ParallelMetrics,
    RunMetrics,
)
from ralph_ls.protocol.run.events import (
    AgentExited,
    AgentStarted,
    BlockedResolved,
    CommandAccepted,
    Committed,
    EventBase,
    EvidenceGathered,
    IterationEnded,
    IterationStarted,
    PhaseChanged,
    QuestionAnswered,
    RolledBack,
    RunEnded,
    RunResumed,
    RunStarted,
    Validated,
    Warned,
)
from ralph_ls.protocol.run.report import Usage
from ralph_ls.protocol.run.state import RunState, RunTotals, TaskReceipt
from ralph_ls.protocol.run.values import Breaker, BreakerState, EndReason, LaneState, Outcome, Phase

RUNNING, PARKED, CRASHED = "running", "parked", "crashed"
"""Status of a run without an end."""

USER_EDITS = frozenset({"person-edited-plan", "person-committed"})
"""Codes of the warnings about the user's edits."""

USER_RESETS = frozenset({"reset", "resetTask"})
"""Kinds of the commands that reset something."""


def measure_run(
    events: Iterable[EventBase],
    *,
    is_live: bool,
    receipts: Sequence[TaskReceipt] = (),
    totals: RunTotals | None = None,
    parallel: ParallelMetrics | None = None,
) -> RunMetrics | None:
    """Metrics of one run; None where it never started.

    ``is_live``: its engine runs now. ``receipts``, ``totals`` and ``parallel`` are those of
    its state.
    """
    draft = _MetricsDraft()
    for event in events:
        draft.enter(event)
    run = draft.close(is_live=is_live)
    if run is None:
        return None
    known = RunTotals() if totals is None else totals
    update = {
        "files": known.files,
        "more_files": known.more_files,
        "receipts": tuple(receipts),
        "parallel": parallel,
    }
    return run.model_copy(update=update)


def measure_lanes(state: RunState) -> ParallelMetrics | None:
    """Metrics of the lanes of a parallel run; None for another one."""
    if not is_parallel(state.config):
        return None
    work = sum(one.seconds for one in state.lanes)
    spans = tuple(
        LaneSpan(
            lane=one.lane,
            task=one.task,
            state=one.state,
            started_at=one.started_at,
            ended_at=one.ended_at,
            seconds=one.seconds,
            conflicts=one.conflicts,
        )
        for one in state.lanes
    )
    return ParallelMetrics(
        lanes=state.config.parallel or 1,
        merged=sum(one.state is LaneState.MERGED for one in state.lanes),
        parked=sum(one.state is LaneState.PARKED for one in state.lanes),
        conflicts=sum(one.conflicts for one in state.lanes),
        work_seconds=rounded(work),
        speed_up=rounded(work / state.active_seconds) if state.active_seconds else None,
        spans=spans,
    )


class _MetricsDraft:
    """Metrics of a run while its journal is read."""

    def __init__(self) -> None:
        self._run = ""
        self._config = Config()
        self._begun: EventBase | None = None
        self._phase = Phase.STARTING
        self._is_stuck = False
        self._end: RunEnded | None = None
        self._answers = self._resets = self._edits = 0
        self._iterations: list[IterationMetrics] = []
        self._open: list[EventBase] = []
        """Events since the open iteration started, its start first."""

    def enter(self, event: EventBase) -> None:
        match event:
            case RunStarted():
                self._run, self._begun = event.run, event
                self._config = event.config
            case RunResumed():
                # Resuming a stuck run counts as a reset by the user (docs/rules.md#recovery).
                self._resets += self._is_stuck
                self._is_stuck, self._end, self._phase = False, None, Phase.STARTING
            case PhaseChanged():
                self._phase = event.phase
                self._is_stuck = event.phase is Phase.PARKED and event.reason == _STUCK
            case RunEnded():
                self._end = event
                self._is_stuck = event.reason is EndReason.STUCK
            case QuestionAnswered() | BlockedResolved():
                self._answers += 1
            case CommandAccepted():
                self._resets += event.command_kind in USER_RESETS
            case Warned():
                self._edits += event.code in USER_EDITS
            case IterationStarted():
                self._open = [event]
            case IterationEnded():
                self._iterations.append(_measure(event, self._open, self._config))
                self._open = []
            case _ if self._open:
                self._open.append(event)
            case _:
                pass

    def close(self, *, is_live: bool) -> RunMetrics | None:
        if self._begun is None:
            return None
        end = self._end
        status = RUNNING if is_live else PARKED if self._phase is Phase.PARKED else CRASHED
        own = sum(one.seconds for one in self._iterations)
        return RunMetrics(
            run=self._run,
            started_at=self._begun.at,
            ended_at=None if end is None else end.at,
            end=status if end is None else end.reason.value,
            exit_code=None if end is None else end.exit_code,
            seconds=rounded(own if end is None else end.seconds),
            answers=self._answers,
            resets=self._resets,
            edits=self._edits,
            iterations=tuple(self._iterations),
        )


_STUCK = EndReason.STUCK.value


def _measure(
    ended: IterationEnded, events: Sequence[EventBase], config: Config
) -> IterationMetrics:
    """Metrics of one iteration from its end and its earlier events."""
    # An engine that recovers a killed one emits some events again; the last of a type counts.
    last = {type(event): event for event in events}
    started, gathered = last.get(IterationStarted), last.get(EvidenceGathered)
    evidence = gathered.evidence if isinstance(gathered, EvidenceGathered) else None
    undone = last.get(RolledBack)
    left, checked = last.get(AgentExited), last.get(Validated)
    agent = last.get(AgentStarted)
    ran_out = isinstance(left, AgentExited) and (left.timed_out or left.idle or left.overspent)
    validated = checked.ok if isinstance(checked, Validated) else None
    commits = {event.commit for event in events if isinstance(event, Committed)}
    if evidence is not None:
        commits |= {commit.hash for commit in evidence.commits if not commit.by_person}
    usage = ended.usage or Usage()
    completes = ended.verdict is not None and ended.verdict.reason is EndReason.COMPLETE
    succeeded = completes or bool(ended.confirmed) or ended.outcome is Outcome.PROGRESS
    return IterationMetrics(
        run=ended.run,
        iteration=ended.iteration,
        start=ended.start,
        counted=ended.counted,
        mode=mode_word(config.profile, ended.mode),
        task=started.task if isinstance(started, IterationStarted) else None,
        outcome=ended.outcome,
        confirmed=bool(ended.confirmed),
        clean=succeeded and not ran_out and validated is not False,
        started_at=None if started is None else started.at,
        ended_at=ended.at,
        seconds=rounded(ended.seconds),
        commit=ended.commit,
        commits=len(commits),
        files=0 if evidence is None else evidence.files,
        own_files=0 if evidence is None else evidence.own_files or 0,
        undone=isinstance(undone, RolledBack) and undone.ok,
        tasks_done=0 if evidence is None else len(evidence.tasks_done),
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cached_tokens=usage.cached_tokens,
        cost_usd=usage.cost_usd,
        estimated=bool(usage.estimated),
        failure=ended.failure,
        turns=usage.turns,
        context_tokens=usage.context_tokens,
        context_window=usage.context_window,
        has_progress=evidence is not None and evidence.progress,
        is_stuck=_is_stuck(ended.breaker, config.breaker),
        errors=ended.errors,
        completion_words=ended.completion_words,
        claims=ended.claims,
        review=None if evidence is None else evidence.review,
        agent=agent.agent if isinstance(agent, AgentStarted) else None,
        model=agent.model if isinstance(agent, AgentStarted) else None,
        validated=validated,
        breaker=ended.breaker.state,
        lessons=tuple(one.id for one in started.lessons)
        if isinstance(started, IterationStarted)
        else (),
    )


def _is_stuck(breaker: Breaker, rules: BreakerConfig) -> bool:
    """Whether the breaker is open, or warns of an error that repeats."""
    repeats = 0 < rules.same_error_warn <= breaker.consecutive_same_error
    return repeats or breaker.state is BreakerState.OPEN
