"""``python -I -m ralph_ls.engine.notify.sender``: sends one message to addresses of Apprise.

The only module that loads Apprise, in a process that the engine starts and ends: half a second and
45 MB that no run pays for. Reads one JSON object on standard input (``addresses`` by name,
``title``, ``body``) and prints one with the problem of each name, empty where it was sent. An
address is never printed, nor a part of one.
"""

from __future__ import annotations

import json
import logging
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import unquote, urlsplit

MISSING = "missing"
"""The key of the answer of an interpreter without Apprise."""

LONGEST_PROBLEM = 300

SHORTEST_SECRET = 4
"""Characters of a part of an address that is hidden; a shorter one matches ordinary words."""


def main() -> int:
    """Send what is on standard input; 0 where everything was sent."""
    order = json.loads(sys.stdin.buffer.read())
    try:
        import apprise
    except ImportError:
        _answer({MISSING: True})
        return 1
    addresses: dict[str, str] = order["addresses"]
    with ThreadPoolExecutor(max(1, len(addresses))) as pool:
        asked = {
            name: pool.submit(_send, apprise, address, order["title"], order["body"])
            for name, address in addresses.items()
        }
    problems = {name: one.result() for name, one in asked.items()}
    _answer({"problems": problems})
    return 1 if any(problems.values()) else 0


def _answer(found: dict[str, Any]) -> None:
    sys.stdout.write(f"{json.dumps(found)}\n")


def _send(apprise: Any, address: str, title: str, body: str) -> str:
    """The problem of one address, empty where the message was sent."""
    heard: list[str] = []
    with apprise.LogCapture(level=logging.WARNING, fmt="%(message)s") as captured:
        try:
            service = apprise.Apprise.instantiate(address, suppress_exceptions=True)
            if service is None:
                return "Apprise does not know such an address: https://appriseit.com/services/"
            is_sent = service.notify(title=title, body=body)
        except Exception as error:  # noqa: BLE001 - whatever a service's plugin raises
            return _hidden(f"{type(error).__name__}: {error}", address)
        heard = captured.getvalue().splitlines()
    return "" if is_sent else _hidden(_why(heard), address)


def _why(heard: list[str]) -> str:
    lines = [" ".join(line.split()) for line in heard if line.strip()]
    return lines[0] if lines else "the service did not take it"


def _hidden(text: str, address: str) -> str:
    """The text without anything of the address but its host."""
    host = urlsplit(address).hostname or ""
    written = re.split(r"[/:@?&=+,;]+", address.partition("://")[2])
    parts = {*written, *(unquote(part) for part in written)}
    for part in sorted(parts, key=len, reverse=True):
        if len(part) >= SHORTEST_SECRET and part not in host:
            text = re.sub(rf"(?<!\w){re.escape(part)}(?!\w)", "[redacted]", text)
    return text[:LONGEST_PROBLEM].rstrip(". ")


if __name__ == "__main__":
    sys.exit(main())
