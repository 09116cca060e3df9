"""A whole run under chance: agents of every kind, people, time and kills, under every gate.

What holds for each step is watched by ``CheckedRun``; here is only what may happen.
"""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from ralph_ls.core.loop.fold import fold
from ralph_ls.core.loop.inputs import EffectFailed, HaltFilesChanged, Input, Interrupted, Started
from ralph_ls.core.loop.machine.run_flow import BY_TERM
from ralph_ls.core.loop.state import Awaits
from ralph_ls.protocol.config.config import Config, OnHalt
from ralph_ls.protocol.run.events import dump_event, parse_event
from ralph_ls.protocol.run.values import EndReason, Mode
from tests.unit.core.loop import simulated_project, user_behaviours
from tests.unit.core.loop.checked_run import CheckedRun, SharedProject
from tests.unit.core.loop.random_turns import TASKS, configs, seldom, turns
from tests.unit.core.loop.simulated_project import Turn
from tests.unit.core.loop.simulated_run import RUN, command, facts


class RunUnderChance(RuleBasedStateMachine):
    """One run, however often its engine dies."""

    def __init__(self) -> None:
        super().__init__()
        self.play = CheckedRun(simulated=SharedProject(script=[]), config=Config(), record=True)
        self.n_texts = 0

    @initialize(
        config=configs(),
        n_tasks=st.sampled_from([3, 3, 2, 1, 0]),
        marker=seldom(st.just(True), otherwise=False),
        script=st.lists(turns, min_size=1, max_size=6),
    )
    def start(self, config: Config, n_tasks: int, marker: bool, script: list[Turn]) -> None:
        tasks = dict.fromkeys(TASKS[:n_tasks], "todo")
        self.play.simulated = SharedProject(script=[], tasks=tasks, marker=marker)
        self.play.config = config
        self.play.feed(Started(run=RUN, facts=facts(self.play.simulated, config)))
        self.play_iterations(script)

    @precondition(lambda self: self.lives)
    @rule(script=st.lists(turns, min_size=1, max_size=5))
    def play_iterations(self, script: list[Turn]) -> None:
        for turn in script:
            self.play_one(turn)

    @precondition(lambda self: self.lives)
    @rule(turn=turns, n_times=st.integers(1, 6))
    def play_the_same_again_and_again(self, turn: Turn, n_times: int) -> None:
        for _ in range(n_times):
            self.play_one(turn)

    @precondition(lambda self: self.lives)
    @rule(turn=turns)
    def let_an_agent_begin(self, turn: Turn) -> None:
        self.play.simulated.afterwards = turn
        while self.play.queue and self.play.state.awaits is not Awaits.EXIT:
            self.advance()

    @precondition(lambda self: self.lives)
    @rule(turn=turns)
    def commit_while_an_agent_works(self, turn: Turn) -> None:
        self.let_an_agent_begin(turn)
        self.play.shared.commit_by_hand()
        while self.play.queue and self.play.run.current is not None:
            self.advance()

    @precondition(lambda self: self.play.queue)
    @rule(n_steps=st.integers(1, 4))
    def go_on(self, n_steps: int) -> None:
        for _ in range(n_steps):
            if self.play.queue:
                self.advance()

    @precondition(lambda self: self.lives)
    @rule(kind=st.sampled_from(["pause", "resume", "reset", "answer", "note"]))
    def ask_for(self, kind: str) -> None:
        fields = {"text": self.text()} if kind in {"answer", "note"} else {}
        if kind == "answer":
            self.play.answers.add(fields["text"])
        self.play.send(kind, **fields)

    @precondition(lambda self: self.lives)
    @rule(kind=st.sampled_from(["skip", "resetTask"]), task=st.sampled_from(TASKS))
    def say_of_a_task(self, kind: str, task: str) -> None:
        self.play.send(kind, task=task)

    @precondition(lambda self: self.lives and self.play.state.awaits is Awaits.PERSON)
    @rule()
    def help(self) -> None:
        self.play.answers.add("polling")
        user_behaviours.helpful(self.play)

    @rule(
        how=st.sampled_from(["stop", "stop now", "Ctrl-C", BY_TERM, "the disk is full"]),
        chance=st.integers(0, 3),
    )
    def end_it(self, how: str, chance: int) -> None:
        """Seldom, for little happens in a run that is ended at once."""
        if how.startswith("stop"):
            inputs: list[Input] = [command("stop", now=how == "stop now")]
        elif how == "the disk is full":
            inputs = [EffectFailed(message=how)]
        else:
            inputs = [Interrupted(by=how)]
        for given in inputs * (chance == 3):
            self.play.feed(given)

    @rule(edit=st.sampled_from(["answer", "delete the question", "resolve"]))
    def edit_a_halt_file(self, edit: str) -> None:
        shared = self.play.simulated
        if edit == "answer" and shared.question is not None:
            shared.answer = self.text()
            self.play.answers.add(shared.answer)
        elif edit == "delete the question":
            shared.question = shared.answer = None
        elif edit == "resolve":
            shared.blocked = None
        self.play.feed(HaltFilesChanged(halt=shared.halt))

    @rule(
        work=st.sampled_from(["commit", "build", "plan"]) | st.sampled_from(TASKS),
        state=st.sampled_from(["todo", "todo", "done", "blocked"]),
        seconds=st.sampled_from([0.2, 61.0, 90000.0]),
    )
    def work_beside_it(self, work: str, state: str, seconds: float) -> None:
        """The user commits, wants another mode or edits the plan, and time passes."""
        if work == "commit":
            self.play.shared.commit_by_hand()
        elif work in {"build", "plan"}:
            self.play.simulated.mode = Mode(work)
        else:
            self.play.simulated.tasks[work] = state
        self.play.now += timedelta(seconds=seconds)

    @precondition(lambda self: self.lives)
    @rule(
        n_kept=st.integers(0, 9),
        performed=st.booleans(),
        did=st.sampled_from(["nothing", "half", "all"]),
    )
    def kill_and_resume(self, n_kept: int, performed: bool, did: str) -> None:
        """The engine dies in its next step, of which some events were written, or none."""
        played, works = self.play, self.play.state.awaits is Awaits.EXIT
        if works and did == "half":
            played.simulated.change(played.simulated.afterwards, half=True)
        elif played.queue and not (works and did == "nothing"):
            self._die_in_next_step(n_kept, performed=performed)
        self.resume()

    @precondition(lambda self: not self.lives)
    @rule(settles=st.booleans())
    def run_again(self, settles: bool) -> None:
        """``ralph run --resume``, perhaps after the user fixed what the run ended for."""
        shared = self.play.simulated
        if settles and shared.question is not None:
            shared.answer = self.text()
            self.play.answers.add(shared.answer)
        if settles:
            shared.blocked = None
            shared.tasks = dict.fromkeys(shared.tasks, "todo")
        self.resume()

    def _die_in_next_step(self, n_kept: int, *, performed: bool) -> None:
        played = self.play
        self.advance()
        (moment,) = played.moments
        n_written = min(len(played.events), moment.n_events + n_kept)
        if n_written < len(played.events) or not performed:
            played.simulated = moment.simulated
        del played.events[n_written:]

    @invariant()
    def counts_are_what_was_told(self) -> None:
        run = self.play.run
        ended = self.play.events_of("iterationEnded")
        assert run.counted == sum(event.counted for event in ended)
        assert [event.start for event in ended] == sorted({event.start for event in ended})
        assert all(count > 0 for count in run.attempts.values())
        counters = (run.stuck_count, run.indicators, run.missing_reports, run.crashes)
        assert min(counters) >= 0

    def teardown(self) -> None:
        """Whatever happened, the user can end it; and the journal is all there is."""
        played = self.play
        if played.events and self.lives:
            played.send("stop", now=True)
            for _ in range(20):
                if played.queue:
                    self.advance()
            assert not self.lives, "a run that cannot be stopped"
        read = [parse_event(dump_event(event)) for event in played.events]
        assert fold(read) == played.run
        is_over = False
        for event in played.events:
            is_over = is_over and event.kind != "runResumed"
            assert not is_over or event.kind == "commandRejected"
            is_over = is_over or event.kind == "runEnded"

    def resume(self) -> None:
        """What is complete stays complete."""
        run = fold(self.play.events)
        if run.end is not None and run.end.reason is EndReason.COMPLETE:
            return
        self.play.take_up()
        assert self.play.run.active_seconds == run.active_seconds, "time without an engine"
        assert self.play.run.start == run.start

    def play_one(self, turn: Turn) -> None:
        """One iteration to its end, if one can begin."""
        self.play.simulated.afterwards = turn
        number = self.play.run.start
        while self.play.queue and self.play.run.start == number:
            self.advance()
        while self.play.queue and self.play.run.current is not None:
            self.advance()

    def advance(self) -> None:
        """Give the answer that the run awaits."""
        given = self.play.queue.popleft()
        self.play.feed(given() if callable(given) else given)

    @property
    def lives(self) -> bool:
        return self.play.state.awaits is not Awaits.NOTHING

    def text(self) -> str:
        """A text that nobody gave before."""
        self.n_texts += 1
        return f"text {self.n_texts}"


@pytest.mark.slow
class TestRunUnderChance(RunUnderChance.TestCase):  # type: ignore[misc,valid-type]
    settings = hypothesis_settings(max_examples=40, stateful_step_count=20)


def test_a_late_command_is_rejected_and_changes_nothing() -> None:
    """What the machine's last promise means, once in plain words."""
    played = CheckedRun(
        simulated=SharedProject(script=[simulated_project.finishes]),
        config=Config(on_halt=OnHalt.EXIT),
    )
    played.start()
    end = played.run.end
    played.go_on(command("stop"))
    assert played.events[-1].kind == "commandRejected"
    assert played.run.end == end
