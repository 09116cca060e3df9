"""Parallel runs under kills: the run, what forks its lanes, their engines, agents, gits and merges.

One case is one parallel run over a dozen tasks, some of which depend on others and some of which
change the same line. It is killed again and again, resumed until it is complete, and then every
task is merged exactly once, in one line, with nothing left over and the user's branch untouched.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

import psutil

from ralph_ls.engine.parallel.lane_starter import MODULE
from tests.engine.project_builder import git, make_repository, write_agent
from tests.sweep.engines import Engine
from tests.sweep.processes import describe, kill, wait_until
from tests.sweep.runner import Case, Scenario
from tests.sweep.violations import Kind, Violation, require

N_TASKS = 12
N_KILLS = 10
MOST_ENGINES = 60

AGENT = r"""
kept={kept}
prompt=$(cat)
task=$(printf '%s\n' "$prompt" | sed -n 's/.*Task \([0-9]*\) of the sweep.*/\1/p' | head -n 1)
echo "begin $task $$" >>"$kept/agents"
sleep 0.{pace}
if grep -q '^<<<<<<<' shared.txt; then
  sed -i -e '/^<<<<<<< /d' -e '/^=======$/d' -e '/^>>>>>>> /d' shared.txt
elif [ $((task % 4)) = 0 ]; then sed -i "s/^base$/base\n$task/" shared.txt; fi
echo "$task" >"made-$task.txt"
sed -i "s/\[ \] Task $task of/[x] Task $task of/" @fix_plan.md
git add -A; git commit -q -m "Task $task" || :
printf '%s\n' ---RALPH_STATUS--- 'STATUS: COMPLETE' 'EXIT_SIGNAL: true' ---END_RALPH_STATUS---
echo "end $task $$" >>"$kept/agents"
"""


@dataclass(kw_only=True)
class LanesCase:
    """One parallel run under as many engines as it takes."""

    case: Case
    repository: Path
    agent: str
    first: str

    def run(self) -> None:
        n_kills, words = 0, self._first_words()
        for _ in range(MOST_ENGINES):
            engine = Engine(self.case, self.repository, *words)
            self.case.count("engines")
            while engine.is_alive and n_kills < N_KILLS:
                # Enough for lanes to be open, and for the run to have come further.
                wait_until(
                    lambda: not engine.is_alive,  # noqa: B023
                    seconds=self.case.rng.uniform(0.2, 1.6),
                )
                n_kills += self._kill_one(engine)
            ended = engine.wait()
            if ended.code == 0:
                return
            if "to be unlocked" in ended.text:
                self._remove_locks()
            began = self._has_begun()
            words = ("run", "--resume", "--max-iterations", "400") if began else words
        raise Violation(Kind.DEAF, f"no end with {MOST_ENGINES} engines")

    def _remove_locks(self) -> None:
        """The user does as the message says: no git is running that holds these locks."""
        for lock in (self.repository / ".git").rglob("*.lock"):
            self.case.note(f"the user removes {lock}")
            lock.unlink()

    def _first_words(self) -> tuple[str, ...]:
        limits = ("--max-iterations", "200", "--on-halt", "exit")
        return ("run", "--parallel", "3", *limits, "--agent-command", self.agent)

    def _has_begun(self) -> bool:
        state = self.case.folder / "state" / "worktrees"
        return any(b"runStarted" in path.read_bytes() for path in self._journals(state))

    def _journals(self, state: Path) -> list[Path]:
        owned = git(self.repository, "rev-parse", "--git-dir").strip()
        return (
            list(state.glob("*/runs/*/journal.jsonl"))
            if (self.repository / owned / "ralph.json").exists()
            else []
        )

    def _kill_one(self, engine: Engine) -> int:
        """Kill one process of the run, each kind as often as another."""
        kinds: defaultdict[str, list[psutil.Process]] = defaultdict(list)
        for process in self.case.watcher.left():
            try:
                kinds[_kind(process, engine.pid)].append(process)
            except psutil.Error:
                continue
        if not kinds:
            return 0
        rng = self.case.rng
        kind = rng.choice(sorted(kinds))
        chosen = rng.choice(kinds[kind])
        self.case.note(f"kill {kind}: {describe(chosen)}")
        self.case.count("kills")
        self.case.count(f"kills of {kind}")
        kill(chosen)
        return 1

    def check(self) -> None:
        """What has to hold at the end, whatever was killed."""
        (branch,) = git(
            self.repository, "branch", "--list", "ralph/*", "--format=%(refname:short)"
        ).split()
        subjects = git(self.repository, "log", "--format=%s", f"{self.first}..{branch}")
        merged = Counter(re.findall(r"^Task (\d+)$", subjects, re.MULTILINE))
        twice = [task for task, number in merged.items() if number > 1]
        require(len(merged) == N_TASKS, Kind.LOSS, f"{len(merged)} tasks were merged: {merged}")
        require(not twice, Kind.WRONG, f"merged twice: {twice}")
        merges = git(self.repository, "rev-list", "--merges", f"{self.first}..{branch}")
        require(not merges, Kind.WRONG, "the history is not one line")
        plan = git(self.repository, "show", f"{branch}:@fix_plan.md")
        require("[ ]" not in plan, Kind.LOSS, f"open in the plan: {plan}")
        shared = git(self.repository, "show", f"{branch}:shared.txt").split()
        require(
            {str(task) for task in range(4, N_TASKS + 1, 4)} <= set(shared),
            Kind.LOSS,
            f"lines are gone: {shared}",
        )
        head = git(self.repository, "rev-parse", "HEAD").strip()
        require(head == self.first, Kind.WRONG, "the user's branch was moved")
        changed = git(self.repository, "status", "--porcelain")
        require(not changed, Kind.WRONG, f"the user's files were touched: {changed}")
        trees = git(self.repository, "worktree", "list", "--porcelain").count("worktree ")
        require(trees == 1, Kind.LEFT_OVER, f"{trees - 1} work trees are left")
        self._check_agents()

    def _check_agents(self) -> None:
        """No two agents that both finished worked on a task at the same time."""
        spans: defaultdict[str, list[str]] = defaultdict(list)
        for line in (self.case.folder / "agents").read_text(encoding="utf-8").splitlines():
            what, task, pid = line.split()
            spans[task].append(f"{what} {pid}")
        for task, seen in spans.items():
            done = [one.split()[1] for one in seen if one.startswith("end")]
            for pid in done:
                begin, end = seen.index(f"begin {pid}"), seen.index(f"end {pid}")
                within = [one for one in seen[begin + 1 : end] if one.split()[1] in done]
                require(not within, Kind.WRONG, f"two agents worked on task {task}: {seen}")


def _kind(process: psutil.Process, run: int) -> str:
    words = " ".join(process.cmdline())
    if process.pid == run:
        return "run"
    if process.name().startswith("git"):
        return "git"
    if MODULE in words:
        return "starter" if process.ppid() == run else "lane"
    return "agent" if "/bin/agent" in words else "helper"


def run(case: Case) -> None:
    """One parallel run, killed ten times."""
    rng = case.rng
    repository = case.folder / "repository"
    tasks = []
    for number in range(1, N_TASKS + 1):
        needs = rng.sample(range(1, number), min(2, number - 1)) if number % 3 == 0 else []
        after = ", ".join(f"Task {one} of the sweep" for one in needs)
        tasks.append(
            f"Task {number} of the sweep" + (f"\n  - Depends on: {after}" if needs else "")
        )
    make_repository(repository, tasks, files={"shared.txt": "base\n"})
    body = AGENT.replace("{kept}", shlex.quote(str(case.folder)))
    agent = write_agent(case.folder / "bin", body.replace("{pace}", str(rng.randint(1, 6))))
    first = git(repository, "rev-parse", "HEAD").strip()
    killed = LanesCase(case=case, repository=repository, agent=agent, first=first)
    killed.run()
    case.watcher.expect_nothing_left()
    killed.check()
    case.count("parallel runs")


SCENARIO = Scenario(name="lanes", run=run, quick=range(2), share=2.0)
