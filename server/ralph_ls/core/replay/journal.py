"""Journal replay: the run of a journal, decided again under another policy.

See docs/rules.md#command-line. The inputs of the loop are reconstructed from the events, iteration
by iteration, and fed to the reducer. Under its own settings a run decides the same again.

- *Iterations* bring their report, promises, words, errors, evidence, usage, denials, exits of the
  agent, validation and rollback, with the time that each took.
- *User actions* are repeated where they happened: answers, resets and resolved blockers, by command
  or by file. The reducer ignores those without meaning for the simulated run; a run that is parked
  and not helped by one ends there. Stops and pauses are not repeated, since they depend on the
  recorded course.
- *An engine that died* dies again, and the run is resumed as it was.
- *External failures*, such as a plan that vanished, happen again.
- *After the last iteration* the plan is read once more, as far as it is known.

Does not know how a journal is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import takewhile
from typing import TypeVar

from ralph_ls.core.agent.result import AccountLimit
from ralph_ls.core.loop.evidence.progress import Changes
from ralph_ls.core.loop.fold import apply
from ralph_ls.core.loop.inputs import (
    AgentFinished,
    EffectFailed,
    HaltFiles,
    IterationRead,
    PlanFacts,
    Prepared,
    Resumed,
    ValidationFinished,
    WorkCommitted,
    WorkJudged,
    WorkPushed,
    WorkUndone,
)
from ralph_ls.core.loop.machine.verdict import COMMIT_FAILED
from ralph_ls.core.loop.state import Awaits
from ralph_ls.core.plan.verification.criterion_checks import verification_of
from ralph_ls.core.replay.driver import (
    LONGEST_SIMULATION,
    SIMULATED_LAUNCH,
    UNKNOWN_TASK,
    ReplayDriver,
    SimulatedIteration,
    SimulatedTurn,
    simulated_engine,
)
from ralph_ls.protocol.config.config import Config, OptionalTasks
from ralph_ls.protocol.run.events import (
    AgentExited,
    AgentStarted,
    BlockedRaised,
    BlockedResolved,
    CommandAccepted,
    Committed,
    CriteriaVerified,
    EventBase,
    EvidenceGathered,
    IterationEnded,
    IterationStarted,
    Judged,
    JudgeOverruled,
    PhaseChanged,
    PlanChanged,
    PromiseRead,
    Pushed,
    QuestionAnswered,
    QuestionAsked,
    RalphStatusUpdate,
    RolledBack,
    RunEnded,
    RunResumed,
    RunStarted,
    Validated,
    WaitStarted,
    Warned,
)
from ralph_ls.protocol.run.report import AgentFailure, JudgeVerdict
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import (
    Baseline,
    EndReason,
    Evidence,
    Mode,
    Outcome,
    Phase,
    PlanCountsView,
    TaskRef,
)

EventType = TypeVar("EventType", bound=EventBase)

ReplayPolicy = Callable[[Config], Config]
"""From the settings of the recorded engine to those to simulate."""


def simulate_journal(
    events: Iterable[EventBase], policy: ReplayPolicy
) -> Iterator[SimulatedIteration]:
    """Simulate a journal and yield the result of each iteration, up to the end of the run.

    Reads events only as needed and keeps those of at most two iterations. A run that would end
    before its first iteration gives iteration 0.
    """
    driver, n_reported = ReplayDriver(), 0
    chapters = _iteration_slices(events)
    piece: _IterationSlice | None = next(chapters)
    while piece is not None and not driver.is_over:
        following = next(chapters, None)
        iteration = None if piece.started is None else driver.last_iteration()
        if not _begin(driver, piece, policy):
            break
        if iteration is not None:
            yield iteration
            n_reported = iteration.iteration
        _replay(driver, piece, following, policy)
        if following is None:
            _prepare_again(driver, piece)
        piece = following
    last = driver.last_iteration()
    if last is not None and (last.iteration > n_reported or last.verdict is not None):
        yield last


def _begin(driver: ReplayDriver, piece: _IterationSlice, policy: ReplayPolicy) -> bool:
    """Begin the run or an iteration of it; False where the run ends instead."""
    if piece.started is None:
        _set_out(driver, piece, policy)
        return True
    driver.advance(piece.moments[0].passed)
    return driver.begin(_prepared(driver, piece.started))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Moment:
    """One event, and when it would have happened in a run without holds."""

    event: EventBase
    passed: timedelta


@dataclass(slots=True, kw_only=True)
class _IterationSlice:
    """The events of an iteration up to the next one; the first slice precedes all iterations."""

    moments: list[_Moment] = field(default_factory=list)
    recorded: RunState = field(default_factory=RunState)
    """The recorded run after the last of these events."""

    @property
    def started(self) -> IterationStarted | None:
        first = self.moments[0].event if self.moments else None
        return first if isinstance(first, IterationStarted) else None

    def find(self, kind: type[EventType]) -> EventType | None:
        """The last event of a kind; None where there is none."""
        return next(reversed(self.all(kind)), None)

    def all(self, kind: type[EventType]) -> list[EventType]:
        """The events of a kind."""
        return [one.event for one in self.moments if isinstance(one.event, kind)]


def _iteration_slices(events: Iterable[EventBase]) -> Iterator[_IterationSlice]:
    """Split a journal into slices; the first one always exists."""
    recorded, piece = RunState(), _IterationSlice()
    for event in events:
        recorded = apply(recorded, event)
        if isinstance(event, IterationStarted):
            yield piece
            piece = _IterationSlice()
        passed = timedelta(seconds=min(recorded.active_seconds, LONGEST_SIMULATION.total_seconds()))
        piece.moments.append(_Moment(event=event, passed=passed))
        piece.recorded = recorded
    yield piece


def _set_out(driver: ReplayDriver, piece: _IterationSlice, policy: ReplayPolicy) -> None:
    """Start the run as recorded; a partial journal may lack its start."""
    began = piece.find(RunStarted)
    if began is None:
        driver.start(policy(Config()))
    else:
        halt = _halt_files(piece.moments, driver.run)
        driver.start(policy(began.config), began.counts, halt)


def _replay(
    driver: ReplayDriver,
    piece: _IterationSlice,
    following: _IterationSlice | None,
    policy: ReplayPolicy,
) -> None:
    """Replay the events of a slice that come from outside of the loop."""
    for number, moment in enumerate(piece.moments):
        if driver.is_over:
            return
        driver.advance(moment.passed)
        match moment.event:
            case AgentStarted():
                _launch(driver)
            case AgentExited() as exited:
                driver.feed(_finished(exited))
            case IterationEnded() as ended:
                driver.play(_turn(driver, piece, ended, following))
            case RunResumed() as resumed:
                halt = _halt_files(piece.moments[number + 1 :], driver.run)
                facts = simulated_engine(policy(resumed.config), resumed.counts, halt)
                driver.take_up(Resumed(by=resumed.by, facts=facts))
            case RunEnded(reason=EndReason.FATAL, message=message) if not _was_decided(piece):
                driver.feed(EffectFailed(message=message))
            case event:
                _replay_user_event(driver, event)


def _replay_user_event(driver: ReplayDriver, event: EventBase) -> None:
    """Repeat a user's action, by command or file, in the simulated run."""
    match event:
        case QuestionAnswered(answer=answer):
            driver.answer(answer)
        case BlockedResolved():
            driver.unblock()
        case CommandAccepted(command_kind="resume"):
            driver.resume()
        case CommandAccepted(command_kind="reset"):
            driver.reset()
        case JudgeOverruled():
            driver.overrule()
        case _:
            pass


def _was_decided(piece: _IterationSlice) -> bool:
    """Whether the loop itself decided the recorded end."""
    ended = piece.find(IterationEnded)
    return ended is not None and ended.verdict is not None


def _launch(driver: ReplayDriver) -> None:
    """Launch the agent; the second launch in an iteration follows an empty first one."""
    if driver.awaits is Awaits.READ:
        driver.feed(IterationRead(without_output=True))
    driver.feed(SIMULATED_LAUNCH)


def _halt_files(moments: Sequence[_Moment], run: RunState) -> HaltFiles:
    """Content of the halt files when an engine began, as far as ``moments`` show it."""
    found = [moment.event for moment in takewhile(_is_of_the_start, moments)]
    question = None if run.question is None else run.question.question
    answer, blocked = None, None if run.blocked is None else run.blocked.reason
    for event in found:
        match event:
            case QuestionAsked():
                question = event.question
            case QuestionAnswered():
                question, answer = event.question, event.answer
            case BlockedRaised():
                blocked = event.reason
            case BlockedResolved():
                blocked = None
            case _:
                pass
    return HaltFiles(question=question, answer=answer, blocked=blocked)


def _is_of_the_start(moment: _Moment) -> bool:
    match moment.event:
        case PhaseChanged(phase=phase):
            return phase is Phase.STARTING
        case RunEnded() | IterationEnded():
            return False
        case _:
            return True


# Results of preparing and reading.


def _prepared(driver: ReplayDriver, started: IterationStarted) -> Prepared:
    task = started.task
    if task is not None and task.id in driver.set_aside:
        task = UNKNOWN_TASK
    plan = PlanFacts(counts=started.counts, next_task=task)
    return Prepared(
        baseline=started.baseline,
        plan=plan,
        mode=started.mode,
        attempts=started.attempts,
        lessons=started.lessons,
    )


def _prepare_again(driver: ReplayDriver, piece: _IterationSlice) -> None:
    """Prepare an iteration that was not recorded: the plan may be done, or a budget used up."""
    if driver.is_over or driver.run.current is not None:
        return
    recorded = piece.recorded
    counts, end = recorded.counts, recorded.end
    reason = recorded.phase_reason if end is None else end.reason.value
    is_held = reason == EndReason.BLOCKED.value and recorded.blocked is None
    if reason == EndReason.COMPLETE.value and not _was_decided(piece):
        # The user did the remaining work, or the run could not have ended like that.
        counts = counts.model_copy(update={"open_required": 0, "blocked_required": 0})
    plan = PlanFacts(
        counts=counts, next_task=None if is_held else _next_task(counts, driver.run.config)
    )
    driver.begin(Prepared(baseline=Baseline(), plan=plan))


def _next_task(counts: PlanCountsView, config: Config) -> TaskRef | None:
    """Whether there is work to do, as far as counts show it."""
    is_optional = config.optional is OptionalTasks.DO and counts.open_optional > 0
    is_work = counts.open_required > counts.blocked_required or is_optional
    return UNKNOWN_TASK if is_work or not counts.total else None


def _turn(
    driver: ReplayDriver,
    piece: _IterationSlice,
    ended: IterationEnded,
    following: _IterationSlice | None,
) -> SimulatedTurn:
    exited, validated = piece.find(AgentExited), piece.find(Validated)
    names = ValidationFinished.__dataclass_fields__
    return SimulatedTurn(
        finished=AgentFinished(exit_code=0) if exited is None else _finished(exited),
        read=_read(driver, piece, ended, following),
        validation=None
        if validated is None
        else ValidationFinished(**{name: getattr(validated, name) for name in names}),
        judged=_judged(piece),
        undone=_undone(piece, ended, driver.run.config),
        committed=_committed(piece),
        pushed=_pushed(piece),
    )


def _judged(piece: _IterationSlice) -> WorkJudged:
    """The verdict of the iteration's judge; one that was not asked is undecided."""
    judged = piece.find(Judged)
    if judged is None:
        return WorkJudged(verdict=JudgeVerdict.CANNOT_TELL, reason="not recorded")
    # The plan after the iteration is known, and has what was opened again.
    names = ("verdict", "reason", "changes", "reopened", "agent", "model", "seconds", "restored")
    return WorkJudged(**{name: getattr(judged, name) for name in names})


def _undone(piece: _IterationSlice, ended: IterationEnded, config: Config) -> WorkUndone | None:
    """The rollback of the iteration; None where there was none, so that its result is unknown."""
    undone = piece.find(RolledBack)
    if undone is None:
        return None
    names = ("refused", "backup", "commits", "files", "kept")
    plan = PlanFacts(counts=ended.counts, next_task=_next_task(ended.counts, config))
    return WorkUndone(**{name: getattr(undone, name) for name in names}, plan=plan)


def _committed(piece: _IterationSlice) -> WorkCommitted | None:
    """The commit of the loop, or its failure; None where there was nothing to commit."""
    if (committed := piece.find(Committed)) is not None:
        return WorkCommitted(commit=committed.commit, files=committed.files)
    failed = [one for one in piece.all(Warned) if one.code == COMMIT_FAILED]
    return WorkCommitted(problem=failed[0].message) if failed else None


def _pushed(piece: _IterationSlice) -> WorkPushed:
    pushed = piece.find(Pushed)
    if pushed is None:
        return WorkPushed()
    names = ("ok", "remote", "branch", "tries", "rejected")
    return WorkPushed(**{name: getattr(pushed, name) for name in names}, problem=pushed.tail)


def _finished(exited: AgentExited) -> AgentFinished:
    names = AgentFinished.__dataclass_fields__
    return AgentFinished(**{name: getattr(exited, name) for name in names})


def _read(
    driver: ReplayDriver,
    piece: _IterationSlice,
    ended: IterationEnded,
    following: _IterationSlice | None,
) -> IterationRead:
    status, gathered = piece.find(RalphStatusUpdate), piece.find(EvidenceGathered)
    evidence = Evidence() if gathered is None else gathered.evidence
    is_limited = ended.outcome is Outcome.LIMITED
    at_limit = ended.failure in {None, AgentFailure.LIMIT}
    came_to_its_end = ended.outcome in {Outcome.PROGRESS, Outcome.NO_PROGRESS}
    return IterationRead(
        report=None if status is None else status.report,
        promises=tuple(event.promise for event in piece.all(PromiseRead)),
        completion_words=ended.completion_words,
        claims=ended.claims,
        errors=ended.errors,
        error_patterns=_error_patterns(ended) if came_to_its_end else (),
        without_output=came_to_its_end and ended.crashes > 0,
        usage=ended.usage,
        denied_tools=_denied_tools(ended),
        failed=is_limited,
        failure_kind=ended.failure,
        limit=_limit(driver, piece) if is_limited and at_limit else None,
        session=ended.session,
        plan_changed=_is_plan_changed(piece, evidence),
        changes=Changes(
            commits=evidence.commits,
            files=evidence.files,
            paths=evidence.paths,
            fingerprint=evidence.fingerprint,
            again=evidence.again,
            cosmetic=evidence.cosmetic,
            advanced=evidence.advanced,
            review=evidence.review,
            titles=evidence.titles,
            engine_output=evidence.engine_output,
            own_files=evidence.own_files or 0,
        ),
        tasks_done=evidence.tasks_done,
        plan=_plan_as_left(piece, driver.run.config)
        or _plan_after(ended, following, driver.run.config),
        verified=tuple(verification_of(event) for event in piece.all(CriteriaVerified)),
        must_validate=piece.find(Validated) is not None,
    )


def _plan_as_left(piece: _IterationSlice, config: Config) -> PlanFacts | None:
    """The plan as the agent left it, where that was rolled back; None where it was not."""
    changed = piece.find(PlanChanged)
    if changed is None or piece.find(RolledBack) is None:
        return None
    return PlanFacts(counts=changed.counts, next_task=_next_task(changed.counts, config))


def _error_patterns(ended: IterationEnded) -> tuple[str, ...]:
    """Each error line has a streak, but only the first lines were recorded as text."""
    return tuple(ended.breaker.error_streaks)


def _denied_tools(ended: IterationEnded) -> tuple[str, ...] | None:
    if ended.permission_denials is None:
        return None
    return ended.denied_tools or ("a tool",) * min(1, ended.permission_denials)


def _limit(driver: ReplayDriver, piece: _IterationSlice) -> AccountLimit:
    """The end of the recorded wait on the simulated clock."""
    waited = piece.find(WaitStarted)
    if waited is None:
        return AccountLimit()
    return AccountLimit(resets_at=driver.now + min(waited.until - waited.at, LONGEST_SIMULATION))


def _is_plan_changed(piece: _IterationSlice, evidence: Evidence) -> bool:
    """The plan's text is not recorded; its counts are, and the verdict on a plan iteration."""
    started = piece.started
    planned = started is not None and started.mode is Mode.PLAN and evidence.progress
    return planned or piece.find(PlanChanged) is not None


def _plan_after(
    ended: IterationEnded, following: _IterationSlice | None, config: Config
) -> PlanFacts:
    """The plan after the iteration; its next task is the one of the next iteration."""
    begun = None if following is None else following.started
    if begun is not None:
        return PlanFacts(counts=ended.counts, next_task=begun.task)
    is_complete = ended.verdict is not None and ended.verdict.reason is EndReason.COMPLETE
    return PlanFacts(
        counts=ended.counts, next_task=None if is_complete else _next_task(ended.counts, config)
    )
