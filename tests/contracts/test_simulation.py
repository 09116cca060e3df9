"""The world of the unit tests behaves as the real one: the same play, told in the same events.

Most tests of the loop play in ``tests.unit.core.loop.simulated_project``, in which nothing is real.
Here the same scripts are played by the engine with real processes, real git and real files.
"""

from __future__ import annotations

import pytest

from tests.contracts.real_run import play_for_real, shapes
from tests.contracts.scenarios import PIECES, Piece
from tests.engine.ralph_runner import Scene
from tests.unit.core.loop.simulated_run import play

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("piece", [pytest.param(one, id=name) for name, one in PIECES.items()])
def test_a_play_is_told_alike_on_both_stages(scene: Scene, piece: Piece) -> None:
    wait = piece.people.helpful or piece.people.editing
    settings = {"max_iterations": 9, **piece.settings}
    in_mind = play(*piece.script, person=piece.person, wait=wait, **settings)
    for_real = play_for_real(scene, piece.script, piece.people, *piece.flags, config=piece.config)
    assert shapes(for_real.events) == shapes(in_mind.events)
    assert for_real.exit_code == in_mind.exit_code
    assert scene.file(".ralph/decide.txt").exists() == (in_mind.world.question is not None)
    assert scene.file(".ralph/blocked.txt").exists() == (in_mind.world.blocked is not None)
