"""Soak: long runs, long journals and long editing sessions, whose memory must not grow with them.

The quick form does the same with a fiftieth of the numbers. What is measured is printed as figures
of the table.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import psutil

from ralph_ls.protocol.run.events import EventBase, NoteAdded
from tests.editor.scripted_run import NOON, RUN, ScriptedRun, made_run
from tests.engine.project_builder import make_repository, write_agent
from tests.sweep import invariants
from tests.sweep.editors import Editor
from tests.sweep.engines import Engine, ralph
from tests.sweep.mutations import mutate_text
from tests.sweep.processes import wait_until
from tests.sweep.runner import Case, Scenario
from tests.sweep.violations import Kind, require

EVENTS = 100_000
EDITS = 10_000
ITERATIONS = 600
WARM = 0.25
"""After which part of a run memory is measured first."""
MB = 1_000_000

ENGINE_GROWTH = 30 * MB
VIEWER_GROWTH = 60 * MB
SERVER_GROWTH = 120 * MB
"""By how much each may grow after it is warm. Generous: the exact figures are for `make bench`."""


def run(case: Case) -> None:
    parts: list[Callable[[Case, float], None]] = [_engine, _server, _viewer]
    # The first three are the quick form; later numbers do the whole.
    scale = 0.02 if case.number < len(parts) else 1.0
    parts[case.number % len(parts)](case, scale)


def _engine(case: Case, scale: float) -> None:
    """Many iterations of one engine."""
    n_iterations = max(40, int(ITERATIONS * scale))
    repository = make_repository(case.folder / "repository")
    agent = write_agent(
        case.folder / "bin", 'cat >/dev/null; echo "did $RALPH_START" | tee -a work.txt'
    )
    settings = ["--agent-command", agent]
    around = {
        "RALPH_BREAKER_ENABLED": "false",
        "RALPH_PROGRESS_CHURN": "false",
        "RALPH_ATTEMPTS_UNFINISHED": "0",
    }
    engine = Engine(case, repository, "run", str(n_iterations), *settings, env=around)
    sizes: list[int] = []
    while engine.is_alive:
        if size := _resident(engine.pid):
            sizes.append(size)
        time.sleep(0.05)
    ended = engine.wait()
    require(ended.code == 1, Kind.WRONG, f"ended with {ended.code}: {ended.text[-500:]}")
    for journal in invariants.journals():
        invariants.journal_is_contiguous(journal)
    case.count("iterations", n_iterations)
    _judge(case, "engine", sizes, ENGINE_GROWTH)


def _server(case: Case, scale: float) -> None:
    """A language server that follows a journal while somebody types."""
    n_events, n_edits = int(EVENTS * scale), int(EDITS * scale)
    text = "# Plan\n\n" + "".join(f"- [ ] Task {number}\n" for number in range(200))
    repository = make_repository(case.folder / "repository", files={"@fix_plan.md": text})
    sizes: list[int] = []
    with made_run(repository) as made:
        editor = Editor(case, repository)
        editor.initialize(repository)
        uri = (repository / "@fix_plan.md").as_uri()
        document = {"uri": uri, "languageId": "markdown", "version": 0, "text": text}
        editor.notify("textDocument/didOpen", {"textDocument": document})
        editor.request("ralph/subscribe", {"workspace": repository.as_uri()})
        per_edit = n_events // n_edits
        for version in range(1, n_edits + 1):
            _append(made, per_edit)
            line = case.rng.randrange(3, 190)
            area = {"start": {"line": line, "character": 0}, "end": {"line": line, "character": 99}}
            words = mutate_text(f"- [ ] Task {line}", case.rng).replace("\n", " ")[:80]
            change = {"range": area, "text": words.encode("utf-8", "replace").decode()}
            given = {"textDocument": {"uri": uri, "version": version}, "contentChanges": [change]}
            editor.notify("textDocument/didChange", given)
            if version % 20 == 0:
                editor.request("textDocument/codeLens", {"textDocument": {"uri": uri}})
                sizes.append(editor.resident)
        case.count("events", n_events)
        case.count("edits", n_edits)
        editor.close()
    _judge(case, "server", sizes, SERVER_GROWTH)


def _viewer(case: Case, scale: float) -> None:
    """``ralph watch`` on a journal that grows."""
    n_events = int(EVENTS * scale)
    repository = make_repository(case.folder / "repository")
    sizes: list[int] = []
    with made_run(repository) as made:
        viewer = Engine(case, repository, "watch")
        for _ in range(100):
            _append(made, n_events // 100)
            if size := _resident(viewer.pid):
                sizes.append(size)
        case.count("events", n_events)
        is_shown = wait_until(lambda: f"user {made.seq}\n" in viewer.text, seconds=60)
        require(is_shown, Kind.DEAF, "the viewer does not show the last event")
        sizes.append(_resident(viewer.pid))
        made.end()
    viewer.wait()
    ralph(case, repository, "status", seconds=60)
    _judge(case, "viewer", sizes, VIEWER_GROWTH)


def _append(made: ScriptedRun, n_events: int) -> None:
    events: list[EventBase] = list(_notes(made, n_events))
    made.journal.append(events)


def _notes(made: ScriptedRun, n_events: int) -> Iterator[EventBase]:
    for _ in range(n_events):
        made.seq += 1
        yield NoteAdded(seq=made.seq, at=NOON, run=RUN, text="a note", by=f"user {made.seq}")


def _judge(case: Case, name: str, sizes: list[int], most: int) -> None:
    """Growth from when it was warm to its largest."""
    require(sizes, Kind.WRONG, f"the {name} was never measured")
    warm, largest = sizes[int(len(sizes) * WARM)], max(sizes)
    case.measure(f"MB of the {name}", largest // MB)
    grown = largest - warm
    require(
        grown < most, Kind.WRONG, f"the {name} grew by {grown / MB:.0f} MB to {largest / MB:.0f}"
    )


def _resident(pid: int) -> int:
    try:
        return int(psutil.Process(pid).memory_info().rss)
    except psutil.Error:
        return 0


SCENARIO = Scenario(name="soak", run=run, quick=range(3), share=1.0)
