"""Git in a tree of 10 000 files: the HEAD, one look at what has changed, views and a commit.

Ours against GitPython's ways and against a bare subprocess, in turns and in one tree. Our commit
is the loop's own, taken from the journal of a real run: git itself takes the paths and commits,
with hooks and signing, between two looks at the tree. GitPython's ``index.commit`` writes the
objects by itself, and knows neither.
"""

from __future__ import annotations

import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from unittest.mock import patch

import git as gitpython

from ralph_ls.engine.git.worktree_state import GitStateCache, LoopFiles, read_head, take_baseline
from ralph_ls.store.external.git_objects import file_at, files_between
from ralph_ls.store.layout import find_worktree
from tests.bench.figures import Figure
from tests.bench.runs import Place, between, place

N_FILES = 10_000
N_ROUNDS = 15
N_COMMITS = 12

LOOP = {".ralph/config.toml": 'commits = "loop"\n'}


def measure() -> Iterator[Figure]:
    """Medians in milliseconds, and what they are of the others' ways."""
    with place(LOOP, n_files=N_FILES) as here, patch.dict("os.environ", here.environment):
        repository = gitpython.Repo(here.project)
        yield _head(here, repository)
        yield _status(here, repository)
        yield from _views(here, repository)
        yield from _commit(here, repository)


def _head(here: Place, repository: gitpython.Repo) -> Figure:
    tree = find_worktree(here.project)
    ours, python, process = _medians(
        lambda: read_head(tree.git_dir, tree.common_dir),
        lambda: gitpython.Repo(here.project).head.commit.hexsha,
        lambda: _ask(here, "rev-parse", "HEAD"),
    )
    if read_head(tree.git_dir, tree.common_dir).commit != repository.head.commit.hexsha:
        raise RuntimeError("the HEAD that was read is not the one")
    return _figure("HEAD", ours, python, process, target="<= 0.2 ms")


def _status(here: Place, repository: gitpython.Repo) -> Figure:
    tree, cache = find_worktree(here.project), GitStateCache()
    (here.project / "src" / "part00" / "file0.txt").write_text("changed\n", encoding="utf-8")

    def look() -> object:
        return take_baseline(
            tree.root, tree.git_dir, tree.common_dir, own=LoopFiles(), cache=cache, by_content=True
        )

    ours, python, process = _medians(
        look,
        lambda: repository.git.status("--porcelain"),
        lambda: _ask(here, "status", "--porcelain"),
    )
    here.git("checkout", "-q", ".")
    return _figure("one look", ours, python, process, target="one status an iteration")


def _views(here: Place, repository: gitpython.Repo) -> Iterator[Figure]:
    """What viewers read of an iteration's commits: the choice of docs/adr/0054."""
    path = "src/part00/file0.txt"
    base = repository.head.commit.hexsha
    (here.project / path).write_text("changed\n", encoding="utf-8")
    here.git("commit", "-q", "-m", "a view", "--", path)
    head = repository.head.commit.hexsha

    def file_by_gitpython() -> object:
        with gitpython.Repo(here.project) as opened:
            return (opened.commit(head).tree / path).data_stream.read()

    def files_by_gitpython() -> object:
        with gitpython.Repo(here.project) as opened:
            return opened.commit(base).diff(opened.commit(head))

    file = _medians(
        lambda: file_at(here.project, head, path),
        file_by_gitpython,
        lambda: _ask(here, "show", f"{head}:{path}"),
    )
    yield _figure("a file at a commit", *file, target="bounded and supervised")
    files = _medians(
        lambda: files_between(here.project, base, head),
        files_by_gitpython,
        lambda: _ask(here, "diff", "--raw", "--numstat", "-z", base, head),
    )
    yield _figure("files between commits", *files, target="bounded and supervised")


def _commit(here: Place, repository: gitpython.Repo) -> Iterator[Figure]:
    work = here.project / "work.txt"

    def change() -> None:
        with work.open("a", encoding="utf-8") as file:
            file.write("again\n")

    def by_process() -> None:
        change()
        here.git("add", "work.txt")
        here.git("commit", "-q", "-m", "by a process")

    def by_git_command() -> None:
        change()
        repository.git.add("work.txt")
        repository.git.commit("-q", "-m", "by GitPython's git")

    def by_index() -> None:
        change()
        repository.index.add(["work.txt"])
        repository.index.commit("by GitPython's index")

    process, command, index = _medians(by_process, by_git_command, by_index)
    events = here.run(N_COMMITS, here.agent("date +%s%N > new-$(date +%s%N).txt\necho done"))
    ours = statistics.median(between(events, "evidenceGathered", "committed"))
    yield Figure(
        name="git: add and commit",
        figure=f"{ours:.0f} ms (median of {N_COMMITS}, with both looks)",
        ratio=f"{ours / process:.1f} x subprocess ({process:.0f} ms), "
        f"{ours / index:.1f} x index.commit ({index:.0f})",
        target=f"never index.commit; repo.git {command:.0f} ms",
    )


def _figure(name: str, ours: float, python: float, process: float, *, target: str) -> Figure:
    return Figure(
        name=f"git: {name}",
        figure=f"{ours:.2f} ms (median of {N_ROUNDS})",
        ratio=f"{process / ours:.1f} x faster than git ({process:.1f}), "
        f"{python / ours:.1f} x GitPython ({python:.1f})",
        target=target,
    )


def _ask(here: Place, *arguments: str) -> bytes:
    return subprocess.run(
        ["git", *arguments], cwd=here.project, check=True, stdout=subprocess.PIPE
    ).stdout


def _medians(*ways: Callable[[], object]) -> list[float]:
    """Milliseconds of each; they take turns, so that other load affects all alike."""
    times: list[list[float]] = [[] for _ in ways]
    for _ in range(N_ROUNDS):
        for way, taken in zip(ways, times, strict=True):
            before = time.perf_counter()
            way()
            taken.append((time.perf_counter() - before) * 1000)
    return [statistics.median(taken) for taken in times]
