"""Engine of a parallel run: the engine of a run with another reducer and other effects."""

from __future__ import annotations

from ralph_ls.core.loop.inputs import Input
from ralph_ls.core.loop.parallel.reducer import step_parallel
from ralph_ls.engine.run.runner import Engine


class ParallelEngine(Engine):
    """Engine of one parallel run. No agent works in its work tree, so nothing watches that."""

    step = staticmethod(step_parallel)

    def _have_kept(self, given: Input) -> None:
        del given
