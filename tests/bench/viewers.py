"""Opening a run of 10 000 iterations: how long until it is seen, and in how much memory.

The journal has 100 000 events. Each viewer takes its turn at a run of one iteration as well, which
is the bare process. The run is active, and its engine has left what it leaves: a state at the last
iteration's end, and what viewers show as it was somewhat earlier. Without these the viewers read
all of the journal.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from ralph_ls.core.loop.fold import fold
from ralph_ls.engine.run.effect_runner import EVERY
from ralph_ls.store.layout import RunFiles
from ralph_ls.store.run.journal import each_event, last_line
from ralph_ls.store.run.run_view import read_view, save_view
from ralph_ls.store.run.runs import save_state
from tests.bench import client
from tests.bench.figures import Figure, environment, resident
from tests.bench.replay import KINDS, lines_of
from tests.bench.runs import COMMAND
from tests.bench.workspace import run_in_a_scratch_home

MANY = 10_000
BEGUN = 3
"""Lines of the iteration that is open."""
MB = 1_000_000
N_ROUNDS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """One viewer that shows a run."""

    seconds: float
    size: int
    """Bytes of its memory then."""


def measure() -> Iterator[Figure]:
    """Milliseconds and megabytes of each viewer."""
    for name, open_it in VIEWERS.items():
        yield _figure(name, open_it, with_snapshots=True, target=TARGETS.get(name, "none"))
    for name in TARGETS:
        yield _figure(f"{name}, no snapshot", VIEWERS[name], with_snapshots=False, target="none")
    yield _resume()


def _figure(
    name: str, open_it: Callable[[Path], Opened], *, with_snapshots: bool, target: str
) -> Figure:
    bare = _open(1, open_it, with_snapshots=with_snapshots)
    long = _open(MANY, open_it, with_snapshots=with_snapshots)
    more = (long.size - bare.size) / MB
    return Figure(
        name=f"viewers: {name}",
        figure=f"{long.seconds * 1000:.0f} ms, {long.size / MB:.0f} MB",
        ratio=f"bare {bare.seconds * 1000:.0f} ms, {more:+.0f} MB",
        target=target,
    )


def _open(n_iterations: int, open_it: Callable[[Path], Opened], *, with_snapshots: bool) -> Opened:
    """The best of some rounds, each in a new process."""
    with run_in_a_scratch_home() as (root, run):
        lines = lines_of(n_iterations + 1)
        with run.files.journal.open("w", encoding="utf-8") as journal:
            journal.writelines(islice(lines, n_iterations * len(KINDS)))
            journal.flush()
            if with_snapshots:
                _leave_snapshots(run.files)
            journal.writelines(islice(lines, BEGUN))
        rounds = [open_it(root) for _ in range(N_ROUNDS)]
    return min(rounds, key=lambda one: one.seconds)


def _leave_snapshots(files: RunFiles) -> None:
    """As an engine leaves them: the second one is due again in a moment."""
    size = files.journal.stat().st_size
    save_state(files, fold(each_event(files.journal)), offset=size)
    if size > EVERY:
        save_view(files, read_view(files, until=last_line(files.journal, size - EVERY)))


def _editor(root: Path) -> Opened:
    """Until the panel's rows and the plan's lenses are there."""
    plan = (root / "@fix_plan.md").as_uri()
    document = {"uri": plan, "languageId": "markdown", "version": 1, "text": "# Plan\n"}
    with client.ours() as editor:
        editor.initialize(root)
        before = time.perf_counter()
        state = editor.request("ralph/state", {})
        editor.notify("textDocument/didOpen", {"textDocument": document})
        editor.request("textDocument/codeLens", {"textDocument": {"uri": plan}})
        seconds = time.perf_counter() - before
        if not state["panel"]["rows"]:
            raise RuntimeError("the panel shows no iteration")
        return Opened(seconds=seconds, size=resident(editor.pid))


def _watch(root: Path) -> Opened:
    """Until the newest iteration is shown; it would continue from there."""
    before = time.perf_counter()
    with _ralph(root, "watch") as viewer:
        assert viewer.stdout is not None
        for line in viewer.stdout:
            if b"iteration" in line.lower():
                break
        seconds = time.perf_counter() - before
        size = resident(viewer.pid)
        viewer.kill()
    return Opened(seconds=seconds, size=size)


def _whole(*words: str) -> Callable[[Path], Opened]:
    """A command that comes to its end; its memory is what it had at most."""

    def run(root: Path) -> Opened:
        before = time.perf_counter()
        process = _ralph(root, *words, stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise RuntimeError(f"ralph {' '.join(words)} ended with {process.returncode}")
        return Opened(seconds=time.perf_counter() - before, size=used.ru_maxrss * 1024)

    return run


def _ralph(root: Path, *words: str, stdout: int = subprocess.PIPE) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*COMMAND, *words],
        cwd=root,
        env={**environment(), "PYTHONUNBUFFERED": "1"},
        stdout=stdout,
        stderr=subprocess.DEVNULL,
    )


def _resume() -> Figure:
    """What ``ralph run --resume`` reads of the journal, which it alone believes."""
    with run_in_a_scratch_home() as (_, run):
        with run.files.journal.open("w", encoding="utf-8") as journal:
            journal.writelines(lines_of(MANY))
        lines = run.files.journal.read_bytes().splitlines()
        before = time.perf_counter()
        fold(each_event(run.files.journal))
        seconds = time.perf_counter() - before
        before = time.perf_counter()
        for line in lines:
            json.loads(line)
        bare = time.perf_counter() - before
    return Figure(
        name="viewers: the engine, resumed",
        figure=f"{seconds * 1000:.0f} ms for the journal",
        ratio=f"{seconds / bare:.1f} x json.loads",
        target="none",
    )


VIEWERS: dict[str, Callable[[Path], Opened]] = {
    "the editor": _editor,
    "ralph watch": _watch,
    "ralph status": _whole("status"),
    "ralph runs": _whole("stats"),
    "ralph export": _whole("export", "--format", "csv"),
}
TARGETS = {"the editor": "<= 500 ms, +40 MB", "ralph watch": "<= 500 ms, +40 MB"}
