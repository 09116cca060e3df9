"""A repository that an agent breaks: the run says what has become of it, and loses nothing."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from ralph_ls.protocol.run.events import RunEnded
from ralph_ls.store.run.journal import JournalRead, read_journal
from tests.engine.project_builder import PATIENCE
from tests.engine.ralph_runner import Project

BLOCKED = 2
LIMIT = 1


@dataclass(frozen=True)
class Damage:
    """What the agent does, what the run says, and what the user does about it."""

    does: str
    says: str
    repair: str | None = None
    """A command in the folder around the repository; None: nothing brings it back."""


AWAY = "mv .git ../git-away"
BACK = "mv git-away repository/.git"

DAMAGES = {
    "removed": Damage("rm -rf .git", "the git directory {root}/.git was removed or renamed;"),
    "moved": Damage(AWAY, "(it is now {folder}/git-away; restore it with: mv ", BACK),
    "renamed": Damage("mv .git .got", "(it is now {root}/.got;", "cd repository; mv .got .git"),
    "file": Damage(
        f"{AWAY}; echo x >.git", "was a folder when the run began", f"rm repository/.git; {BACK}"
    ),
    "other": Damage(
        f"{AWAY}; git init -q",
        "is not the repository that the run began in",
        f"rm -r repository/.git; {BACK}",
    ),
    "no HEAD": Damage(
        "rm .git/HEAD",
        "write it again: echo 'ref: refs/heads/main' > {root}/.git/HEAD,",
        "echo 'ref: refs/heads/main' > repository/.git/HEAD",
    ),
    "bad HEAD": Damage(
        "echo x >.git/HEAD",
        "{root}/.git/HEAD is not readable as a branch or a commit",
        "echo 'ref: refs/heads/main' > repository/.git/HEAD",
    ),
    "no refs": Damage("rm -r .git/refs", "the folder {root}/.git/refs is gone"),
    "objects": Damage("rm -rf .git/objects/??", "see what is missing with git fsck"),
    "bare": Damage(
        "git config core.bare true",
        "git config --unset core.bare",
        "git --git-dir=repository/.git config --unset core.bare",
    ),
    "settings": Damage("echo '[x' >.git/config", "fix that line of the configuration"),
    "index": Damage(
        "echo x >.git/index", "move .git/index away", "cd repository; rm .git/index; git reset -q"
    ),
    "tree": Damage("cd ..; rm -rf repository", "the work tree {root} was removed or renamed;"),
    "tree moved": Damage(
        "cd ..; mv repository moved",
        "(it is now {folder}/moved; restore it with: mv {folder}/moved {root})",
        "mv moved repository",
    ),
    "tree replaced": Damage(
        "cd ..; mv repository moved; mkdir repository; cd repository; git init -q",
        "the folder at {root} is not the one that the run began in (it is now {folder}/moved;",
        "rm -r repository; mv moved repository",
    ),
}


def read_of(folder: Path) -> JournalRead:
    return read_journal(folder / "journal.jsonl")


@pytest.mark.slow
@pytest.mark.parametrize("name", DAMAGES)
def test_the_run_is_blocked_and_says_what_happened_and_what_to_do(
    project: Project, name: str
) -> None:
    damage = DAMAGES[name]
    project.plan("First task", "Second task").agent(
        f"""
        work
        if [ "$RALPH_START" = 1 ]; then wait_here; {damage.does}; fi
        report "STATUS: IN_PROGRESS"
        """
    )
    project.make_gate()
    running = project.start("2")
    running.wait_for("agentStarted")
    folder = project.run_folder()
    project.open_gate()
    assert running.process.wait(PATIENCE) == BLOCKED
    journal = read_of(folder)
    assert (journal.torn, journal.unreadable) == (0, ())
    ended = journal.events[-1]
    assert isinstance(ended, RunEnded)
    root = project.repository
    assert damage.says.format(root=root, folder=root.parent) in ended.message
    if damage.repair is None:
        return
    subprocess.run(["sh", "-ec", damage.repair], cwd=root.parent, check=True)
    resumed = project.tell("run", "--resume")
    assert resumed.exit_code == LIMIT, resumed.stderr
    assert (root / "work.txt").read_text(encoding="utf-8") == "1\n2\n"
    assert [getattr(one, "seq", 0) for one in resumed.events] == [
        *range(1, len(resumed.events) + 1)
    ]


@pytest.mark.slow
def test_a_parked_run_whose_git_directory_goes_ends_with_the_same_words(project: Project) -> None:
    project.plan().agent("echo '<promise>BLOCKED:No key</promise>'")
    running = project.start("--on-halt", "wait")
    running.wait_for("phaseChanged", phase="parked")
    folder = project.run_folder()
    shutil.move(project.repository / ".git", project.kept / "git-away")
    assert running.process.wait(PATIENCE) == BLOCKED
    ended = read_of(folder).events[-1]
    assert isinstance(ended, RunEnded)
    assert f"the git directory {project.repository}/.git was removed or renamed" in ended.message
