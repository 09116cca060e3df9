"""Random kills: engine, agent, keeper or everything, at random instants and at named points.

One case is one run, in any profile, with a remote, a validation script and a user who keeps
working. It is killed several times and resumed until it is complete.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import psutil

from ralph_ls.protocol.config.config import ProfileName
from ralph_ls.store.layout import find_worktree
from tests.sweep import invariants
from tests.sweep.engines import Ended, Engine, ralph
from tests.sweep.processes import describe, kill, wait_until
from tests.sweep.projects import Project, make_project
from tests.sweep.runner import Case, Scenario
from tests.sweep.torn import start_torn
from tests.sweep.users import User
from tests.sweep.violations import Kind, Violation, require

MOST_ENGINES = 14
"""More than any run needs: each kill, decision of the user and lock costs one."""
POINTS = (
    "agent-start",
    "agent-half",
    "agent-committed",
    "agent-end",
    "validate",
    "prepare-commit",
    "pre-commit",
    "ref-update",
    "post-commit",
    "pre-push",
    "pre-receive",
)
TARGETS = ("engine", "engine", "engine", "agent", "engine and agent", "keeper", "everything")
AWAIT_POINT = 4.0
"""Seconds until a point that this run does not pass is given up for a kill at once."""


@dataclass(kw_only=True)
class KillCase:
    """One run under as many engines as it takes."""

    case: Case
    project: Project
    user: User
    n_kills: int
    settle: tuple[str, ...] = ()
    """What the user decides about changes of unknown origin, for the next resume."""

    def run(self) -> None:
        words = tuple(self.project.start_words)
        n_kills = 0
        for _ in range(MOST_ENGINES):
            if n_kills < self.n_kills:
                ended = self._run_and_kill(words)
            else:
                ended = self._start(words).wait()
            if ended is None:
                n_kills += 1
                self._look_around()
            elif self._is_over(ended):
                return
            is_begun = bool(invariants.newest_events())
            words = ("run", "--resume", *self.settle) if is_begun else words
            self.settle = ()
        raise Violation(Kind.DEAF, f"no end with {MOST_ENGINES} engines")

    def _start(self, words: tuple[str, ...]) -> Engine:
        self.case.count("engines")
        return Engine(self.case, self.project.repository, *words, env=self.project.environment)

    # ------------------------------------------------------------------------------------- kills

    def _run_and_kill(self, words: tuple[str, ...]) -> Ended | None:
        """Run an engine; None where it was killed, else how it ended before that."""
        rng = self.case.rng
        way = rng.choice(["instant", "point", "point", "journal"])
        if way == "journal":
            return self._tear(words)
        target = rng.choice(TARGETS)
        point = rng.choice(POINTS) if way == "point" else ""
        if point:
            self.project.arm(point)
        engine = self._start(words)
        self.user.begin(pace=0.15)
        try:
            if point:
                wait_until(
                    lambda: self.project.has_fired(point) or not engine.is_alive,
                    seconds=AWAIT_POINT,
                )
            else:
                instant = rng.uniform(0, rng.choice([0.3, 1.0, 2.5]))
                wait_until(lambda: not engine.is_alive, seconds=instant)
            if not engine.is_alive:
                return engine.wait()
            self.case.note(f"kill {target} at {point or 'an instant'}")
            return self._kill(engine, target)
        finally:
            self.project.disarm()
            self.user.end()

    def _tear(self, words: tuple[str, ...]) -> Ended | None:
        """The engine dies inside of a write to its journal."""
        seq = self.case.rng.randint(1, 60)
        n_bytes = self.case.rng.choice([None, 0, 1, 40, 200])
        self.case.count("engines")
        torn = start_torn(self.case, self.project, words, kill_at=seq, n_bytes=n_bytes)
        self.user.begin(pace=0.15)
        ended = torn.wait()
        self.user.end()
        if ended is None:
            self.case.count("kills")
            self.case.note(f"killed in writing event {seq}, after {n_bytes} bytes")
        return ended

    def _kill(self, engine: Engine, target: str) -> Ended | None:
        self.case.count("kills")
        everything = engine.descendants()
        keepers = engine.keepers()
        agents = _agents(everything)
        if target in {"keeper", "everything"}:
            for process in keepers:
                self.case.note(f"keeper: {describe(process)}")
                kill(process)
        if target == "everything":
            # As when the machine dies: nobody has time to notice the end of another.
            psutil.Process(engine.pid).suspend()
            for process in everything:
                kill(process)
        if target in {"agent", "engine and agent"}:
            for process in agents:
                kill(process)
        if target in {"agent", "keeper"}:
            self.project.disarm()
            return engine.wait()
        engine.kill()
        return None

    # ----------------------------------------------------------------------------- between engines

    def _look_around(self) -> None:
        """Between two engines: the invariants hold, and the user may do something."""
        rng = self.case.rng
        choice = rng.random()
        if choice < 0.4:
            self.user.act()
        elif choice < 0.7 and wait_until(lambda: not self.case.watcher.left(), seconds=10):
            self.user.act(apart=True)
        if not self.case.watcher.left():
            invariants.at_rest(self.project, self.user, is_torn=True)

    def _is_over(self, ended: Ended) -> bool:
        """Whether the run is complete; else what blocks it is settled as a user would."""
        text = ended.text
        if ended.code == 64 and "is complete; start a new one" in text:
            # It was killed between its end and the exit.
            invariants.at_end(self.project, self.user, 0)
            return True
        if ended.code == 0:
            invariants.at_end(self.project, self.user, 0)
            return True
        invariants.at_rest(self.project, self.user)
        invariants.exit_code_is_true(invariants.newest_events(), ended.code)
        self.case.count(f"ends with {ended.code}")
        locks = invariants.locks_of_git(find_worktree(self.project.repository).git_dir)
        if ended.code == 2 and any(path.name in text for path in locks):
            require(not self.case.watcher.left(), Kind.LEFT_OVER, "a lock, and processes are left")
            for path in locks:
                path.unlink()
            self.case.count("locks that the user removed")
        elif ended.code == 2 and ("--take-all" in text or "by whom" in text):
            flag = self.case.rng.choice(["--take-all", "--leave"])
            self.settle = (flag,)
            if flag == "--take-all":
                self.user.apart.clear()
            else:
                # All of it is the user's now, who keeps what the agent has done.
                self.user.take_over()
            self.case.count(f"user decided {flag}")
        elif ended.code == 5 and re.search(r"failed in 3 iterations|push|commit", text):
            pass
        else:
            raise Violation(Kind.WRONG, f"ended with {ended.code}: {text[-1500:]}")
        return False


def _agents(processes: list[psutil.Process]) -> list[psutil.Process]:
    found = []
    for process in processes:
        try:
            if any(Path(word).name == "agent" for word in process.cmdline()):
                found.append(process)
        except psutil.Error:
            continue
    return found


def run(case: Case) -> None:
    """One run of a random profile, killed up to four times."""
    rng = case.rng
    profile = list(ProfileName)[case.number % len(ProfileName)]
    commits = rng.choice(["loop", "agent"])
    case.note(f"profile {profile.value}, commits = {commits}")
    project = make_project(
        case, profile, commits=commits, n_tasks=rng.randint(2, 4), pace=rng.uniform(0, 0.05)
    )
    ralph(case, project.repository, "allow", "--yes", env=project.environment)
    user = User(case, project)
    KillCase(case=case, project=project, user=user, n_kills=rng.randint(1, 4)).run()
    case.count("runs")
    case.count(f"runs of {profile.value}")


SCENARIO = Scenario(name="kills", run=run, quick=range(10), share=7.0)
