"""Sockets of iterations: names and bounds, their addresses, and one question to the engine behind.

One JSON object a line: ``{"method": "stopState", "params": {"continued": true}}`` is answered with
``{"result": {…}}``, anything else with ``{"error": {"code", "message"}}``.

Imports no models and no libraries: ``ralph mcp`` starts beside every agent, and the stop hook each
time that an agent wants to stop.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

INSIDE = "/run/ralph"
"""The folder of the stop hook's socket in a box."""

NAME = "hook.sock"

VARIABLE = "RALPH_HOOK_SOCKET"
"""Names the socket to what runs in a box."""

STOP_STATE = "stopState"
"""What has to be known to let an agent stop: ``{"active": …, "stops": …}``, as the files have it.
With ``continued`` it is counted that the agent works on because of a hook."""

LONGEST_REQUEST = 64 * 1024
LONGEST_ANSWER = 64 << 20
"""Bytes; the answer holds a whole plan."""

CONNECT_SECONDS = 5.0


@contextlib.contextmanager
def short_address(path: Path) -> Iterator[str]:
    """An address of the socket at ``path``, usable within the context.

    A socket's address has no more than 107 bytes, so on Linux it is that of its open folder. Raises
    ``OSError`` where the folder is missing.
    """
    if not hasattr(os, "O_PATH"):
        yield str(path)
        return
    descriptor = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{descriptor}/{path.name}"
    finally:
        os.close(descriptor)


def ask(path: Path, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """The result of one method; waits for as long as the engine takes.

    Raises ``OSError`` where no iteration listens there or it ends meanwhile, and ``ValueError``
    where the call is too long or the engine refuses.
    """
    request = json.dumps({"method": method, "params": params}).encode() + b"\n"
    if len(request) >= LONGEST_REQUEST:
        raise ValueError(
            f"the call has {len(request)} bytes, at most {LONGEST_REQUEST} are read; shorten it"
        )
    with socket.socket(socket.AF_UNIX) as link:
        link.settimeout(CONNECT_SECONDS)
        with short_address(path) as address:
            link.connect(address)
        link.sendall(request)
        link.settimeout(None)
        with link.makefile("rb") as lines:
            answer = lines.readline()
    if not answer:
        raise ConnectionError("the iteration has ended")
    found = json.loads(answer)
    if "result" not in found:
        raise ValueError(str(found.get("error", {}).get("message", "refused")))
    return dict(found["result"])
