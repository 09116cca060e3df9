"""An engine is killed, the user continues working, and a resume settles only what is the agent's.

The agent kills its engine and then does its work to the end. The user writes once the keeper has
looked at the tree, which is waited for by its lock.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from ralph_ls.engine.worktree.keeper import read_final_snapshot
from ralph_ls.engine.worktree.workspace import remove_final_snapshot
from ralph_ls.protocol.run.events import IterationEnded, RunEnded, Warned
from tests.engine.crash_driver import KILLED, Driver
from tests.engine.project_builder import (
    KILL_ENGINE,
    events_of,
    git,
    make_repository,
    newest_run,
    write_agent,
)

pytestmark = pytest.mark.slow

AGENT = r"""
cat >/dev/null
if [ ! -e "$RALPH_SCRATCH/killed" ]; then
    : >"$RALPH_SCRATCH/killed"
    KILL_ENGINE
fi
file=$(ls @fix_plan.md IMPLEMENTATION_PLAN.md 2>/dev/null | head -n 1)
task=$(sed -n 's/^- \[ \] //p' $file | head -n 1)
if [ -n "$task" ]; then
    echo "$task" >>work
    sed -i "s/^- \[ \] $task/- [x] $task/" $file
fi
grep -q '^- \[ \]' $file || echo PROJECT_COMPLETE >>$file
COMMIT
printf '%s\n' RALPH_STATUS: 'STATUS: IN_PROGRESS' 'EXIT_SIGNAL: false' END_RALPH_STATUS
"""

COMMITS = '[ -z "$task" ] || git commit -q -a -m "agent: $task"'

PLAN = "# Plan\n\n## Tasks\n\n- [ ] one\n- [ ] two\n"

VALIDATE = """\
#!/bin/sh
if [ -e .git/kill ]; then
    rm .git/kill
    kill -9 $PPID
fi
exit $(cat .git/verdict)
"""


class Stage:
    """A repository with a remote, in which an engine dies while its agent works."""

    def __init__(self, folder: Path, engines: Driver) -> None:
        self.folder, self.engines = folder, engines
        self.repository = folder / "repository"
        self.remote = folder / "remote.git"

    def kill(self, *, profile: str = "spec", commits: str = ":", plan: str = PLAN) -> None:
        """Have the engine die, and wait until its agent has ended and the keeper has looked."""
        name = "@fix_plan.md" if profile == "fixplan" else "IMPLEMENTATION_PLAN.md"
        make_repository(self.repository, files={"work": "", name: plan, "specs/a.md": "# A\n"})
        if profile == "spec":
            git(self.repository, "rm", "-q", "@fix_plan.md")
            git(self.repository, "commit", "-q", "-m", "plan")
        script = self.repository / ".ralph" / "validate.sh"
        script.parent.mkdir(exist_ok=True)
        script.write_text(VALIDATE, encoding="utf-8")
        script.chmod(0o755)
        self.verdict(0)
        git(self.repository, "add", "-A")
        git(self.repository, "commit", "-q", "-m", "script")
        git(self.folder, "init", "-q", "--bare", str(self.remote))
        git(self.repository, "remote", "add", "origin", str(self.remote))
        git(self.repository, "push", "-q", "-u", "origin", "HEAD")
        assert self.ralph("allow", "--yes") == 0
        body = AGENT.replace("COMMIT", commits).replace("KILL_ENGINE", KILL_ENGINE)
        agent = write_agent(self.folder / "bin", body)
        arguments = ["5", "--profile", profile, "--agent-command", agent]
        assert self.run(*arguments) == KILLED
        found = newest_run(self.repository)
        assert found is not None
        self.files = found.files
        assert read_final_snapshot(self.files.folder) is not None

    def verdict(self, code: int) -> None:
        (self.repository / ".git" / "verdict").write_text(f"{code}\n", encoding="utf-8")

    def ralph(self, *arguments: str) -> int:
        return self.engines.ralph(self.repository, *arguments)

    def run(self, *arguments: str) -> int:
        return self.ralph("run", *arguments)

    def write(self, name: str, text: str, *, add: bool = False) -> None:
        with (self.repository / name).open("a" if add else "w", encoding="utf-8") as file:
            file.write(text)

    def read(self, name: str) -> str:
        return (self.repository / name).read_text(encoding="utf-8")

    def log(self, where: Path | None = None) -> list[str]:
        """The subjects, newest first."""
        place = where or self.repository
        branch = git(self.repository, "symbolic-ref", "--short", "HEAD").strip()
        return git(place, "log", "--format=%s", branch).splitlines()

    def ended(self) -> list[IterationEnded]:
        return [one for one in events_of(self.repository) if isinstance(one, IterationEnded)]

    def codes(self) -> list[str]:
        return [one.code for one in events_of(self.repository) if isinstance(one, Warned)]

    def last(self) -> RunEnded:
        return next(
            one for one in reversed(events_of(self.repository)) if isinstance(one, RunEnded)
        )


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path, Driver(tmp_path / "output"))


def test_its_work_is_validated_and_committed_as_its_own_and_the_users_is_not(stage: Stage) -> None:
    stage.kill()
    stage.write("mine", "mine\n")
    stage.write("specs/a.md", "more\n", add=True)
    assert stage.run("--resume") == 0
    assert stage.ended()[0].outcome.value == "lost"
    assert stage.log() == [
        "ralph: two",
        "ralph: one (interrupted)",
        "script",
        "plan",
        "The beginning",
    ]
    assert stage.log(stage.remote) == stage.log()
    assert "left-to-user" in stage.codes()
    changed = git(stage.repository, "status", "--porcelain").splitlines()
    assert changed == [" M specs/a.md", "?? mine"]
    first = git(stage.repository, "log", "-2", "--format=", "--name-only").split()
    assert set(first) == {"work", "IMPLEMENTATION_PLAN.md"}


def test_an_engine_that_dies_while_it_settles_changes_nothing_of_that(stage: Stage) -> None:
    """The user writes at once: neither the dead engine nor an agent wrote what is there then."""
    stage.kill()
    stage.write("mine", "mine\n")
    stage.write(".git/kill", "")
    assert stage.run("--resume") == KILLED
    stage.write("later", "mine\n")
    assert stage.run("--resume") == 0
    assert stage.log()[:3] == ["ralph: two", "ralph: one (interrupted)", "script"]
    assert git(stage.repository, "status", "--porcelain") == "?? later\n?? mine\n"


def test_what_does_not_validate_is_neither_committed_nor_complete(stage: Stage) -> None:
    stage.kill(plan="# Plan\n\n- [ ] one\n")
    stage.verdict(1)
    stage.write("mine", "mine\n")
    assert stage.run("--resume") == 5
    assert stage.run("--resume") != 0
    assert stage.log()[0] == "script"
    assert stage.read("mine") == "mine\n"
    stage.verdict(0)
    assert stage.run("--resume") == 0
    assert git(stage.repository, "status", "--porcelain") == "?? mine\n"


def test_a_commit_of_the_user_holds_back_what_is_pushed(stage: Stage) -> None:
    """Also one with the trailers of the iteration, as a copied message has them."""
    stage.kill()
    trailers = f"Ralph-Run: {stage.files.folder.name}\nRalph-Iteration: 1\nRalph-Start: 1"
    stage.write("mine", "mine\n")
    git(stage.repository, "add", "mine")
    git(stage.repository, "commit", "-q", "-m", "mine", "-m", trailers, "mine")
    assert stage.run("--resume") == 0
    assert stage.log()[:3] == ["ralph: two", "ralph: one (interrupted)", "mine"]
    assert stage.log(stage.remote)[0] == "script"
    assert "push-held" in stage.codes()
    assert stage.ended()[0].commit == git(stage.repository, "rev-parse", "HEAD~1").strip()


@pytest.mark.parametrize("flag", ["--take-all", "--leave"])
def test_what_both_have_changed_is_for_the_user_to_decide(stage: Stage, flag: str) -> None:
    stage.kill()
    stage.write("work", "mine\n", add=True)
    for _ in range(2):
        assert stage.run("--resume") == 2
        assert "changed by the agent and edited again afterwards: work" in stage.last().message
        assert (stage.log()[0], stage.read("work")) == ("script", "one\nmine\n")
    assert stage.run("--resume", flag) == 0
    assert ("ralph: one (interrupted)" in stage.log()) is (flag == "--take-all")
    assert stage.read("work") == "one\nmine\ntwo\n"


def test_without_anybody_who_saw_the_end_nothing_is_guessed(stage: Stage) -> None:
    stage.kill()
    remove_final_snapshot(stage.files.folder)
    stage.write("mine", "mine\n")
    assert stage.run("--resume") == 2
    assert "nobody was watching: " in stage.last().message
    assert stage.log()[0] == "script"


def test_where_the_agent_commits_the_users_plan_stays_as_it_is(stage: Stage) -> None:
    stage.kill(profile="fixplan", commits=COMMITS)
    plan = stage.read("@fix_plan.md").replace("- [ ] two", "- [ ] three")
    stage.write("@fix_plan.md", plan)
    git(stage.repository, "commit", "-q", "-a", "-m", "mine")
    stage.write("@fix_plan.md", "- [ ] four\n", add=True)
    stage.run("2", "--resume")
    assert "- [ ] two" not in stage.read("@fix_plan.md")
    assert "guardReverted" not in [one.kind for one in events_of(stage.repository)]
    lost = stage.ended()[0]
    assert lost.outcome.value == "lost"
    subject = git(stage.repository, "log", "-1", "--format=%s", str(lost.commit)).strip()
    assert subject == "agent: one"


def test_a_new_run_leaves_all_of_it_out_and_says_so(stage: Stage) -> None:
    stage.kill()
    agent = str(stage.folder / "bin" / "agent")
    assert stage.run("1", "--profile", "spec", "--agent-command", agent) in {0, 1, KILLED}
    assert "lost-not-settled" in stage.codes()
