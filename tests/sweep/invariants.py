"""Invariants: what holds after every kill, attack and resume, whatever the scenario was.

This is the one place that states them. Each is a function that raises a ``Violation``; ``at_rest``
checks all that hold whenever no engine runs, ``at_end`` those that a finished run adds.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ralph_ls.protocol.config.config import ProfileName
from ralph_ls.protocol.run.events import (
    AgentStarted,
    Committed,
    Event,
    IterationEnded,
    IterationStarted,
    RunEnded,
    RunStarted,
    UnknownEvent,
)
from ralph_ls.protocol.run.values import EndReason
from ralph_ls.store.layout import find_worktree
from ralph_ls.store.run.journal import read_journal
from ralph_ls.store.run.lock import is_held
from tests.engine.project_builder import git
from tests.fakes import bd
from tests.sweep.projects import Project
from tests.sweep.users import User
from tests.sweep.violations import Kind, Violation, require

Events = Sequence[Event | UnknownEvent]

START_TRAILER = "Ralph-Start"
GIT_SECONDS = 60.0
"""In which git answers, unless something that it waits for was left to it."""
_TRACEBACK = "Traceback (most recent call last)"


def at_rest(project: Project, user: User, *, is_torn: bool = False) -> None:
    """Holds whenever no engine works, after a kill as well as after an end."""
    for journal in journals():
        journal_is_contiguous(journal, is_torn=is_torn)
    starts_happened_once(project)
    repository_is_sound(project.repository)
    users_work_is_untouched(project, user)
    plan_lost_nothing(project)
    state_is_private()


def at_end(project: Project, user: User, exit_code: int) -> None:
    """Holds once a run has ended by itself."""
    at_rest(project, user)
    events = newest_events()
    exit_code_is_true(events, exit_code)
    nothing_is_locked(project.repository)
    secret_is_in_no_file(project)
    secret_is_in_no_commit(project)
    if exit_code == 0:
        complete_is_complete(project, user)


# ------------------------------------------------------------------------------------- the record


def journals() -> list[Path]:
    """The journals of every run of the case, oldest first, whatever became of its repository."""
    found = _state().glob("worktrees/*/runs/*/journal.jsonl")
    return sorted((path for path in found if path.is_file()), key=lambda path: path.parent.name)


def newest_events() -> Events:
    found = [read_journal(path).events for path in journals()]
    return next((events for events in reversed(found) if events), ())


def journal_is_contiguous(journal: Path, *, is_torn: bool = False) -> None:
    """Every event is there, once, in order, of one run, and each start is a new one."""
    read = read_journal(journal)
    require(not read.unreadable, Kind.LOSS, f"unreadable lines {read.unreadable} in {journal}")
    # An engine that was killed in its first event began no run; the next one begins another.
    may_be_torn = is_torn or not read.events
    require(may_be_torn or not read.torn, Kind.LOSS, f"a torn last line in {journal}")
    seqs = [event.seq for event in read.events]
    wanted = list(range(1, len(seqs) + 1))
    require(seqs == wanted, Kind.LOSS, f"sequence of {journal}: {seqs}")
    require(len({event.run for event in read.events}) <= 1, Kind.WRONG, "two runs in one journal")
    starts = [event.start for event in read.events if isinstance(event, IterationStarted)]
    require(starts == list(range(1, len(starts) + 1)), Kind.WRONG, f"starts: {starts}")
    ended = [event.start for event in read.events if isinstance(event, IterationEnded)]
    require(
        ended == starts[: len(ended)] and len(starts) - len(ended) <= 1,
        Kind.WRONG,
        f"iterations started {starts} and ended {ended}",
    )


def starts_happened_once(project: Project) -> None:
    """No agent was started more often for one start than there were attempts at it.

    One that was killed may be tried again within its start; the newest attempt need not be in the
    journal yet.
    """
    ran = project.kept / "ran"
    lines = ran.read_text(encoding="utf-8").split() if ran.exists() else []
    attempts: Counter[str] = Counter()
    for event in (event for path in journals() for event in read_journal(path).events):
        if isinstance(event, AgentStarted):
            name = f"{event.run}/{event.start}"
            attempts[name] = max(attempts[name], event.attempt)
    twice = [line for line, n_times in Counter(lines).items() if n_times > max(1, attempts[line])]
    require(not twice, Kind.WRONG, f"started twice: {twice}")


def exit_code_is_true(events: Events, exit_code: int) -> None:
    """A process ends with the code that its run says it ended with."""
    last = events[-1] if events else None
    require(isinstance(last, RunEnded), Kind.WRONG, f"ended with {exit_code}, last event {last!r}")
    assert isinstance(last, RunEnded)
    require(
        last.exit_code == exit_code, Kind.WRONG, f"exit code {exit_code}, but the run says {last!r}"
    )


def no_traceback(text: str) -> None:
    """Nobody is shown the inside of the program."""
    require(_TRACEBACK not in text, Kind.WRONG, f"a traceback: {text[-1500:]}")


# ------------------------------------------------------------------------------------- repository


def repository_is_sound(repository: Path) -> None:
    """git finds nothing wrong with its objects and references."""
    if not (repository / ".git").exists():
        return
    ran = _git(repository, "fsck", "--strict", "--no-dangling", "--no-progress")
    require(ran == "", Kind.LOSS, f"git fsck: {ran}")


def nothing_is_locked(repository: Path) -> None:
    """No lock is held, and no lock file of git is left."""
    git_dir = find_worktree(repository).git_dir
    require(not is_held(git_dir), Kind.LEFT_OVER, "the engine's lock is held")
    left = locks_of_git(git_dir)
    require(not left, Kind.LEFT_OVER, f"locks left: {[str(path) for path in left]}")


def locks_of_git(git_dir: Path) -> list[Path]:
    """Lock files that git made; those of the engine are not git's."""
    found = [*git_dir.glob("*.lock"), *(git_dir / "refs").rglob("*.lock")]
    return [path for path in found if path.name not in {"ralph.lock", "gc.pid.lock"}]


def commits_are_told_once(project: Project) -> None:
    """Where the loop commits: one commit a start at most, each of them in the journal."""
    form = f"--format=%(trailers:key={START_TRAILER},valueonly,separator=%x20)"
    log = git(project.repository, "log", "--reverse", form, "--grep=^Ralph-Iteration:").split()
    require(len(log) == len(set(log)), Kind.WRONG, f"several commits for one start: {log}")
    events = newest_events()
    told = [str(event.start) for event in events if isinstance(event, Committed)]
    require(told == log, Kind.LOSS, f"committed by the journal {told}, by git {log}")


def tasks_became_done_once(project: Project, titles: Sequence[str]) -> None:
    """Each task's work is committed, whole, and was added by one commit."""
    for title in titles:
        path = f"work/{project.slug(title)}.txt"
        text = _git(project.repository, "show", f"HEAD:{path}")
        require(text == f"{title} is done\n", Kind.LOSS, f"{path} in HEAD is {text!r}")
        log = git(project.repository, "log", "--format=%H", "--", path).split()
        require(len(log) == 1, Kind.WRONG, f"{title} was committed {len(log)} times: {log}")


# ----------------------------------------------------------------------------------------- people


def users_work_is_untouched(project: Project, user: User) -> None:
    """What the user wrote is there byte for byte, staged is staged, and commits are in history."""
    for path, data in user.files.items():
        found = (project.repository / path).read_bytes() if _exists(project, path) else None
        require(found == data, Kind.LOSS, f"{path} of the user: {found!r} instead of {data!r}")
    for path, data in user.staged.items():
        index = _git(project.repository, "show", f":{path}")
        require(index.encode() == data, Kind.LOSS, f"{path} is staged as {index!r}, not {data!r}")
    for commit in user.commits:
        base = _git(project.repository, "merge-base", commit, "HEAD").strip()
        require(base == commit, Kind.LOSS, f"the user's commit {commit} is not in HEAD's history")
    for path in user.apart:
        form = "--format=%H", "--grep=^Ralph-Iteration:"
        ours = _git(project.repository, "log", *form, "--", path).split()
        require(not ours, Kind.WRONG, f"{path}, written while no engine ran, is in {ours}")


def _exists(project: Project, path: str) -> bool:
    return (project.repository / path).is_file()


# ------------------------------------------------------------------------------------------- plan


def plan_lost_nothing(project: Project) -> None:
    """Every task is in the plan, in whatever state, and no story is approved without a review."""
    match project.profile:
        case ProfileName.SPEC | ProfileName.FIXPLAN:
            text = _plan(project).decode("utf-8", errors="replace")
            lines = re.findall(r"^- \[.\] (.*)$", text, re.MULTILINE)
            lost = [title for title in project.tasks if lines.count(title) != 1]
            require(not lost, Kind.LOSS, f"not once in the plan: {lost}; the plan: {text!r}")
        case ProfileName.STORIES:
            stories = _stories(project)
            titles = [story["title"] for story in stories]
            lost = [title for title in project.tasks if titles.count(title) != 1]
            require(not lost, Kind.LOSS, f"not once in the plan: {lost}")
            for story in stories:
                is_reviewed = story["reviewStatus"] == "approved" and story["reviewCount"] >= 1
                require(
                    is_reviewed or not story["passes"], Kind.WRONG, f"passes unreviewed: {story}"
                )
        case ProfileName.BEADS:
            titles = [issue["title"] for issue in bd.issues_of(project.repository).values()]
            lost = [title for title in project.tasks if titles.count(title) != 1]
            require(not lost, Kind.LOSS, f"not once among the issues: {lost}")
        case ProfileName.ISSUE:
            pass


def open_tasks(project: Project) -> list[str]:
    """Titles of what is not done yet."""
    match project.profile:
        case ProfileName.SPEC | ProfileName.FIXPLAN:
            assert project.plan is not None
            return re.findall(
                r"^- \[ \] (.*)$", project.plan.read_text(encoding="utf-8"), re.MULTILINE
            )
        case ProfileName.STORIES:
            return [story["title"] for story in _stories(project) if not story["passes"]]
        case ProfileName.BEADS:
            issues = bd.issues_of(project.repository).values()
            return [issue["title"] for issue in issues if issue["status"] != "closed"]
        case ProfileName.ISSUE:
            work = project.repository / "work"
            return [
                one for one in project.tasks if not (work / f"{project.slug(one)}.txt").exists()
            ]


def _plan(project: Project) -> bytes:
    """The plan's bytes; never waits for a pipe, nor reads what does not end."""
    assert project.plan is not None
    is_file = project.plan.is_file() and not project.plan.is_symlink()
    require(is_file, Kind.LOSS, f"the plan {project.plan.name} is not a regular file any more")
    return project.plan.read_bytes()


def _stories(project: Project) -> list[dict[str, Any]]:
    stories: list[dict[str, Any]] = json.loads(_plan(project))["userStories"]
    return stories


def complete_is_complete(project: Project, user: User) -> None:
    """A run that says complete has no open task, and left no work of the loop uncommitted."""
    events = newest_events()
    last = events[-1]
    assert isinstance(last, RunEnded)
    require(last.reason is EndReason.COMPLETE, Kind.WRONG, f"exit code 0 for {last!r}")
    left = open_tasks(project)
    require(not left, Kind.WRONG, f"complete with open tasks: {left}")
    tasks_became_done_once(project, project.tasks)
    if project.commits == "loop":
        commits_are_told_once(project)
    changed = _git(
        project.repository, "status", "--porcelain", "-z", "--untracked-files=all"
    ).split("\0")
    known = {*user.files, *user.staged}
    paths = [line[3:] for line in changed if line]
    strange = [path for path in paths if path not in known]
    require(not strange, Kind.LOSS, f"left uncommitted: {strange}")


# ---------------------------------------------------------------------------------------- privacy


def state_is_private() -> None:
    """Nobody else may read what the loop keeps."""
    for path in _files(_state()):
        mode = path.lstat().st_mode
        require(
            stat.S_ISLNK(mode) or not mode & 0o077, Kind.WRONG, f"{path} has mode {mode & 0o777:o}"
        )


def secret_is_in_no_file(project: Project) -> None:
    """A secret of the environment that the agent printed is in nothing that the loop wrote."""
    secret = project.secret.encode()
    places = [_state(), project.repository / ".ralph", project.repository / "ralph"]
    for place in places:
        for path in _files(place):
            if path.is_file() and secret in path.read_bytes():
                raise Violation(Kind.LOSS, f"the secret is in {path}")


def secret_is_in_no_commit(project: Project) -> None:
    """Nor is it in the message of a commit."""
    secret = project.secret
    log = _git(project.repository, "log", "--all", "--format=%B")
    require(secret not in log, Kind.LOSS, "the secret is in a commit message")


def _state() -> Path:
    return Path(os.environ["RALPH_STATE_DIR"])


def _files(folder: Path) -> Iterator[Path]:
    for parent, folders, names in os.walk(folder):
        for name in (*folders, *names):
            yield Path(parent, name)


# -------------------------------------------------------------------------------------- untouched


def untouched(before: Mapping[Path, bytes]) -> None:
    """Files that nothing of a case may change have the bytes that they had."""
    for path, data in before.items():
        found = path.read_bytes() if path.is_file() else None
        require(found == data, Kind.LOSS, f"{path} was changed: {found!r:.200}")


def _git(repository: Path, *arguments: str) -> str:
    """What git prints on both of its streams, also where it fails."""
    import subprocess

    try:
        ran = subprocess.run(
            ["git", *arguments],
            cwd=repository,
            capture_output=True,
            check=False,
            timeout=GIT_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise Violation(Kind.DEAF, f"git {arguments[0]} does not end in the repository") from None
    return (ran.stdout + (ran.stderr if ran.returncode else b"")).decode(errors="replace")


def run_of(events: Events) -> str:
    """The run's id; empty where there was none."""
    return next((event.run for event in events if isinstance(event, RunStarted)), "")
