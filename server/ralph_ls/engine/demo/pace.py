"""Speaking at a pace that a person can follow.

Every line of the demo agent goes through here. It must never know what is said.
"""

from __future__ import annotations

import math
import os
import sys
import threading

PACE_VARIABLE = "RALPH_DEMO_PACE"
"""Seconds of pause after each spoken line; the tests set 0."""

DEFAULT_PACE_SECONDS = 0.15
LONGEST_PACE_SECONDS = 60.0


def say(text: str) -> None:
    """Print a line (or a few that belong together) at once, then leave time to read it.

    Raises ``BrokenPipeError`` where nobody reads any more.
    """
    tell(text)
    wait(_pace_seconds())


def tell(text: str) -> None:
    """Print lines at once, without a pause."""
    if sys.stdout is None:
        raise BrokenPipeError
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def wait(seconds: float) -> None:
    """Let ``seconds`` pass; zero or less returns at once."""
    if seconds > 0:
        threading.Event().wait(seconds)


def _pace_seconds() -> float:
    """The pause that the environment asks for; what is no usable number reads as the default."""
    try:
        seconds = float(os.environ.get(PACE_VARIABLE, DEFAULT_PACE_SECONDS))
    except ValueError:
        return DEFAULT_PACE_SECONDS
    return min(seconds, LONGEST_PACE_SECONDS) if math.isfinite(seconds) else DEFAULT_PACE_SECONDS
