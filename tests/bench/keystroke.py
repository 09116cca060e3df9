"""From a key that is typed in a plan to its diagnostics, with few remarks in it and with many.

Each key begins or takes back a line at the top, so that every remark moves and is published
again. The pause between two keys is that of a human typist; a server that rests after its work is
done by then.
"""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Iterator

from tests.bench import client
from tests.bench.client import Client
from tests.bench.figures import Figure
from tests.bench.workspace import run_in_a_scratch_home

SIZES = (1_000, 10_000)
N_KEYS = 20
PAUSE = 0.25
WRONG_EVERY = 20
"""Of how many tasks one is written wrongly, where there are many remarks."""

PUBLISHED = "textDocument/publishDiagnostics"
DONE = threading.Event()


def measure() -> Iterator[Figure]:
    """Medians in milliseconds, for each size with one remark and with many."""
    for n_tasks in SIZES:
        few, _ = _milliseconds(n_tasks, n_tasks)
        many, n_remarks = _milliseconds(n_tasks, WRONG_EVERY)
        yield Figure(
            name=f"keystroke: {n_tasks:,} tasks",
            figure=f"{few:.1f} ms (median of {N_KEYS})",
            ratio=f"with {n_remarks:,} remarks: {many:.1f} ms",
            target="none",
        )


def _milliseconds(n_tasks: int, wrong_every: int) -> tuple[float, int]:
    """The median, and how many remarks there were."""
    plan = _plan(n_tasks, wrong_every)
    with run_in_a_scratch_home(plan) as (root, _), client.ours() as editor:
        editor.initialize(root)
        uri = (root / "@fix_plan.md").as_uri()
        document = {"uri": uri, "languageId": "markdown", "version": 1, "text": plan}
        editor.notify("textDocument/didOpen", {"textDocument": document})
        told = _published(editor, uri)
        waits = []
        for version in range(2, N_KEYS + 2):
            DONE.wait(PAUSE)
            before = time.perf_counter()
            editor.notify("textDocument/didChange", _key(uri, version))
            told = _published(editor, uri, version)
            waits.append((time.perf_counter() - before) * 1000)
        return statistics.median(waits), told


def _published(editor: Client, uri: str, version: int = 1) -> int:
    """How many remarks were published for this version of the document."""
    while True:
        params = editor.until(PUBLISHED)
        if params["uri"] == uri and params.get("version") == version:
            return len(params["diagnostics"])


def _key(uri: str, version: int) -> dict[str, object]:
    """A line more at the top, or one less."""
    more = version % 2 == 0
    position = {"line": 0, "character": 0}
    end = position if more else {"line": 1, "character": 0}
    change = {"range": {"start": position, "end": end}, "text": "\n" if more else ""}
    return {"textDocument": {"uri": uri, "version": version}, "contentChanges": [change]}


def _plan(n_tasks: int, wrong_every: int) -> str:
    boxes = ("[&]" if number % wrong_every == 0 else "[ ]" for number in range(1, n_tasks + 1))
    tasks = (f"- {box} Mend part {number} of it\n" for number, box in enumerate(boxes, start=1))
    return "# Plan\n\n## High Priority\n\n" + "".join(tasks)
