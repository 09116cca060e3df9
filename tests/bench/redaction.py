"""Taking secrets out of what an agent prints: plain text, and a stream of JSON records.

Measured in CPU time, beside a plain search for one string of the same length as a token.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from ralph_ls.core.redaction.redactor import Redactor, StreamRedactor
from tests.bench.figures import Figure

CHUNK = 64 * 1024
SIZE = 4 << 20
TIMES = 9
TARGET = 400
"""MB a second."""

SECRETS = {
    f"TOKEN_{number}": hashlib.sha256(b"secret %d" % number).hexdigest()[:40] for number in range(8)
}


def measure() -> Iterator[Figure]:
    """One line a kind of output."""
    redactor = Redactor(SECRETS)
    for name, data in (("text", _text()), ("json records", _records())):
        chunks = [data[at : at + CHUNK] for at in range(0, len(data), CHUNK)]
        feed = StreamRedactor(redactor).feed
        ours = _rate(feed, chunks)
        plain = _rate(lambda chunk: b"wJalrXUtnFEMI/K7MDENGbPxRfiCYkey" in chunk, chunks)
        yield Figure(
            name=f"redaction: {name}",
            figure=f"{ours:.0f} MB/s, {len(SECRETS)} secrets",
            ratio=f"{plain / ours:.1f} x one plain search",
            target=f">= {TARGET} MB/s",
        )


def _rate(work: Callable[[bytes], object], chunks: list[bytes]) -> float:
    """MB a second of CPU time, the best of several."""
    best = float("inf")
    for _ in range(TIMES):
        begun = time.process_time()
        for chunk in chunks:
            work(chunk)
        best = min(best, time.process_time() - begun)
    return sum(map(len, chunks)) / best / 1e6


def _text() -> bytes:
    """What an agent that shows sources prints: sources that no change of ours changes."""
    sources = sorted(Path(asyncio.__file__).parent.rglob("*.py"))
    text = b"".join(path.read_bytes() for path in sources)
    return (text * (SIZE // len(text) + 1))[:SIZE]


def _records() -> bytes:
    """What an agent that prints JSON lines does, with ids, hashes and a signature now and then."""
    lines = []
    for number in range(SIZE // 400):
        digest = hashlib.sha256(b"%d" % number).hexdigest()
        uuid = f"{digest[:8]}-{digest[8:12]}-4{digest[13:16]}-a{digest[17:20]}-{digest[20:32]}"
        text = f"I changed src/module_{number}.py and ran the tests:\n  12 passed in 0.4{number}s\n"
        content = {"type": "tool_result", "tool_use_id": f"toolu_01{digest[:22]}", "content": text}
        record = {"type": "user", "session_id": uuid, "message": {"content": [content]}}
        lines.append(json.dumps({**record, "commit": digest[:40]}))
    return "\n".join(lines).encode()[:SIZE]
