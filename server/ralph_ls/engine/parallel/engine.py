"""Engine of a parallel run: the engine of a run with another reducer and other effects."""

from __future__ import annotations

import functools
from collections.abc import Callable

from ralph_ls.core.loop.inputs import Input
from ralph_ls.core.loop.parallel.reducer import step_parallel
from ralph_ls.core.loop.profiles import is_parallel
from ralph_ls.engine.run.preparation import Start
from ralph_ls.engine.run.runner import Engine


class ParallelEngine(Engine):
    """Engine of one parallel run. No agent works in its work tree, so nothing watches that."""

    step = staticmethod(step_parallel)

    def _have_kept(self, given: Input) -> None:
        del given


def engine_of(start: Start) -> Callable[..., Engine]:
    """The engine for a run, with lanes where its settings ask for several tasks at once.

    Raises a ``RalphError`` where it cannot work on them side by side.
    """
    if not is_parallel(start.workspace.config):
        return Engine
    # Most runs have no lanes.
    from ralph_ls.engine.parallel.effect_runner import LaneEffectRunner
    from ralph_ls.engine.parallel.merge_branch import require_parallel

    facts = start.first.facts
    require_parallel(start.workspace, facts.head)
    performer = functools.partial(LaneEffectRunner, overrides=facts.overrides)
    return functools.partial(ParallelEngine, performer_type=performer)
