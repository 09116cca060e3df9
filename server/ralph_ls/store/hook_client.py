"""Asking the engine from inside a box, where neither its process nor its files can be seen."""

from __future__ import annotations

import json
import socket

from pydantic import ValidationError

from ralph_ls.protocol.hook_socket import LONGEST_ANSWER, STOP_STATE
from ralph_ls.store.active_run import Stops

PATIENCE = 5.0
"""Seconds of each step."""


def ask_engine(path: str, *, goes_on: bool) -> Stops | None:
    """What the engine knows of the open iteration; None where there is none.

    ``goes_on`` says that the agent works on because of a hook. Raises ``OSError`` where nobody
    answers.
    """
    params = {"continued": True} if goes_on else {}
    request = json.dumps({"method": STOP_STATE, "params": params}).encode() + b"\n"
    with socket.socket(socket.AF_UNIX) as link:
        link.settimeout(PATIENCE)
        link.connect(path)
        link.sendall(request)
        with link.makefile("rb") as lines:
            answer = lines.readline(LONGEST_ANSWER)
    try:
        found = json.loads(answer)["result"]["stops"]
        return None if found is None else Stops.model_validate(found)
    except (ValueError, KeyError, TypeError, ValidationError):
        return None
