"""Between an agent's stop hook in a box and the engine outside: names and bounds.

One JSON object a line: ``{"method": "stopState", "params": {"continued": true}}`` is answered with
``{"result": {…}}``, anything else with ``{"error": {"code", "message"}}``.
"""

from __future__ import annotations

INSIDE = "/run/ralph"
"""The folder of the socket in a box."""

NAME = "hook.sock"

VARIABLE = "RALPH_HOOK_SOCKET"
"""Names the socket to what runs in a box."""

STOP_STATE = "stopState"
"""What has to be known to let an agent stop: ``{"active": …, "stops": …}``, as the files have it.
With ``continued`` it is counted that the agent works on because of a hook."""

LONGEST_REQUEST = 64 * 1024
LONGEST_ANSWER = 64 << 20
"""Bytes; the answer holds a whole plan."""
