"""Agents that are busy and get nowhere, and honest ones that look just like them.

Each is a function of the number of its iteration and of a tree of files, which is data; the whole
loop plays it. A busy one is stopped, or its tasks are set aside, an honest one is never.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from ralph_ls.core.loop.evidence.churn import (
    ChangedFile,
    are_repeated,
    is_cosmetic,
    kind_of_repetition,
)
from ralph_ls.core.loop.evidence.progress import Changes
from ralph_ls.core.loop.inputs import IterationRead
from ralph_ls.core.loop.machine.unfinished_tasks import quoted_reason
from ralph_ls.core.loop.profiles import PROFILES, preset_of
from ralph_ls.core.plan.completion import has_progress, merge_steps, steps_of
from ralph_ls.protocol.config.config import OnHalt, ProfileName
from ralph_ls.protocol.run.report import Report, ReportKind
from ralph_ls.protocol.run.values import Baseline, CommitSeen, Outcome
from tests.unit.core.loop.simulated_project import SimulatedProject, Turn, turn
from tests.unit.core.loop.simulated_run import SimulatedRun

TASKS = ("parse", "print")
LAST = 30
"""No busy agent gets so far."""


SPEC = pytest.param(ProfileName.SPEC, marks=pytest.mark.exhaustive)
"""The profile in which an agent takes the same way through the loop as in another one."""


@dataclass
class Tree:
    """Files, a branch, and what the agent says besides."""

    files: dict[str, bytes] = field(default_factory=lambda: {"parser.py": b"x = 1\n"})
    modes: dict[str, str] = field(default_factory=dict)
    head: dict[str, bytes] = field(default_factory=lambda: {"parser.py": b"x = 1\n"})
    head_modes: dict[str, str] = field(default_factory=dict)
    n_commits: int = 0
    loop_commits: bool = False
    edited: set[str] = field(default_factory=set)
    done: set[str] = field(default_factory=set)
    ticked: str = ""
    """The boxes of the plan, where there are more than its tasks."""

    def write(self, path: str, text: str | bytes) -> None:
        self.files[path] = text.encode() if isinstance(text, str) else text

    def append(self, path: str, text: str | bytes) -> None:
        data = text.encode() if isinstance(text, str) else text
        self.files[path] = self.files.get(path, b"") + data

    def edit(self, path: str, text: str) -> None:
        """Write, with a tool that the agent's stream reports."""
        self.write(path, text)
        self.edited.add(path)

    def move(self, old: str, new: str) -> None:
        self.files[new] = self.files.pop(old)

    def commit(self) -> None:
        self.n_commits += 1
        self.head, self.head_modes = dict(self.files), dict(self.modes)

    def state(self) -> dict[str, tuple[bytes, str]]:
        return {path: (data, self.modes.get(path, "")) for path, data in self.files.items()}


Agent = Callable[[int, Tree], None]


@dataclass
class TreeWorld(SimulatedProject):
    """A world whose agent is a function, and whose evidence is found in a tree."""

    agent: Agent = lambda _n, _tree: None
    tree: Tree = field(default_factory=Tree)
    n_started: int = 0
    was: Tree = field(default_factory=Tree)
    earlier: list[set[str]] = field(default_factory=list)
    steps: dict[str, bool] = field(default_factory=dict)
    ever_done: set[str] = field(default_factory=set)

    def baseline(self) -> Baseline:
        return Baseline(branch="main", fingerprint=self.print())

    def print(self) -> str:
        return f"{hash(tuple(sorted(self.tree.state().items()))) & (1 << 64) - 1:016x}"

    def change(self, played: Turn, *, half: bool = False) -> None:
        super().change(played, half=half)
        tree = self.tree
        self.was = replace(
            tree, files=dict(tree.files), modes=dict(tree.modes), edited=set(), done=set(tree.done)
        )
        tree.edited.clear()
        self.n_started += 1
        self.agent(self.n_started, tree)
        self.tasks.update(
            (task, "done" if task in tree.done else "todo")
            for task, state in self.tasks.items()
            if state != "blocked"
        )

    def read(self, *args: Any, **fields: Any) -> IterationRead:
        given = super().read(*args, **fields)
        return replace(given, changes=self.changes(given.tasks_done))

    def changes(self, tasks_done: tuple[str, ...]) -> Changes:
        was, now = self.was.state(), self.tree.state()
        paths = tuple(sorted(path for path in was.keys() | now if was.get(path) != now.get(path)))
        n_new = self.tree.n_commits - self.was.n_commits
        head = (self.was.head, self.was.head_modes) != (self.tree.head, self.tree.head_modes)
        commits = tuple(
            CommitSeen(hash=f"{self.was.n_commits + n:040x}", subject="x", files=int(head))
            for n in range(1, n_new + 1)
        )
        found = Changes(commits=commits, files=len(paths), paths=paths, fingerprint=self.print())
        return replace(found, advanced=self.advanced(tasks_done), **self.kinds(found, tasks_done))

    def kinds(self, found: Changes, tasks_done: tuple[str, ...]) -> dict[str, Any]:
        earlier = list(self.earlier)
        if found.paths:
            self.earlier = [*self.earlier, set(found.paths)][-5:]
        if tasks_done or not found.paths:
            return {}
        committed = bool(found.commits and found.commits[0].files) or self.tree.loop_commits
        files = [
            ChangedFile(
                path=path,
                was=self.was.files.get(path),
                now=self.tree.files.get(path),
                is_edited=path in self.tree.edited
                or len(self.tree.files.get(path, b"")) > len(self.was.files.get(path, b"")),
            )
            for path in found.paths
        ]
        again = bool(earlier) and are_repeated(found.paths, earlier, is_committed=committed)
        return {
            "again": kind_of_repetition(files) if again else None,
            "cosmetic": (committed and is_cosmetic(files)) or None,
        }

    def advanced(self, tasks_done: tuple[str, ...]) -> bool | None:
        fresh = set(tasks_done) - self.ever_done
        self.ever_done |= set(tasks_done)
        now = steps_of(self.tree.ticked)
        on = has_progress(self.steps, now)
        self.steps = merge_steps(self.steps, now)
        if tasks_done:
            return None if fresh else False
        return on or None


def play(agent: Agent, profile: ProfileName, n_turns: int, **said: str) -> SimulatedRun:
    """Some iterations of the agent, in a profile, without a limit of them."""
    config = preset_of(PROFILES[profile]).model_copy(
        update={"on_halt": OnHalt.EXIT, "max_iterations": n_turns, "push": False}
    )
    if profile is ProfileName.ISSUE:
        tasks: dict[str, str] = {}
    else:
        tasks = dict.fromkeys(TASKS, "todo")
    works = turn(STATUS="IN_PROGRESS", **said)
    simulated = TreeWorld(
        script=[],
        afterwards=works,
        tasks=tasks,
        agent=agent,
        tree=Tree(loop_commits=config.commits.value == "loop"),
    )
    simulated.steps = steps_of(simulated.tree.ticked)
    return SimulatedRun(simulated=simulated, config=config).start()


def outcomes(played: SimulatedRun) -> list[bool]:
    return [event.outcome is Outcome.PROGRESS for event in played.events_of("iterationEnded")]


def committing(change: Agent) -> Agent:
    """The same agent, which commits everything each time."""

    def agent(n: int, tree: Tree) -> None:
        change(n, tree)
        tree.commit()

    return agent


def toggles(n: int, tree: Tree) -> None:
    tree.write("parser.py", "x = 2\n" if n % 2 else "x = 1\n")


def makes_and_removes(n: int, tree: Tree) -> None:
    if n % 2:
        tree.write("scratch.py", "1\n")
    else:
        del tree.files["scratch.py"]


def commits_nothing(_n: int, tree: Tree) -> None:
    tree.commit()


def blank_lines(_n: int, tree: Tree) -> None:
    tree.append("parser.py", "\n")


def indents(n: int, tree: Tree) -> None:
    tree.write("parser.py", " " * n + "x = 1\n")


def flips_line_ends(n: int, tree: Tree) -> None:
    tree.write("parser.py", b"x = 1" + b"\r\n" * n)


def flips_modes(n: int, tree: Tree) -> None:
    tree.modes["parser.py"] = "x" * n


def logs(n: int, tree: Tree) -> None:
    tree.append("logs/app.log", f"12:00:{n:02} started\n")


def logs_elsewhere(n: int, tree: Tree) -> None:
    tree.append("progress-of-mine.txt", f"2026-01-31 12:00:{n:02} still at it\n")


def logs_in_turn(n: int, tree: Tree) -> None:
    tree.append(f"{'ab'[n % 2]}.log", f"run {n}\n")


def new_log_each_time(n: int, tree: Tree) -> None:
    tree.write(f"logs/run-{n}.txt", f"{n}\n")


def logs_every_other_time(n: int, tree: Tree) -> None:
    if n % 2:
        tree.append("app.log", f"run {n}\n")


def notes(n: int, tree: Tree) -> None:
    tree.append("NOTES.md", f"- Looked at it again, attempt {n}\n")


def grows_a_database(n: int, tree: Tree) -> None:
    tree.append("app.sqlite", b"\0" * n)


def grows_a_binary(n: int, tree: Tree) -> None:
    tree.append("state.bin", b"\0" * n)


def stamps(n: int, tree: Tree) -> None:
    tree.write("last-run.txt", f"last run: 2026-01-31T12:00:{n:02}Z\n")


def stamps_seconds(n: int, tree: Tree) -> None:
    tree.write("beat", f"{1769860800 + n}")


def covers(n: int, tree: Tree) -> None:
    for name in ("index", "parser"):
        tree.write(f"htmlcov/{name}.html", f"<p>{n * 7919}</p>\n")


def caches(n: int, tree: Tree) -> None:
    tree.write(".pytest_cache/v/lastfailed", f"{{{n * 7919}}}\n")


def renumbers(n: int, tree: Tree) -> None:
    tree.write("parser.py", f"x = {n + 1}\n")


def comments(n: int, tree: Tree) -> None:
    tree.append("parser.py", f"# hm, {n}\n")


def renames(n: int, tree: Tree) -> None:
    name = next(path for path in tree.files if path.startswith("parser"))
    tree.move(name, f"parser_{n}.py")


def moves_back_and_forth(n: int, tree: Tree) -> None:
    tree.move(*(("parser.py", "src/parser.py") if n % 2 else ("src/parser.py", "parser.py")))


def touches_a_lockfile(n: int, tree: Tree) -> None:
    tree.write("package-lock.json", f'{{"resolved": "{n}"}}\n')


def makes_a_file_each_time(n: int, tree: Tree) -> None:
    tree.write(f"idea_{n}.py", f"idea = {n}\n")


def ticks_back_and_forth(n: int, tree: Tree) -> None:
    tree.done = {"parse"} if n % 2 else set()
    comments(n, tree)


def ticks_a_part_back_and_forth(n: int, tree: Tree) -> None:
    tree.ticked = f"- [{'x' if n % 2 else ' '}] read the grammar\n"
    comments(n, tree)


def counts_in_the_plan(n: int, tree: Tree) -> None:
    tree.ticked = f"- [ ] try number {n}\n"
    comments(n, tree)


def amends(n: int, tree: Tree) -> None:
    if n == 1:
        tree.write("parser.py", "x = 2\n")
    tree.commit()


BUSY: dict[str, Agent] = {
    name: agent
    for change in (
        toggles,
        makes_and_removes,
        blank_lines,
        indents,
        flips_line_ends,
        flips_modes,
        logs,
        logs_elsewhere,
        logs_in_turn,
        new_log_each_time,
        logs_every_other_time,
        notes,
        grows_a_database,
        grows_a_binary,
        stamps,
        stamps_seconds,
        covers,
        caches,
        renumbers,
        comments,
        renames,
        moves_back_and_forth,
        touches_a_lockfile,
        makes_a_file_each_time,
        ticks_back_and_forth,
        ticks_a_part_back_and_forth,
        counts_in_the_plan,
    )
    for name, agent in (
        (change.__name__, change),
        (f"{change.__name__}, committing", committing(change)),
    )
} | {"commits_nothing": commits_nothing, "amends": amends}

SOON = (
    *("toggles", "makes_and_removes", "blank_lines, committing", "indents, committing"),
    *("flips_line_ends, committing", "flips_modes, committing", "logs", "logs, committing"),
    *("logs_elsewhere", "logs_elsewhere, committing", "logs_in_turn", "new_log_each_time"),
    *("notes", "notes, committing", "grows_a_database", "grows_a_database, committing"),
    *("grows_a_binary", "grows_a_binary, committing", "stamps", "stamps, committing"),
    *("stamps_seconds, committing", "covers", "covers, committing", "caches"),
    *("caches, committing", "commits_nothing", "amends", "moves_back_and_forth"),
    *("toggles, committing", "makes_and_removes, committing", "moves_back_and_forth, committing"),
)
"""Those that are stopped within five iterations; the others take as long as they look like work."""


@pytest.mark.parametrize("name", BUSY)
@pytest.mark.parametrize("profile", [ProfileName.FIXPLAN, SPEC, ProfileName.ISSUE])
def test_a_busy_agent_is_stopped(name: str, profile: ProfileName) -> None:
    played = play(BUSY[name], profile, LAST)
    assert played.run.end is not None
    assert played.run.end.reason.value in {"stuck", "blocked"}, outcomes(played)
    if profile is ProfileName.FIXPLAN and name in SOON:
        assert len(outcomes(played)) <= 5


@pytest.mark.parametrize("name", ["comments, committing", "makes_a_file_each_time, committing"])
def test_a_story_that_is_never_finished_is_set_aside(name: str) -> None:
    """Where a new commit is progress whatever it holds, too."""
    played = play(BUSY[name], ProfileName.STORIES, LAST)
    aside = [event.task.id for event in played.events_of("taskSetAside")]
    assert aside == list(TASKS)
    assert played.run.skipped == TASKS
    assert played.run.end is not None
    assert played.run.end.reason.value == "blocked"
    assert len(outcomes(played)) == 20


def test_where_attempts_count_every_iteration_nothing_else_does() -> None:
    played = play(BUSY["comments, committing"], ProfileName.BEADS, 6)
    assert [event.attempts for event in played.events_of("taskSetAside")] == [3, 3]
    assert "task-without-end" not in played.warnings()


def grows_the_parser(n: int, tree: Tree) -> None:
    tree.append("parser.py", f"def rule_{n}(): return {n}\n")


def edits_the_parser(n: int, tree: Tree) -> None:
    tree.edit("parser.py", f"x = {'1' * (9 - n)}\n")


def formats_everything(n: int, tree: Tree) -> None:
    if n == 1:
        for name in ("a.py", "b.py", "c.py"):
            tree.write(name, "if x:\n\ty = 1\n")
    else:
        for name in ("a.py", "b.py", "c.py")[: n - 1]:
            tree.write(name, f"if x:\n    y = {n if n > 2 else 1}\n")
    tree.commit()


def normalises_line_ends(n: int, tree: Tree) -> None:
    if n == 1:
        tree.write("parser.py", b"x = 1\r\n")
    else:
        grows_the_parser(n, tree)
    tree.commit()


def makes_it_executable(n: int, tree: Tree) -> None:
    tree.modes["parser.py"] = "x"
    if n > 1:
        grows_the_parser(n, tree)
    tree.commit()


def reverts_once(n: int, tree: Tree) -> None:
    tree.write("parser.py", ["x = 2\n", "x = 1\n", "x = 3\n", "x = 4\n"][n - 1])
    tree.commit()


def works_long_on_one_task(n: int, tree: Tree) -> None:
    tree.write(f"part_{n}.py", f"part = {n}\n")
    tree.ticked = "".join(f"- [x] part {'abcdefghijklmnop'[one]}\n" for one in range(n))
    tree.commit()


def splits_its_task(n: int, tree: Tree) -> None:
    tree.append("parser.py", f"# {n}\n")
    tree.ticked = "".join(f"- [ ] part {'abcdefghijklmnop'[one]}\n" for one in range(n))
    tree.commit()


def grows_a_data_set(n: int, tree: Tree) -> None:
    tree.append("data/rows.csv", f"{n},{n * 0.5}\n")
    tree.commit()


def collects_examples(n: int, tree: Tree) -> None:
    tree.append("data/questions.txt", f"{['Who?', 'Where to?', 'Since when?', 'Why?'][n % 4]}\n")
    tree.commit()


def writes_fixtures(n: int, tree: Tree) -> None:
    tree.append("tests/fixtures/access.log", f"12:00:{n:02} GET / 200\n")
    tree.commit()


def writes_a_notebook(n: int, tree: Tree) -> None:
    tree.write("analysis.ipynb", f'{{"cells": [{n * chr(48)}], "execution_count": {n}}}\n')
    tree.commit()


def writes_tests_and_snapshots(n: int, tree: Tree) -> None:
    tree.append("tests/test_parser.py", f"def test_{n}(): pass\n")
    tree.write("tests/__snapshots__/all.snap", f"{n} tests\n")
    tree.commit()


def works_and_leaves_a_log(n: int, tree: Tree) -> None:
    logs(n, tree)
    grows_the_parser(n, tree)


def finishes_with_a_changelog(n: int, tree: Tree) -> None:
    tree.append("CHANGELOG.md", f"- Fix #{n}\n")
    tree.done = set(TASKS[:n])
    tree.commit()


def finishes_with_white_space(n: int, tree: Tree) -> None:
    blank_lines(n, tree)
    tree.done = set(TASKS[:n])
    tree.commit()


def finishes_by_reverting(n: int, tree: Tree) -> None:
    tree.write("parser.py", ["x = 2\n", "x = 1\n"][n - 1])
    tree.done = set(TASKS[:n])
    tree.commit()


def finishes_with_logs(n: int, tree: Tree) -> None:
    logs(n, tree)
    tree.done = set(TASKS[:n])


def bumps_a_version(n: int, tree: Tree) -> None:
    tree.write("parser.py", f"VERSION = {n}\n")
    tree.commit()


def refactors(n: int, tree: Tree) -> None:
    name = next(path for path in tree.files if "parser" in path)
    tree.move(name, f"{'abcd'[n - 1]}/parser.py")
    tree.commit()


HONEST: dict[str, tuple[Agent, int]] = {
    agent.__name__: (agent, n)
    for agent, n in (
        (grows_the_parser, 4),
        (edits_the_parser, 5),
        (formats_everything, 4),
        (normalises_line_ends, 4),
        (makes_it_executable, 4),
        (reverts_once, 4),
        (works_long_on_one_task, 14),
        (splits_its_task, 14),
        (grows_a_data_set, 6),
        (collects_examples, 4),
        (writes_fixtures, 6),
        (writes_a_notebook, 6),
        (writes_tests_and_snapshots, 6),
        (works_and_leaves_a_log, 5),
        (finishes_with_a_changelog, 2),
        (finishes_with_white_space, 2),
        (finishes_by_reverting, 2),
        (bumps_a_version, 6),
        (refactors, 4),
        (finishes_with_logs, 2),
    )
}


@pytest.mark.parametrize("name", HONEST)
@pytest.mark.parametrize("profile", [ProfileName.FIXPLAN, SPEC])
def test_an_honest_agent_makes_progress_each_time(name: str, profile: ProfileName) -> None:
    agent, n = HONEST[name]
    played = play(agent, profile, n)
    assert outcomes(played) == [True] * n, [
        event.evidence.why for event in played.events_of("evidenceGathered")
    ]
    assert not played.events_of("taskSetAside")
    assert "task-without-end" not in played.warnings() or n >= 5


@pytest.mark.parametrize(
    ("given", "quoted"),
    [
        ({}, ""),
        ({"RECOMMENDATION": "ask  the\nowner"}, "the agent's last words: ask the owner"),
        ({"WORK_SUMMARY": "wrote \u202eit\x1b[1m"}, "the agent's last words: wrote it[1m"),
        ({"failure": "exit 3", "errors": ("Error: x",)}, "last error: exit 3"),
        ({"errors": ("Error: x", "Error: y"), "closing_words": "z"}, "last error: Error: y"),
        ({"closing_words": "I could not find it."}, "the agent's last words: I could not find it."),
    ],
)
def test_the_agents_own_reason_is_quoted_on_one_line(given: dict[str, Any], quoted: str) -> None:
    fields = {key: given[key] for key in given if key.isupper()}
    report = Report(kind=ReportKind.RALPH_STATUS, fields=fields) if fields else None
    others = {key: given[key] for key in given if not key.isupper()}
    assert quoted_reason(IterationRead(report=report, **others)) == quoted
