"""From a line that an agent prints to the editor that receives it.

The bytes are appended to the iteration's files as an engine does, and ``ralph-ls`` notifies a
client over its pipes. It is held against a server as pygls makes it, which sends each line by
itself, as a log message where it is plain text, since that is what LSP has for lines.
"""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from tests.bench import client
from tests.bench.client import Client
from tests.bench.figures import Figure
from tests.bench.workspace import run_in_a_scratch_home
from tests.editor.scripted_run import ScriptedRun, message

N_LINES = 100_000
N_STOCK_LINES = 20_000
N_ROUNDS = 3
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
    with run_in_a_scratch_home() as (root, run), client.ours() as editor:
        editor.initialize(root)
        editor.request("ralph/subscribe", {"output": True, "messages": True})
        run.agent()
        editor.until("ralph/event")
        for way in _ways(run):
            rates = [(_rate(editor, way), _stock_rate(root, way)) for _ in range(N_ROUNDS)]
            ours, stock = (statistics.median(each) for each in zip(*rates, strict=True))
            yield Figure(
                name=f"lines: {way.name}",
                figure=f"{ours:,.0f} lines/s",
                ratio=f"{ours / stock:.1f} x pygls' default ({stock:,.0f} lines/s)",
                target=">= 100,000 lines/s, >= 10 x",
            )
        for way in _ways(run):
            waits = _waits(editor, way)
            yield Figure(
                name=f"lines: one ({way.name})",
                figure=f"{statistics.median(waits):.1f} ms (median of {N_SINGLE})",
                ratio=f"slowest of 20: {statistics.quantiles(waits, n=20)[-1]:.1f} ms",
                target="<= 20 ms",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Way:
    """One of the two ways in which an agent's lines come."""

    name: str
    make: Callable[[int], bytes]
    """The line with this number, and its end."""
    append: Callable[[bytes], None]
    """Writes lines as an engine does."""
    count: Callable[[_Params], int]
    """How many lines a notification of ours holds."""
    stock_method: str
    """What the stock server sends a line with."""


def _ways(run: ScriptedRun) -> tuple[_Way, _Way]:
    output = _Way(
        name="output",
        make=lambda number: b"%b\n" % _words(number),
        append=run.say,
        count=lambda params: params.text.count("\n"),
        stock_method="window/logMessage",
    )
    messages = _Way(
        name="messages",
        make=lambda number: message(_words(number).decode()) + b"\n",
        append=lambda lines: run.speak(lines.removesuffix(b"\n")),
        count=lambda params: len(params.messages),
        stock_method="bench/message",
    )
    return output, messages


def _words(number: int) -> bytes:
    return b"The agent has looked at file %06d and found nothing to mend in it." % number


def _rate(editor: Client, way: _Way) -> float:
    chunks = [
        b"".join(way.make(number) for number in range(start, start + CHUNK_LINES))
        for start in range(0, N_LINES, CHUNK_LINES)
    ]
    before = time.perf_counter()
    n_written = n_read = 0
    while n_read < N_LINES:
        while n_written < min(N_LINES, n_read + WINDOW):
            way.append(chunks[n_written // CHUNK_LINES])
            n_written += CHUNK_LINES
        n_read += way.count(_read(editor, f"ralph/{way.name}"))
    return N_LINES / (time.perf_counter() - before)


def _waits(editor: Client, way: _Way) -> list[float]:
    """Milliseconds from the write of each lone line to its notification."""
    waits = []
    for number in range(N_SINGLE):
        DONE.wait(PAUSE)
        before = time.perf_counter()
        way.append(way.make(number))
        _read(editor, f"ralph/{way.name}")
        waits.append((time.perf_counter() - before) * 1000)
    return waits


def _read(editor: Client, method: str) -> _Params:
    """The next notification of the method; raises where the server left some lines out."""
    while True:
        told = _decoder.decode(editor.receive())
        if told.method != method or told.params is None:
            continue
        if told.params.skipped:
            raise RuntimeError(f"{told.params.skipped} of {method} were left out for a slow client")
        return told.params


def _stock_rate(root: Path, way: _Way) -> float:
    path = root / "lines"
    path.write_bytes(b"".join(way.make(number) for number in range(N_STOCK_LINES)))
    with client.stock() as editor:
        editor.initialize(root)
        before = time.perf_counter()
        editor.notify(f"bench/{way.name}", {"path": str(path)})
        for _ in range(N_STOCK_LINES):
            _read(editor, way.stock_method)
        return N_STOCK_LINES / (time.perf_counter() - before)
