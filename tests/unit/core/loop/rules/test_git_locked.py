"""A locked git: the run is blocked, and continues when the user has fixed that."""

from __future__ import annotations

from ralph_ls.core.loop.inputs import EffectFailed
from ralph_ls.core.loop.rules.waits import parked_words
from ralph_ls.core.loop.state import Awaits
from ralph_ls.protocol.run.values import EndReason, Phase
from tests.unit.core.loop.simulated_project import SimulatedProject, finishes
from tests.unit.core.loop.simulated_run import SimulatedRun, command, play, settings

LOCKED = "a lock file keeps git from changing the repository: .git/index.lock (there for 3s)"


def test_the_run_ends_as_blocked_and_says_by_what() -> None:
    played = play(simulated=SimulatedProject(script=[finishes], locked=LOCKED))
    assert played.exit_code == 2
    (ended,) = played.events_of("runEnded")
    assert (ended.reason, ended.message) == (EndReason.BLOCKED, LOCKED)
    assert "iterationStarted" not in played.kinds()
    assert played.warnings() == ["git-locked"]


def test_a_run_that_waits_continues_when_the_user_has_removed_it() -> None:
    simulated = SimulatedProject(script=[finishes], locked=LOCKED)
    played = SimulatedRun(simulated=simulated, config=settings(wait=True)).until(Awaits.PERSON)
    assert played.run.phase is Phase.PARKED
    assert parked_words(played.run) == f"git to be unlocked, then: ralph resume; {LOCKED}"
    simulated.locked = ""
    played.go_on(command("resume"))
    assert played.exit_code == 0


def test_a_run_that_is_to_pause_pauses_first() -> None:
    played = SimulatedRun(
        simulated=SimulatedProject(script=[finishes], locked=LOCKED), config=settings()
    ).until(Awaits.PREPARED)
    played.send("pause")
    played.go_on()
    assert played.run.phase is Phase.PAUSED
    assert played.warnings() == []


def test_a_repository_that_is_damaged_blocks_the_run_until_it_is_resumed() -> None:
    simulated = SimulatedProject(script=[finishes])
    played = SimulatedRun(simulated=simulated, config=settings()).until(Awaits.READ)
    played.queue.clear()
    played.go_on(EffectFailed(message="HEAD is gone", blocked=True))
    assert played.exit_code == 2
    (ended,) = played.events_of("runEnded")
    assert (ended.reason, ended.message) == (EndReason.BLOCKED, "HEAD is gone")
    played.resume()
    assert played.exit_code == 0
