"""Signal matrix: every signal that a process can catch, in every phase of a run.

Whatever the engine makes of a signal, nothing of its run is left behind, and what it says on its
end is true; a run that the signal has ended can be resumed until it is complete.
"""

from __future__ import annotations

import contextlib
import os
import signal

from ralph_ls.protocol.config.config import ProfileName
from tests.sweep import invariants
from tests.sweep.engines import Engine, ralph
from tests.sweep.processes import wait_until
from tests.sweep.projects import make_project
from tests.sweep.runner import Case, Scenario
from tests.sweep.users import User
from tests.sweep.violations import Kind, Violation, require

PHASES = ("start", "agent-half", "validate", "pre-commit", "pre-push", "parked", "cooldown")
IGNORED = {signal.SIGKILL, signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU}
"""Those that cannot be caught, and those that stop a process until a signal continues it."""
FAULTS = {
    signal.SIGSEGV,
    signal.SIGBUS,
    signal.SIGFPE,
    signal.SIGILL,
    signal.SIGABRT,
    signal.SIGTRAP,
    signal.SIGSYS,
}
"""A process that gets one of these is as good as killed: its run is resumed."""
SIGNALS = sorted(
    (one for one in signal.Signals if one not in IGNORED and one < signal.SIGRTMIN), key=int
)
MATRIX = [(number, phase) for phase in PHASES for number in SIGNALS]
UNTIL_STOP = 4.0
STOP_SECONDS = 30.0
MOST_ENGINES = 6


def run(case: Case) -> None:
    number, phase = MATRIX[case.number % len(MATRIX)]
    case.note(f"{number.name} in {phase}")
    try:
        _play(case, number, phase)
    except Violation as violation:
        raise Violation(violation.kind, f"{number.name} in {phase}: {violation}") from violation
    case.count("signals")


def _play(case: Case, number: signal.Signals, phase: str) -> None:
    project = make_project(case, ProfileName.FIXPLAN, commits="loop", n_tasks=2)
    user = User(case, project)
    user.act()
    env = project.environment
    ralph(case, project.repository, "allow", "--yes", env=env)
    more: list[str] = []
    if phase == "cooldown":
        env["RALPH_COOLDOWN"] = "3"
    if phase == "parked":
        (project.repository / ".ralph" / "blocked.txt").write_text("wait\n", encoding="utf-8")
        more = ["--on-halt", "wait"]
    if phase in {"agent-half", "validate", "pre-commit", "pre-push"}:
        project.arm(phase)
    engine = Engine(case, project.repository, *project.start_words, *more, env=env)
    wait_until(lambda: _is_there(engine, phase, project.has_fired), seconds=30)
    with contextlib.suppress(ProcessLookupError):
        os.kill(engine.pid, number)
        case.note("sent")
    (project.repository / ".ralph" / "blocked.txt").unlink(missing_ok=True)
    if not wait_until(lambda: not engine.is_alive, seconds=UNTIL_STOP):
        ralph(case, project.repository, "stop", "--now", env=env)
    ended = engine.wait(STOP_SECONDS)
    is_killed = ended.code < 0
    require(
        not is_killed or number in FAULTS or phase == "start",
        Kind.WRONG,
        f"ended by signal {-ended.code} without an end of its run",
    )
    if not is_killed:
        case.watcher.expect_nothing_left()
        if invariants.newest_events():
            invariants.at_end(project, user, ended.code)
    for _ in range(MOST_ENGINES):
        if ended.code == 0:
            break
        begun = bool(invariants.newest_events())
        words = ["run", "--resume"] if begun else project.start_words
        ended = ralph(case, project.repository, *words, env={**env, "RALPH_COOLDOWN": "0"})
    require(ended.code == 0, Kind.WRONG, f"no resume completes it: {ended.text[-800:]}")
    case.watcher.expect_nothing_left()
    invariants.at_end(project, user, 0)


def _is_there(engine: Engine, phase: str, has_fired: object) -> bool:
    if not engine.is_alive:
        return True
    events = invariants.newest_events()
    kinds = [getattr(event, "kind", "") for event in events]
    match phase:
        case "start":
            return bool(engine.descendants()) or bool(kinds)
        case "parked":
            phases = [getattr(event, "phase", None) for event in events]
            return any(str(one) == "parked" for one in phases)
        case "cooldown":
            return "waitStarted" in kinds or "iterationEnded" in kinds
        case _:
            assert callable(has_fired)
            return bool(has_fired(phase))


SCENARIO = Scenario(
    name="signals",
    run=run,
    quick=[
        number
        for number, (one, phase) in enumerate(MATRIX)
        if (one, phase)
        in {
            (signal.SIGQUIT, "agent-half"),
            (signal.SIGHUP, "validate"),
            (signal.SIGTERM, "pre-commit"),
            (signal.SIGINT, "parked"),
        }
    ],
    share=1.0,
)
