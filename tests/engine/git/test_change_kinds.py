"""Of what kind a change is, with a real repository: the same files again, output, white space."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

import pytest

from ralph_ls.core.loop.evidence.progress import Changes
from ralph_ls.engine.git import changes
from ralph_ls.engine.git.changes import ChangeContext, ChangeMemory, with_kinds
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import Again, Evidence
from tests.engine.git.repository_builder import Repository

OUTPUT, EDITED, SAME = Again.OUTPUT, Again.EDITED, Again.SAME

Change = Callable[[Repository, int], object]


@dataclass
class Iterations:
    """Some iterations in one repository, and what is remembered between them."""

    repository: Repository
    memory: ChangeMemory = field(default_factory=ChangeMemory)
    run: RunState = field(default_factory=RunState)
    number: int = 0

    def play(
        self, change: Change, *, edited: tuple[str, ...] = (), finished: bool = False
    ) -> Changes:
        self.number += 1
        before = self.repository.look()
        change(self.repository, self.number)
        found = self.repository.since(before)
        known = ChangeContext(
            iteration=self.number,
            before=before,
            edited=edited,
            finished=finished,
            is_committed=bool(found.commits),
        )
        return with_kinds(self.repository.root, found, self.run, self.memory, known)


@pytest.fixture
def iterations(repository: Repository) -> Iterations:
    return Iterations(repository)


def append(name: str, text: str) -> Change:
    def change(repository: Repository, number: int) -> None:
        path = repository.root / name
        path.parent.mkdir(exist_ok=True, parents=True)
        with path.open("a", encoding="utf-8", newline="") as file:
            file.write(text.format(n=number))

    return change


def write(name: str, text: str) -> Change:
    return lambda repository, number: repository.write(name, text.format(n=number))


def committed(change: Change) -> Change:
    def both(repository: Repository, number: int) -> None:
        change(repository, number)
        repository.commit()

    return both


def remove(name: str) -> Change:
    return lambda repository, _number: (repository.root / name).unlink()


def flip_mode(repository: Repository, number: int) -> None:
    (repository.root / "a.txt").chmod(0o755 if number % 2 else 0o644)


REPEATED: dict[str, tuple[Change, Again]] = {
    "a log": (append("app.log", "{n}\n"), OUTPUT),
    "a log that is committed": (committed(append("app.log", "{n}\n")), OUTPUT),
    "another log each time": (lambda it, n: it.write(f"out/run-{n}.log"), OUTPUT),
    "a note": (append("notes.txt", "attempt {n}\n"), OUTPUT),
    "a note that is committed": (committed(append("notes.txt", "attempt {n}\n")), OUTPUT),
    "a note in a tracked file": (append("a.txt", "attempt {n}\n"), OUTPUT),
    "a time that is committed": (committed(write("stamp", "at 12:00:0{n}\n")), OUTPUT),
    "a time that is not": (write("stamp", "at 12:00:0{n}\n"), SAME),
    "a binary": (write("state", "\0{n}"), OUTPUT),
    "code that grows": (append("a.py", "def f{n}(): ...\n"), EDITED),
    "code that is changed": (write("a.py", "x = {n}\n"), SAME),
    "code that is committed": (committed(write("a.py", "x = {n}\n")), SAME),
    "a name with a newline": (committed(write("a\nb", "try {n}\n")), SAME),
}


@pytest.mark.parametrize("name", REPEATED)
def test_the_same_again(iterations: Iterations, name: str) -> None:
    change, kind = REPEATED[name]
    found = [iterations.play(change) for _ in range(4)]
    assert found[0].again is None
    assert {one.again for one in found[2:]} == {kind}


def test_another_file_is_no_repetition(iterations: Iterations) -> None:
    iterations.play(write("a.py", "x = {n}\n"))
    assert iterations.play(write("b.py", "x = {n}\n")).again is None


def test_what_finished_a_task_is_not_looked_at(iterations: Iterations) -> None:
    for _ in range(3):
        found = iterations.play(committed(append("app.log", "{n}\n")), finished=True)
        assert (found.again, found.cosmetic) == (None, None)


def test_the_agents_own_stream_reports_an_edit(iterations: Iterations) -> None:
    iterations.play(write("a.py", "x = {n}\n"))
    assert iterations.play(write("a.py", "x = {n}\n"), edited=("a.py",)).again is EDITED


def test_another_engine_knows_what_changed_from_the_journal(iterations: Iterations) -> None:
    evidence = Evidence(files=1, paths=("app.log",))
    iterations.number = 7
    iterations.run = RunState(evidence=evidence, evidence_start=7)
    assert iterations.play(append("app.log", "{n}\n")).again is OUTPUT


COSMETIC: dict[str, Change] = {
    "a blank line": committed(append("a.txt", "\n")),
    "carriage returns": committed(write("a.txt", "a.txt begin\r\n")),
    "an indent": committed(write("a.txt", "  a.txt  begin\n")),
    "a mode": committed(flip_mode),
}
REAL: dict[str, Change] = {
    "a word": committed(append("a.txt", "word\n")),
    "a file": committed(write("new.txt", "\n")),
    "a file that is gone": committed(remove("a.txt")),
    "a blank line that is in no commit": append("a.txt", "\n"),
    "a large file": committed(append("a.txt", "\n" * 2000)),
}


@pytest.mark.parametrize("name", COSMETIC)
def test_a_commit_of_white_space_and_modes(iterations: Iterations, name: str) -> None:
    assert iterations.play(COSMETIC[name]).cosmetic


@pytest.mark.parametrize("name", REAL)
def test_a_commit_of_something(iterations: Iterations, name: str) -> None:
    with mock.patch.object(changes, "FILE_BYTES", 1000):
        assert iterations.play(REAL[name]).cosmetic is None


def test_a_file_that_was_dirty_before_is_not_compared_with_its_commit(
    iterations: Iterations,
) -> None:
    iterations.repository.write("a.txt", "by hand\n")
    assert iterations.play(committed(append("a.txt", "\n"))).cosmetic is None


def test_more_files_than_can_be_compared_are_no_repetition_of_output(
    iterations: Iterations,
) -> None:
    with mock.patch.object(changes, "FILES_LIMIT", 1):
        both: Change = lambda it, n: (  # noqa: E731
            append("x.txt", "try {n}\n")(it, n),
            append("y.txt", "try {n}\n")(it, n),
        )
        iterations.play(both)
        assert iterations.play(both).again is SAME


def test_without_a_commit_and_with_a_broken_repository_nothing_is_reported(
    iterations: Iterations, empty: Repository, tmp_path: Path
) -> None:
    assert changes._committed(empty.root, None, ["a"]) == {}
    assert changes._committed(tmp_path / "nowhere", "1" * 40, ["a"]) == {}
    assert changes._committed(iterations.repository.root, "HEAD", ["dir", "none"]) == {}
