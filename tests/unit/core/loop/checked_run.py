"""A play that is watched: each step is held against what is known without the reducer.

What truly changed in the world, what people truly said, how often each thing happened.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from ralph_ls.core.loop import effects as order
from ralph_ls.core.loop.inputs import Input, IterationRead, PlanFacts, Prepared
from ralph_ls.core.loop.machine.run_flow import BY_TERM, EXIT_CODES, TERM_EXIT_CODE
from ralph_ls.core.loop.rules.attempts import skipped_without_mark
from ralph_ls.core.loop.rules.waits import stuck_words
from ralph_ls.core.loop.state import Awaits, LoopState, Step
from ralph_ls.protocol.config.config import EvidenceKind
from ralph_ls.protocol.run.events import (
    AttemptCounted,
    EvidenceGathered,
    IterationEnded,
    IterationStarted,
    QuestionAnswered,
    RunEnded,
)
from ralph_ls.protocol.run.values import Breaker, EndReason, Mode, Outcome
from tests.unit.core.loop.simulated_project import SimulatedProject
from tests.unit.core.loop.simulated_run import SimulatedRun

CUT_SHORT = {Outcome.LOST, Outcome.STOPPED, Outcome.LIMITED}


@dataclass
class SharedProject(SimulatedProject):
    """A world in which people commit as well."""

    by_hand: tuple[str, ...] = ()
    """Hashes of their commits; their content was in the tree before."""

    def commit_by_hand(self) -> None:
        self.commits.append((f"{len(self.commits) + 1:040x}", 1))
        self.by_hand += (self.commits[-1][0],)

    def read(self, *args: Any, **fields: Any) -> IterationRead:
        given = super().read(*args, **fields)
        commits = tuple(
            commit.model_copy(update={"by_person": commit.hash in self.by_hand})
            for commit in given.changes.commits
        )
        return replace(given, changes=replace(given.changes, commits=commits))

    def of_agents(self) -> tuple[tuple[str, ...], int]:
        """Their commits and the content of the tree, to be compared with a later moment."""
        hashes = (name for name, _ in self.commits if name not in self.by_hand)
        return tuple(hashes), self.content


@dataclass
class CheckedRun(SimulatedRun):
    """Checks each step against what it knows without the reducer."""

    answers: set[str] = field(default_factory=set)
    """Texts that people gave as answers."""
    looked: PlanFacts = PlanFacts()
    """The plan as the loop last saw it."""
    before: dict[int, tuple[tuple[str, ...], int]] = field(default_factory=dict)
    """What agents had done before each start."""
    modes: dict[int, Mode] = field(default_factory=dict)
    """What each start was for."""

    @property
    def shared(self) -> SharedProject:
        assert isinstance(self.simulated, SharedProject)
        return self.simulated

    def feed(self, given: Input) -> Step:
        before = self.state
        if isinstance(given, Prepared | IterationRead):
            self.looked = given.plan
        self.moments.clear()
        taken = super().feed(given)
        if before.awaits is Awaits.NOTHING:
            assert {event.kind for event in taken.events} <= {"commandRejected"}
        for event in taken.events:
            match event:
                case RunEnded():
                    self._check_end(event, taken)
                case IterationStarted():
                    self._check_start(event, before, taken)
                case AttemptCounted(attempt=attempt, limit=limit):
                    assert 1 <= attempt <= limit
                case EvidenceGathered():
                    self._check_evidence(event, given)
                case IterationEnded():
                    self._check_settled(event, before)
                case QuestionAnswered(answer=answer):
                    assert answer in self.answers, "nobody gave this answer"
                case _:
                    pass
        for effect in taken.effects:
            if isinstance(effect, order.LaunchAgent):
                self._check_launch(effect)
        return taken

    def _check_end(self, end: RunEnded, taken: Step) -> None:
        """One named reason with its code, and nothing after it."""
        assert taken.events[-1] is end
        assert taken.state.awaits is Awaits.NOTHING
        is_term = end.reason is EndReason.STOPPED and end.by == BY_TERM
        assert end.exit_code == (TERM_EXIT_CODE if is_term else EXIT_CODES[end.reason])
        assert self.exit_code == end.exit_code
        assert end.message
        if end.reason is EndReason.COMPLETE:
            assert self.looked.counts.open_required == 0, "complete with tasks open"

    def _check_start(self, started: IterationStarted, before: LoopState, taken: Step) -> None:
        """Nothing that holds a run back is passed over."""
        run, config = before.run, self.config
        self.before[started.start] = self.shared.of_agents()
        self.modes[started.start] = started.mode
        assert started.start == run.start + 1
        assert started.iteration == run.counted + 1
        assert started.tries == (run.tries + 1 if started.iteration == run.iteration else 1)
        assert stuck_words(run.breaker, run.stuck_count, config) is None
        assert run.blocked is None
        assert run.question is None or run.question.answer is not None
        assert config.max_iterations is None or run.counted < config.max_iterations
        if started.task is not None:
            assert started.task.id not in skipped_without_mark(run.attempts, config.attempts)
        assert not any(isinstance(event, RunEnded) for event in taken.events)

    def _check_evidence(self, event: EvidenceGathered, given: Input) -> None:
        """Only what agents did is progress, and what is said only where it is asked for."""
        assert isinstance(given, IterationRead)
        did = self.shared.of_agents() != self.before[event.start]
        planned = self.modes[event.start] is Mode.PLAN and given.plan_changed
        kinds = self.config.progress.evidence
        says = given.report is not None and EvidenceKind.DECLARED in kinds
        assert not event.evidence.progress or did or planned or says
        assert event.evidence.why

    def _check_settled(self, ended: IterationEnded, before: LoopState) -> None:
        """Counters move as the iteration counts, and no further."""
        run, given_task = before.run, before.run.current
        assert given_task is not None
        own = given_task.started.task
        limit = self.config.attempts.limit
        for task, count in ended.attempts.items():
            earlier = run.attempts.get(task, 0)
            assert 0 < count <= max(limit, earlier)
            if count > earlier:
                assert own is not None
                assert task == own.id
                # It was counted as it began; a lost one keeps that where the task was reset since.
                is_kept = ended.outcome is Outcome.LOST and count == 1
                assert is_kept or ended.outcome not in CUT_SHORT
        if ended.outcome in CUT_SHORT:
            assert ended.indicators == run.indicators
            assert ended.crashes == run.crashes
            assert ended.missing_reports in {0, run.missing_reports}
            # A confirming iteration moves no counter, also where it was cut short.
            is_new = ended.commit is not None and not given_task.started.confirming
            assert ended.stuck_count == (0 if is_new else run.stuck_count)
            # A task whose iterations were lost too often is set aside like any other.
            if not any(one.start == ended.start for one in self.events_of("taskSetAside")):
                check_nothing_counted_up(run.breaker, ended.breaker)
        if ended.outcome is Outcome.LIMITED and not self._progressed(ended):
            assert ended.breaker == run.breaker
            assert ended.verdict is None or ended.verdict.reason is not EndReason.STUCK

    def _progressed(self, ended: IterationEnded) -> bool:
        gathered = self.events_of("evidenceGathered")
        of_this = [event.evidence for event in gathered if event.start == ended.start]
        return bool(of_this[-1].progress)

    def _check_launch(self, effect: order.LaunchAgent) -> None:
        reported = {event.session.id for event in self.events_of("iterationEnded") if event.session}
        assert effect.session is None or effect.session in reported
        assert effect.session is None or self.config.session.resume
        assert effect.context.answer is None or effect.context.answer in self.answers


def check_nothing_counted_up(before: Breaker, after: Breaker) -> None:
    for name in Breaker.model_fields:
        if name.startswith("consecutive_"):
            assert getattr(after, name) in {0, getattr(before, name)}
    assert after.error_streaks == before.error_streaks
    assert after.total_opens == before.total_opens
