"""The world of the unit tests behaves as the real one: the same play gives the same events.

Most tests of the loop play in ``tests.unit.core.loop.simulated_project``, in which nothing is real.
Here the same scripts are played by the engine with real processes, real git and real files.
"""

from __future__ import annotations

import pytest

from tests.contracts.real_run import play_for_real, shapes
from tests.contracts.scenarios import SCENARIOS, Scenario
from tests.engine.ralph_runner import Project
from tests.unit.core.loop.simulated_run import play

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    "scenario", [pytest.param(one, id=name) for name, one in SCENARIOS.items()]
)
def test_a_play_gives_the_same_events_on_both_stages(project: Project, scenario: Scenario) -> None:
    wait = scenario.people.helpful or scenario.people.editing
    settings = {"max_iterations": 9, **scenario.settings}
    in_mind = play(*scenario.script, person=scenario.person, wait=wait, **settings)
    for_real = play_for_real(
        project, scenario.script, scenario.people, *scenario.flags, config=scenario.config
    )
    assert shapes(for_real.events) == shapes(in_mind.events)
    assert for_real.exit_code == in_mind.exit_code
    assert project.file(".ralph/decide.txt").exists() == (in_mind.simulated.question is not None)
    assert project.file(".ralph/blocked.txt").exists() == (in_mind.simulated.blocked is not None)
