"""From a line that an agent prints to the editor that is told of it.

The bytes are appended to the iteration's files as an engine does, and ``ralph-ls`` tells a client
over its pipes. It is held against a server as pygls makes it, which sends each line by itself, as
a log message, since that is what LSP has for lines.
"""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from tests.bench import client
from tests.bench.client import Client
from tests.bench.figures import Figure
from tests.bench.workspace import run_in_a_scratch_home
from tests.editor.made_run import MadeRun, message

N_LINES = 100_000
N_STOCK_LINES = 20_000
N_SINGLE = 100
PAUSE = 0.05
"""Seconds between two single lines: longer than any frame."""

CHUNK_LINES = 1_000
WINDOW = 20_000
"""Lines that may be on their way: more wait in the server than it keeps for a slow client."""

DONE = threading.Event()


class _Params(msgspec.Struct):
    text: str = ""
    messages: list[msgspec.Raw] = []
    skipped: int = 0


class _Notification(msgspec.Struct):
    method: str = ""
    params: _Params | None = None


_decoder = msgspec.json.Decoder(_Notification)


def measure() -> Iterator[Figure]:
    """Lines a second of output and of messages, then what a lone line waits."""
    stock_rate = _stock_rate()
    with run_in_a_scratch_home() as (root, run), client.ours() as editor:
        editor.initialize(root)
        editor.request("ralph/subscribe", {"output": True, "messages": True})
        run.agent()
        editor.until("ralph/event")
        for name, make, append, count in _ways(run):
            rate = _rate(editor, f"ralph/{name}", make, append, count)
            yield Figure(
                name=f"lines: {name}",
                figure=f"{rate:,.0f} lines/s ({N_LINES:,} lines)",
                ratio=f"{rate / stock_rate:.1f} x pygls' default ({stock_rate:,.0f} lines/s)",
                target=">= 100,000 lines/s, >= 10 x",
            )
        for name, make, append, count in _ways(run):
            waits = _waits(editor, f"ralph/{name}", make, append, count)
            yield Figure(
                name=f"lines: one ({name})",
                figure=f"{statistics.median(waits):.1f} ms (median of {N_SINGLE})",
                ratio=f"slowest of 20: {statistics.quantiles(waits, n=20)[-1]:.1f} ms",
                target="<= 20 ms",
            )


Append = Callable[[bytes], None]
Make = Callable[[int], bytes]
Count = Callable[[_Params], int]


def _ways(run: MadeRun) -> list[tuple[str, Make, Append, Count]]:
    """What a line is, how lines are written, and how they are counted when they come."""

    def speak(lines: bytes) -> None:
        run.speak(lines.removesuffix(b"\n"))

    return [
        ("output", lambda n: b"%b\n" % _words(n), run.say, lambda params: params.text.count("\n")),
        (
            "messages",
            lambda n: message(_words(n).decode()) + b"\n",
            speak,
            lambda params: len(params.messages),
        ),
    ]


def _words(number: int) -> bytes:
    return b"The agent has looked at file %06d and found nothing to mend in it." % number


def _rate(editor: Client, method: str, make: Make, append: Append, count: Count) -> float:
    chunks = [
        b"".join(make(number) for number in range(start, start + CHUNK_LINES))
        for start in range(0, N_LINES, CHUNK_LINES)
    ]
    before = time.perf_counter()
    n_written = n_read = 0
    while n_read < N_LINES:
        while n_written < min(N_LINES, n_read + WINDOW):
            append(chunks[n_written // CHUNK_LINES])
            n_written += CHUNK_LINES
        n_read += _read(editor, method, count)
    return N_LINES / (time.perf_counter() - before)


def _waits(editor: Client, method: str, make: Make, append: Append, count: Count) -> list[float]:
    """Milliseconds from the write of each lone line to its notification."""
    waits = []
    for number in range(N_SINGLE):
        DONE.wait(PAUSE)
        before = time.perf_counter()
        append(make(number))
        _read(editor, method, count)
        waits.append((time.perf_counter() - before) * 1000)
    return waits


def _read(editor: Client, method: str, count: Count) -> int:
    """How many lines the next notification holds; raises where the server left some out."""
    while True:
        told = _decoder.decode(editor.receive())
        if told.method != method or told.params is None:
            continue
        if told.params.skipped:
            raise RuntimeError(f"{told.params.skipped} of {method} were left out for a slow client")
        return count(told.params)


def _stock_rate() -> float:
    with run_in_a_scratch_home() as (root, _), client.stock() as editor:
        path = Path(root, "lines")
        path.write_bytes(b"".join(b"%b\n" % _words(number) for number in range(N_STOCK_LINES)))
        editor.initialize(root)
        before = time.perf_counter()
        editor.notify("bench/tell", {"path": str(path)})
        for _ in range(N_STOCK_LINES):
            _read(editor, "window/logMessage", lambda params: 1)
        return N_STOCK_LINES / (time.perf_counter() - before)
