"""Lease of a task: the right to work on it, which a worker renews and its engine checks.

A lease is a file with the moment at which it ends, by a clock that runs while the machine is
suspended. The worker moves that moment as long as the database confirms that the task is still
its own. The engine reads it before each iteration and twice a second, and stops its agent once it
has passed: then another worker may have taken the task (docs/rules.md#fleets).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ralph_ls.core.loop.effects import Effect, LaunchAgent, PrepareIteration
from ralph_ls.core.loop.inputs import Interrupted
from ralph_ls.core.loop.lanes import LaneEffect
from ralph_ls.engine.clock import boot_seconds
from ralph_ls.engine.run.effect_runner import EffectRunner
from ralph_ls.protocol.run.state import RunState
from ralph_ls.store.files import PRIVATE_FILE, read_if_there, write_atomic

LEASE_VARIABLE = "RALPH_FLEET_LEASE"
"""Path of the lease in the environment of an engine."""

LOST = "ralph fleet: another worker may have taken this task"


def write_lease(path: Path, ends_at: float) -> None:
    """Move the end of a lease, in seconds since the machine's start."""
    write_atomic(path, f"{ends_at:.3f}\n".encode(), mode=PRIVATE_FILE)


def is_lease_held(path: Path) -> bool:
    """Whether the lease has not ended; one that cannot be read has."""
    try:
        return float(read_if_there(path) or b"") > boot_seconds()
    except (OSError, ValueError):
        return False


def lease_in(environment: Mapping[str, str]) -> Path | None:
    """The lease of the engine with this environment; None: it needs none."""
    named = environment.get(LEASE_VARIABLE)
    return Path(named) if named else None


class LeasedEffectRunner(EffectRunner):
    """Effect runner of an engine that works only as long as its lease is held."""

    def __init__(self, *given: Any, lease: Path, **more: Any) -> None:
        super().__init__(*given, **more)
        self._lease = lease
        self._is_lost = False
        self._interrupt = more["deliver"]

    def perform(self, effect: Effect | LaneEffect, run: RunState) -> None:
        """Check the lease before what leads to an agent."""
        if isinstance(effect, PrepareIteration | LaunchAgent):
            self._check()
        super().perform(effect, run)

    def look_at_clock(self) -> None:
        """Check the lease as well."""
        self._check()
        super().look_at_clock()

    def _check(self) -> None:
        if not self._is_lost and not is_lease_held(self._lease):
            self._is_lost = True
            self._interrupt(Interrupted(by=LOST))
