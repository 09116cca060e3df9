"""The reducer's table: every phase and input has an answer, and no run leaves it."""

from __future__ import annotations

import pytest

from ralph_ls.core.loop.inputs import CommandArrived, Input, Resumed, Started
from ralph_ls.core.loop.reducer import step
from ralph_ls.core.loop.state import LoopState
from ralph_ls.core.loop.transitions import INPUTS, LIVE_PHASES, TAKE_UP, TRANSITIONS, allows
from ralph_ls.protocol.events import Phase
from tests.unit.loop.play import BEGIN, check_step, play
from tests.unit.loop.strategies import anything
from tests.unit.loop.test_commands import HELD
from tests.unit.loop.world import finishes

# One input of each kind, whatever it says.
SAMPLES: dict[type[Input], Input] = {}


def sample(kind: type[Input]) -> Input:
    """One input of a kind that asks for nothing of its own."""
    from hypothesis import find

    if kind not in SAMPLES:
        SAMPLES[kind] = find(anything, lambda each: isinstance(each, kind))
    return SAMPLES[kind]
