"""Mutations of real input: of JSON values by their structure, of texts and bytes by position."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from typing import Any

URIS = (
    "http://[::1",
    "file://",
    "file:///dev/zero",
    "file:///dev/stdin",
    "file:///%00",
    "file:///%ff%fe",
    "file:///" + "a" * 5000,
    "untitled:Untitled-1",
    "",
    ":",
    "file:///proc/self/fd/0",
    "vscode-notebook-cell:/x#W0",
    "file://host/share/x",
    "\ud83d\ude00",
)
VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1.5,
    1e308,
    2**31,
    -(2**63),
    2**64,
    10**300,
    "",
    "x",
    "1",
    "\x00",
    "\x1b[2J\u202e",
    "\ud800",
    "x" * 100_000,
    [],
    {},
    [[]],
    [None],
    {"": None},
    *URIS,
)


def deep(depth: int) -> Any:
    """A list nested so deep."""
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


def mutate_json(value: Any, rng: random.Random) -> Any:
    """A copy with one to three places changed."""
    changed = copy.deepcopy(value)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        changed = _mutate(changed, rng)
    return changed


def _mutate(value: Any, rng: random.Random) -> Any:
    """Change a place of the value, or the whole of it."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(list(value))
        match rng.randrange(6):
            case 0:
                del value[key]
            case 1:
                name = rng.choice(["", "x", "__proto__", key + "x", key.upper()])
                value[name] = copy.deepcopy(value[key])
            case _:
                value[key] = _mutate(value[key], rng)
        return value
    if isinstance(value, list) and value and rng.random() < 0.8:
        index = rng.randrange(len(value))
        match rng.randrange(5):
            case 0:
                del value[index]
            case 1:
                value.extend([value[index]] * rng.choice([1, 50]))
            case _:
                value[index] = _mutate(value[index], rng)
        return value
    if isinstance(value, str) and value and rng.random() < 0.5:
        return mutate_text(value, rng)
    if isinstance(value, int) and not isinstance(value, bool) and rng.random() < 0.5:
        return value + rng.choice([-1, 1, 1000, -(10**9), 2**40])
    return deep(rng.choice([50, 400])) if rng.random() < 0.02 else copy.deepcopy(rng.choice(VALUES))


def mutate_text(text: str, rng: random.Random) -> str:
    """A text with a few places changed; still characters, in any order."""
    for _ in range(rng.choice([1, 2, 5])):
        start = rng.randrange(len(text) + 1)
        end = min(len(text), start + rng.choice([0, 1, 3, 40, 400]))
        text = text[:start] + rng.choice(_PUTS)(text, start, end, rng) + text[end:]
    return text[:200_000]


def mutate_bytes(data: bytes, rng: random.Random) -> bytes:
    """Bytes with a few places changed, of which nobody knows the encoding any more."""
    changed = bytearray(data)
    for _ in range(rng.choice([1, 3, 10])):
        start = rng.randrange(len(changed) + 1)
        end = min(len(changed), start + rng.choice([0, 1, 4, 100]))
        changed[start:end] = rng.randbytes(rng.choice([0, 1, 2, 8]))
    return bytes(changed)


_LINES = (
    "- [ ] ",
    "- [x] ",
    "```\n",
    "~~~",
    "# ",
    "\n---\n",
    "\t",
    "    ",
    "\r",
    "\r\n",
    "\x00",
    "\u2028",
    "\ufeff",
    "> ",
    "| a | b |\n|---|---|\n",
    "<!--",
    "-->",
    "1. ",
    "PROJECT_COMPLETE\n",
    "[[[[[[[[",
    "\\",
    "`",
    '"',
    "{",
    "}",
    "]",
    "\U0001f600",
    "e\u0301",
    "\u202e",
)

_Put = Callable[[str, int, int, random.Random], str]
_PUTS: tuple[_Put, ...] = (
    lambda text, start, end, rng: "",
    lambda text, start, end, rng: text[start:end] * rng.choice([2, 20]),
    lambda text, start, end, rng: rng.choice(_LINES) * rng.choice([1, 1, 2, 200]),
    lambda text, start, end, rng: chr(rng.randrange(0xD800)),
    lambda text, start, end, rng: text[rng.randrange(len(text) + 1) :][: rng.choice([10, 200])],
)


def encoded(value: Any) -> bytes:
    """JSON as bytes; what JSON has no word for is written as Python does."""
    return json.dumps(value).encode("utf-8", errors="surrogatepass")
