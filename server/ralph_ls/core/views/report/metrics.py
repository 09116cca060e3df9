"""Metrics: numbers of runs and iterations, computed from their events (docs/rules.md#metrics).

Pure functions: one run is measured from its first event on, and totals are computed from runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from ralph_ls.core.agent.usage import add_known
from ralph_ls.core.prompt.template import mode_word
from ralph_ls.protocol.config.config import BreakerConfig, Config
from ralph_ls.protocol.json_output import (
    IterationMetrics,
    ModeMetrics,
    ReviewMetrics,
    RunMetrics,
    TotalMetrics,
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
    RunEnded,
    RunResumed,
    RunStarted,
    Validated,
    Warned,
)
from ralph_ls.protocol.run.report import Usage
from ralph_ls.protocol.run.state import RunTotals, TaskReceipt
from ralph_ls.protocol.run.values import Breaker, BreakerState, EndReason, Mode, Outcome, Phase

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
) -> RunMetrics | None:
    """Metrics of one run; None where it never started.

    ``is_live``: its engine runs now. ``receipts`` and ``totals`` are those of its state.
    """
    draft = _MetricsDraft()
    for event in events:
        draft.enter(event)
    run = draft.close(is_live=is_live)
    if run is None:
        return None
    known = RunTotals() if totals is None else totals
    update = {"files": known.files, "more_files": known.more_files, "receipts": tuple(receipts)}
    return run.model_copy(update=update)


def total_of(runs: Sequence[RunMetrics]) -> TotalMetrics:
    """Totals of all runs."""
    counted = [one for run in runs for one in run.iterations if one.counted]
    everything = [one for run in runs for one in run.iterations]
    clean = sum(one.clean for one in counted)
    ends = Counter(run.end for run in runs)
    failures = Counter(one.failure.value for one in everything if one.failure is not None)
    over = [run for run in runs if run.exit_code is not None]
    seconds = sum(one.seconds for one in counted)
    tasks, cost = sum(one.tasks_done for one in everything), cost_of(everything)
    hands = sum(run.answers + run.resets + run.edits for run in runs)
    shares = [share for one in everything if (share := context_share(one)) is not None]
    return TotalMetrics(
        runs=len(runs),
        iterations=len(counted),
        clean=clean,
        seconds=rounded(sum(run.seconds for run in runs)),
        iteration_seconds=rounded(seconds),
        commits=sum(one.commits for one in everything),
        files=sum(run.files for run in runs),
        more_files=any(run.more_files for run in runs),
        tasks_done=tasks,
        tokens=add_known(*(tokens_used(one) for one in everything)),
        cost_usd=cost,
        estimated=any(one.estimated for one in everything),
        without_tokens=_n_unknown(tokens_used(one) for one in counted),
        without_cost=_n_unknown(one.cost_usd for one in counted),
        answers=sum(run.answers for run in runs),
        resets=sum(run.resets for run in runs),
        edits=sum(run.edits for run in runs),
        iteration_success_rate=share_of(clean, len(counted)),
        run_success_rate=share_of(ends[EndReason.COMPLETE.value], len(over)),
        human_intervention_rate=share_of(hands, len(counted)),
        average_iteration_seconds=share_of(seconds, len(counted)),
        average_task_seconds=share_of(seconds, tasks),
        average_task_cost_usd=cost_per_task(cost, tasks),
        average_context=share_of(sum(shares), len(shares)),
        largest_context=rounded(max(shares)) if shares else None,
        ends=dict(sorted(ends.items())),
        failures=dict(sorted(failures.items())),
        modes=modes_of(everything),
        reviews=_reviews_of(everything),
    )


def modes_of(iterations: Iterable[IterationMetrics]) -> tuple[ModeMetrics, ...]:
    """The iterations of each mode together, in the order in which the modes came first."""
    by_mode: dict[str, list[IterationMetrics]] = {}
    for one in iterations:
        by_mode.setdefault(one.mode, []).append(one)
    return tuple(_mode_metrics(mode, members) for mode, members in by_mode.items())


def _mode_metrics(mode: str, members: Sequence[IterationMetrics]) -> ModeMetrics:
    return ModeMetrics(
        mode=mode,
        iterations=sum(one.counted for one in members),
        seconds=rounded(sum(one.seconds for one in members)),
        tokens=add_known(*(tokens_used(one) for one in members)),
        cost_usd=cost_of(members),
        estimated=any(one.estimated for one in members),
    )


def _reviews_of(everything: Sequence[IterationMetrics]) -> ReviewMetrics | None:
    """The review cycle: what it cost beside the rest, and what it found."""
    cycle = [one for one in everything if one.mode in _REVIEW_MODES]
    if not cycle:
        return None
    given = [one.review for one in cycle if one.review is not None]
    findings = sum(review.findings for review in given)
    seconds, cost = sum(one.seconds for one in cycle), cost_of(cycle)
    total_cost = cost_of(everything)
    return ReviewMetrics(
        reviews=len(given),
        findings=findings,
        with_findings=sum(review.findings > 0 for review in given),
        approved=sum(review.approved for review in given),
        approved_at_cap=sum(review.approved and review.at_cap for review in given),
        seconds=rounded(seconds),
        cost_usd=cost,
        estimated=any(one.estimated for one in cycle),
        share_of_time=_part(seconds, sum(one.seconds for one in everything)),
        share_of_cost=None if cost is None else _part(cost, total_cost or 0.0),
        findings_per_review=share_of(findings, len(given)),
    )


_REVIEW_MODES = frozenset({Mode.REVIEW.value, Mode.REVIEW_FIX.value})


def cost_of(iterations: Iterable[IterationMetrics]) -> float | None:
    """Known cost of the iterations together; None where no cost is known."""
    costs = [one.cost_usd for one in iterations if one.cost_usd is not None]
    return rounded(sum(costs)) if costs else None


def _n_unknown(figures: Iterable[float | None]) -> int:
    return sum(figure is None for figure in figures)


def cost_per_task(cost: float | None, tasks: int) -> float | None:
    """Known cost for each task that became done; None without any cost or task."""
    return None if cost is None else share_of(cost, tasks)


def context_share(one: IterationMetrics) -> float | None:
    """Used share of an iteration's context window, 0 to 1; None where it is unknown."""
    used, window = one.context_tokens, one.context_window
    return None if used is None or not window else used / window


def tokens_used(one: IterationMetrics) -> int | None:
    """Input and output tokens, as the budget counts them; None where they are unknown."""
    given, made = one.input_tokens, one.output_tokens
    if given is None or made is None:
        return made if given is None else given
    return given + made


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
    )


def _is_stuck(breaker: Breaker, rules: BreakerConfig) -> bool:
    """Whether the breaker is open, or warns of an error that repeats."""
    repeats = 0 < rules.same_error_warn <= breaker.consecutive_same_error
    return repeats or breaker.state is BreakerState.OPEN


def _part(part: float, whole: float) -> float | None:
    return rounded(part / whole) if whole else None


def share_of(part: float, whole: int) -> float | None:
    """A share or an average; None where there is nothing that it could be a share of."""
    return _part(part, whole)


def rounded(number: float) -> float:
    """A sum without the digits that are artefacts of adding floats."""
    return round(number, 6)
