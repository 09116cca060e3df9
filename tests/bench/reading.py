"""Reading an agent's stream for what it says: how fast, in how much memory, and what is left.

It is held against what one would do by hand, on the same bytes in the same run: ``grep`` for the
records, ``jq`` for the text of the result and ``sed`` for the block; every line by ``orjson`` where
it is installed, else by ``json``; and the agent's and its tools' lines typed by ``msgspec``. None
of these notifies a viewer or keeps account of calls; ours does all of it.

All times are of the processor, those of started programs added up: what else the machine does
then matters less.
"""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import msgspec

from ralph_ls.core.agent.decode.claude.records import ClaudeAssistantRecord, ClaudeUserRecord
from ralph_ls.core.agent.decode.dialects import decoder_for
from ralph_ls.core.agent.output_parser import parse_result
from ralph_ls.core.agent.result import Decoder
from ralph_ls.protocol.config.agent_catalog import Dialect
from tests.bench.figures import Figure
from tests.bench.more_streams import gemini_stream, opencode_stream, qwen_stream
from tests.bench.streams import (
    MIXES,
    SESSION,
    Mix,
    claude_stream,
    codex_stream,
    in_pieces,
    plain_stream,
)

N_BYTES = 50_000_000
N_BYTES_LONG = 1_000_000_000
N_ROUNDS = 3

PIECE = 1 << 16
"""Bytes; what a pipe gives at once."""

BY_HAND = (
    """grep '^{' "$1" | jq -r 'select(.type == "result").result'"""
    " | sed -n '/---RALPH_STATUS---/,/---END_RALPH_STATUS---/p'"
)

KINDS = ((b'{"type":"assistant"', ClaudeAssistantRecord), (b'{"type":"user"', ClaudeUserRecord))

MORE = (Dialect.GEMINI, Dialect.QWEN, Dialect.OPENCODE)

TARGET = ">= 400 MB/s"


def measure() -> Iterator[Figure]:
    """Each mix of ``claude``, the other dialects, memory over 1 GB, and what is left at the end."""
    for mix in MIXES:
        yield _of_mix(mix)
    for dialect in (Dialect.CODEX, Dialect.TEXT, *MORE):
        yield _of_dialect(dialect)
    for dialect in (Dialect.CLAUDE, Dialect.CODEX, Dialect.TEXT):
        yield _of_memory(dialect)
    for dialect in (Dialect.CLAUDE, Dialect.CODEX, Dialect.TEXT, *MORE):
        yield _of_the_end(dialect)


def _of_mix(mix: Mix) -> Figure:
    pieces = list(in_pieces(claude_stream(mix, N_BYTES), PIECE))
    whole = b"".join(pieces)
    name, loads = _json_reader()
    ways: dict[str, Callable[[], object]] = {
        "ours": lambda: _decoded(Dialect.CLAUDE, pieces),
        name: lambda: _read_every_line(whole, loads),
        "msgspec": lambda: _read_typed(whole),
    }
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as file:
        if all(map(shutil.which, ("grep", "jq", "sed"))):
            Path(file.name).write_bytes(whole)
            ways["grep+jq+sed"] = lambda: _read_by_hand(file.name)
        seconds = _in_turns(ways)
    ours = seconds.pop("ours")
    return Figure(
        name=f"reading: {mix.name}",
        figure=f"{_rate(pieces, ours)}, {len(whole) // len(whole.splitlines()):,} B a line",
        ratio=", ".join(f"{other / ours:.2f} x {way}" for way, other in seconds.items()),
        target=TARGET,
    )


def _of_dialect(dialect: Dialect) -> Figure:
    pieces = _pieces(dialect)
    seconds = _in_turns(
        {
            "ours": lambda: _decoded(dialect, pieces),
            "bare": lambda: b"".join(pieces).decode(),
        }
    )
    return Figure(
        name=f"reading: {dialect.value}",
        figure=_rate(pieces, seconds["ours"]),
        ratio=f"{seconds['ours'] / seconds['bare']:.1f} x the time of decoding UTF-8 at once",
        target=TARGET,
    )


def _of_memory(dialect: Dialect) -> Figure:
    """The stream is made while it is read, so only what the decoder holds is seen."""
    peaks = []
    for n_bytes in (N_BYTES_LONG // 10, N_BYTES_LONG):
        decoder = decoder_for(dialect)
        pieces = in_pieces(_stream(dialect, n_bytes), PIECE)
        tracemalloc.start(1)
        for piece in pieces:
            decoder.feed(piece)
        peaks.append(tracemalloc.get_traced_memory()[1] / 1e6)
        tracemalloc.stop()
    return Figure(
        name=f"reading: 1 GB of {dialect.value}",
        figure=f"{peaks[1]:.1f} MB at most",
        ratio=f"{peaks[1] / peaks[0]:.2f} x what 100 MB take",
        target="bounded",
    )


def _of_the_end(dialect: Dialect) -> Figure:
    """What has still to be done when the last byte has come."""
    pieces = _pieces(dialect)
    ends, readings = [], []
    for _ in range(N_ROUNDS):
        decoder = _fed(dialect, pieces)
        before = time.process_time()
        decoder.finish()
        final = decoder.final()
        between = time.process_time()
        reading = parse_result(final)
        readings.append(time.process_time() - between)
        ends.append(between - before)
        if reading.report is None:
            raise RuntimeError(f"the report at the end of the {dialect.value} stream was not seen")
    end, read = min(ends) * 1000, min(readings) * 1000
    return Figure(
        name=f"reading: left ({dialect.value})",
        figure=f"{end + read:.2f} ms",
        ratio=f"decoder {end:.2f} ms, read_final {read:.2f} ms of {len(final.text):,} characters",
        target="<= 1 ms",
    )


def _stream(dialect: Dialect, n_bytes: int) -> Iterator[bytes]:
    match dialect:
        case Dialect.CLAUDE:
            return claude_stream(SESSION, n_bytes)
        case Dialect.CODEX:
            return codex_stream(SESSION, n_bytes)
        case Dialect.GEMINI:
            return gemini_stream(SESSION, n_bytes)
        case Dialect.QWEN:
            return qwen_stream(SESSION, n_bytes)
        case Dialect.OPENCODE:
            return opencode_stream(SESSION, n_bytes)
        case _:
            return plain_stream(n_bytes)


def _pieces(dialect: Dialect) -> list[bytes]:
    return list(in_pieces(_stream(dialect, N_BYTES), PIECE))


def _fed(dialect: Dialect, pieces: Iterable[bytes]) -> Decoder:
    decoder = decoder_for(dialect)
    for piece in pieces:
        decoder.feed(piece)
    return decoder


def _decoded(dialect: Dialect, pieces: Iterable[bytes]) -> None:
    decoder = _fed(dialect, pieces)
    decoder.finish()
    decoder.final()


def _json_reader() -> tuple[str, Callable[[bytes], object]]:
    """The fastest general reader that is there; the project itself needs none."""
    try:
        return "orjson", importlib.import_module("orjson").loads
    except ModuleNotFoundError:
        return "json", json.loads


def _read_every_line(whole: bytes, loads: Callable[[bytes], object]) -> None:
    for line in whole.splitlines():
        loads(line)


def _read_typed(whole: bytes) -> None:
    decoders = [(beginning, msgspec.json.Decoder(kind)) for beginning, kind in KINDS]
    for line in whole.split(b"\n"):
        for beginning, decoder in decoders:
            if line.startswith(beginning):
                decoder.decode(line)


def _read_by_hand(path: str) -> None:
    command = ["sh", "-c", BY_HAND, "sh", path]
    found = subprocess.run(command, check=True, capture_output=True).stdout
    if b"STATUS" not in found:
        raise RuntimeError("grep, jq and sed did not find the block")


def _in_turns(ways: dict[str, Callable[[], object]]) -> dict[str, float]:
    """The best of some rounds, in which all take turns: other load affects all alike."""
    rounds = [{name: _seconds(way, 1) for name, way in ways.items()} for _ in range(N_ROUNDS)]
    return {name: min(found[name] for found in rounds) for name in ways}


def _seconds(work: Callable[[], object], n_rounds: int = N_ROUNDS) -> float:
    times = []
    for _ in range(n_rounds):
        before = _processor()
        work()
        times.append(_processor() - before)
    return min(times)


def _processor() -> float:
    """Seconds that this process and those that it started have had of the processor."""
    found = os.times()
    return time.process_time() + found.children_user + found.children_system


def _rate(pieces: Iterable[bytes], seconds: float) -> str:
    return f"{sum(map(len, pieces)) / seconds / 1e6:,.0f} MB/s"
