"""What a gate says beside yes and no: the words of a completion, and an indicator for no other."""

from __future__ import annotations

import pytest

from ralph_ls.core.loop.rules.gate import check_gate
from ralph_ls.protocol.config.config import GateRule
from tests.unit.core.loop.rules.test_gate import ALL_DONE, COMPLETE, MARKED, NO_PLAN, SIGNAL, inputs


def test_without_a_plan_nothing_is_reported_of_its_tasks() -> None:
    with_plan = check_gate(inputs("status", said=SIGNAL, counts=ALL_DONE))
    without = check_gate(inputs("status", said=SIGNAL, counts=NO_PLAN))
    assert with_plan.accepted
    assert without.accepted
    assert with_plan.why == f"{without.why} and every required task is done"
    assert without.why.endswith("COMPLETE")


@pytest.mark.parametrize("rule", [rule for rule in GateRule if rule is not GateRule.DUAL])
@pytest.mark.parametrize("promises", [(), (COMPLETE,)], ids=["silent", "promised"])
def test_indicators_are_counted_by_the_dual_gate_alone(
    rule: GateRule, promises: tuple[()] | tuple[object]
) -> None:
    given = inputs(rule.value, said=SIGNAL, counts=MARKED, promises=promises, indicators_before=1)
    assert check_gate(given).indicators == 0
