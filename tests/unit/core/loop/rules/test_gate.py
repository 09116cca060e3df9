"""The five gates: what satisfies each, what each refuses, and what is not its own.

See docs/rules.md#exit-gate.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.loop.rules.gate import (
    CONFIRMING_GATES,
    NOT_COMPLETE,
    ORDERS,
    GateInputs,
    GateResult,
    check_gate,
    foreign_signals,
    gate_finding,
    gate_words,
    queue_is_empty,
)
from ralph_ls.protocol.config.config import GateConfig, GateRule
from ralph_ls.protocol.run.report import Promise, PromiseKind, Report, ReportKind
from ralph_ls.protocol.run.values import EndReason, PlanCountsView, TaskRef

COMPLETE = Promise(kind=PromiseKind.COMPLETE)
BLOCKED = Promise(kind=PromiseKind.BLOCKED, text="no key")
DECIDE = Promise(kind=PromiseKind.DECIDE, text="which port?")

NO_PLAN = PlanCountsView()
ALL_DONE = PlanCountsView(total=3, done=3, required=3, required_done=3)
ONE_OPEN = PlanCountsView(total=3, done=2, required=3, required_done=2, open_required=1)
TWO_OPEN = PlanCountsView(
    total=3, done=1, required=3, required_done=1, open_required=2, blocked_required=1
)
OPTIONAL_OPEN = PlanCountsView(total=3, done=2, required=2, required_done=2, open_optional=1)
MARKED = PlanCountsView(total=3, done=3, required=3, required_done=3, marker=True)
TOO_EARLY = PlanCountsView(
    total=3, done=2, required=3, required_done=2, open_required=1, marker=True
)

TASK = TaskRef(id="a1", title="Mend it")


def report(**fields: str) -> Report:
    return Report(kind=ReportKind.RALPH_STATUS, fields=fields)


SIGNAL = report(STATUS="COMPLETE", EXIT_SIGNAL="true")


def inputs(
    rule: str = "dual", *, said: Report | None = None, indicators: int = 2, **fields: Any
) -> GateInputs:
    known: dict[str, Any] = {"report": said, "counts": ALL_DONE, "iterations": 3}
    config = GateConfig(rule=GateRule(rule), indicators=indicators)
    return GateInputs(**{**known, **fields}, config=config)


def not_satisfied(result: GateResult) -> bool:
    return result == replace(result, satisfied=False, accepted=False, refusal=None, why="")


# A satisfied gate of each rule, where the plan has all its required tasks done.
SATISFIED: dict[str, GateInputs] = {
    "the marker": inputs("marker", counts=MARKED),
    "the marker, after a report that says otherwise": inputs(
        "marker", counts=MARKED, said=report(STATUS="IN_PROGRESS", EXIT_SIGNAL="false")
    ),
    "EXIT_SIGNAL, one phrase and the plan": inputs(said=SIGNAL, completion_words=("done",)),
    "EXIT_SIGNAL and two phrases": inputs(said=SIGNAL, completion_words=("done", "finished")),
    "IN_PROGRESS with EXIT_SIGNAL": inputs(
        said=report(STATUS="IN_PROGRESS", EXIT_SIGNAL="true"), completion_words=("done",)
    ),
    "EXIT_SIGNAL without STATUS": inputs(
        said=report(EXIT_SIGNAL="TRUE"), completion_words=("done",)
    ),
    "EXIT_SIGNAL in two iterations": inputs(said=SIGNAL, indicators_before=1),
    "EXIT_SIGNAL where one indicator is enough": inputs(said=SIGNAL, indicators=1),
    "COMPLETE": inputs("verified", promises=(COMPLETE,)),
    "COMPLETE among others": inputs("verified", promises=(BLOCKED, COMPLETE)),
    "COMPLETE with a report that is blocked": inputs(
        "verified", promises=(COMPLETE,), said=report(STATUS="BLOCKED")
    ),
    "the plan alone": inputs("verified"),
    "the plan alone, with a report": inputs("verified", said=report(STATUS="IN_PROGRESS")),
    "STATUS COMPLETE": inputs("status", said=report(STATUS="COMPLETE", EXIT_SIGNAL="false")),
    "STATUS complete": inputs("status", said=report(STATUS=" complete ")),
    "PR_READY": inputs("status", said=report(STATUS="IN_PROGRESS", PR_READY="true")),
    "PR_READY alone": inputs("status", said=report(PR_READY="true")),
}


@pytest.mark.parametrize("name", SATISFIED)
def test_a_satisfied_gate_is_accepted_where_every_required_task_is_done(name: str) -> None:
    result = check_gate(SATISFIED[name])
    assert (result.satisfied, result.accepted, result.refusal) == (True, True, None)
    assert result.why.endswith("every required task is done")


@pytest.mark.parametrize("name", SATISFIED)
def test_an_optional_task_holds_nothing_up(name: str) -> None:
    counts = OPTIONAL_OPEN.model_copy(update={"marker": SATISFIED[name].counts.marker})
    assert check_gate(replace(SATISFIED[name], counts=counts)).accepted


# Signals that need no other, so that they are there while tasks are open, too.
SIGNALLED: dict[str, GateInputs] = {
    "marker": inputs("marker", counts=TOO_EARLY),
    "dual": inputs(said=SIGNAL, completion_words=("done", "finished"), counts=ONE_OPEN),
    "verified": inputs("verified", promises=(COMPLETE,), counts=ONE_OPEN),
    "status": inputs("status", said=report(STATUS="COMPLETE"), counts=ONE_OPEN),
    "PR_READY": inputs("status", said=report(PR_READY="true"), counts=ONE_OPEN),
}


@pytest.mark.parametrize("name", SIGNALLED)
class TestRefusals:
    def test_an_open_task_refuses(self, name: str) -> None:
        result = check_gate(SIGNALLED[name])
        assert (result.satisfied, result.accepted, result.why) == (True, False, "")
        assert result.refusal == "1 required task is still open in the plan"

    def test_a_blocked_task_is_open(self, name: str) -> None:
        counts = TWO_OPEN.model_copy(update={"marker": True})
        result = check_gate(replace(SIGNALLED[name], counts=counts))
        assert not result.accepted
        assert result.refusal == "2 required tasks are still open in the plan"

    def test_too_few_iterations_refuse(self, name: str) -> None:
        given = replace(SIGNALLED[name], counts=MARKED, min_iterations=4)
        assert check_gate(given).refusal == "only 3 of at least 4 iterations have run"
        assert check_gate(replace(given, iterations=4)).accepted

    def test_without_any_task_nothing_is_refused(self, name: str) -> None:
        counts = NO_PLAN.model_copy(update={"marker": True, "open_required": 1})
        result = check_gate(replace(SIGNALLED[name], counts=counts))
        assert result.accepted
        assert "task" not in result.why


def test_why_names_the_signal() -> None:
    said = {name: check_gate(given).why for name, given in SATISFIED.items()}
    assert said["the marker"] == (
        "the plan contains PROJECT_COMPLETE and every required task is done"
    )
    assert said["EXIT_SIGNAL and two phrases"] == (
        "the agent signals completion and every required task is done"
    )
    assert said["COMPLETE"] == "the agent promises COMPLETE and every required task is done"
    assert said["the plan alone"] == "every required task is done"
    assert said["STATUS COMPLETE"] == (
        "the agent reports STATUS COMPLETE and every required task is done"
    )
    assert said["PR_READY"] == ("the agent reports PR_READY true and every required task is done")


NOT_SATISFIED: dict[str, GateInputs] = {
    "no marker": inputs("marker", said=SIGNAL, promises=(COMPLETE,)),
    "a marker of an earlier run": inputs("marker", counts=MARKED, stale_marker=True),
    "no report": inputs(completion_words=("done", "finished"), indicators_before=9),
    "no EXIT_SIGNAL": inputs(
        said=report(STATUS="COMPLETE"), completion_words=("done", "finished"), indicators_before=9
    ),
    "EXIT_SIGNAL without any indicator": inputs(said=SIGNAL, counts=ONE_OPEN, indicators_before=9),
    "a repeated phrase": inputs(
        said=SIGNAL, counts=ONE_OPEN, completion_words=("done", "done"), indicators=2
    ),
    "EXIT_SIGNAL with too few": inputs(said=SIGNAL),
    "EXIT_SIGNAL without a plan": inputs(said=SIGNAL, counts=NO_PLAN, indicators=1),
    "an open task and no promise": inputs("verified", counts=ONE_OPEN),
    "no plan and no promise": inputs("verified", counts=NO_PLAN),
    "all done, and blocked": inputs("verified", promises=(BLOCKED,)),
    "all done, and a question": inputs("verified", promises=(DECIDE,)),
    "all done, and a wish for clarification": inputs(
        "verified", said=report(STATUS="COMPLETE", CLARIFICATION_NEEDED="true")
    ),
    "all done too early": inputs("verified", min_iterations=4),
    "a queue": inputs(
        "queue",
        said=report(STATUS="COMPLETE", EXIT_SIGNAL="true", PR_READY="true"),
        promises=(COMPLETE,),
        completion_words=("done", "finished"),
        counts=MARKED,
    ),
    "no report to look at": inputs("status", promises=(COMPLETE,), counts=MARKED),
    "STATUS IN_PROGRESS with EXIT_SIGNAL": inputs(
        "status", said=report(STATUS="IN_PROGRESS", EXIT_SIGNAL="true")
    ),
    "STATUS COMPLETE with a wish for clarification": inputs(
        "status", said=report(STATUS="COMPLETE", PR_READY="true", CLARIFICATION_NEEDED="true")
    ),
}


def test_a_gate_that_is_not_satisfied_names_the_signal_that_it_misses() -> None:
    found = {name: gate_finding(given, check_gate(given)) for name, given in NOT_SATISFIED.items()}
    too_few = "{} of 2 completion indicators so far"
    assert found == {
        "no marker": "PROJECT_COMPLETE is not in the plan",
        "a marker of an earlier run": "PROJECT_COMPLETE is in the plan since before this run",
        "no report": "the agent gave no report",
        "no EXIT_SIGNAL": "EXIT_SIGNAL is not true",
        "EXIT_SIGNAL without any indicator": too_few.format(0),
        "a repeated phrase": too_few.format(1),
        "EXIT_SIGNAL with too few": too_few.format(1),
        "EXIT_SIGNAL without a plan": too_few.format(0).replace("of 2", "of 1"),
        "an open task and no promise": "it does not promise COMPLETE",
        "no plan and no promise": "it does not promise COMPLETE",
        "all done, and blocked": "the agent asks for you",
        "all done, and a question": "the agent asks for you",
        "all done, and a wish for clarification": "the agent asks for you",
        "all done too early": "only 3 of at least 4 iterations have run",
        "a queue": "the queue is checked before the next iteration",
        "no report to look at": "the agent gave no report",
        "STATUS IN_PROGRESS with EXIT_SIGNAL": "STATUS is IN_PROGRESS and PR_READY is not true",
        "STATUS COMPLETE with a wish for clarification": "the report asks for you",
    }


def test_a_satisfied_gate_says_why_it_was_accepted_or_refused() -> None:
    accepted = SATISFIED["PR_READY"]
    assert gate_finding(accepted, check_gate(accepted)) == check_gate(accepted).why
    refused = replace(accepted, counts=ONE_OPEN)
    assert gate_finding(refused, check_gate(refused)) == "1 required task is still open in the plan"


@pytest.mark.parametrize("name", NOT_SATISFIED)
def test_what_satisfies_no_gate_is_neither_accepted_nor_refused(name: str) -> None:
    assert not_satisfied(check_gate(NOT_SATISFIED[name]))


@pytest.mark.parametrize(
    "status", ["BLOCKED", "blocked", "NEEDS_CLARIFICATION", "Needs_Clarification"]
)
@pytest.mark.parametrize("rule", ["dual", "status"])
def test_a_report_that_needs_the_user_is_never_completion(rule: str, status: str) -> None:
    said = report(STATUS=status, EXIT_SIGNAL="true", PR_READY="true")
    given = inputs(rule, said=said, completion_words=("done", "finished"), indicators_before=9)
    assert not_satisfied(check_gate(given))
    assert check_gate(given).indicators == 0


def test_a_wish_for_clarification_is_never_completion() -> None:
    said = report(STATUS="COMPLETE", EXIT_SIGNAL="true", CLARIFICATION_NEEDED="true")
    assert not_satisfied(check_gate(inputs(said=said, completion_words=("done", "finished"))))


class TestIndicators:
    """I, Dual-Condition Exit Gate: they add up, and one iteration without takes them all."""

    @pytest.mark.parametrize(
        ("said", "words", "counts", "sums"),
        [
            pytest.param(SIGNAL, ("done",), ONE_OPEN, [1, 2, 3], id="one phrase"),
            pytest.param(SIGNAL, (), ALL_DONE, [1, 2, 3], id="the plan"),
            pytest.param(SIGNAL, ("done",), ALL_DONE, [2, 4, 6], id="phrase and plan"),
            pytest.param(SIGNAL, ("a", "b", "a"), ONE_OPEN, [2, 4, 6], id="each phrase once"),
            pytest.param(SIGNAL, (), ONE_OPEN, [0, 0, 0], id="none"),
            pytest.param(SIGNAL, (), NO_PLAN, [0, 0, 0], id="no plan to be done"),
            pytest.param(report(), ("done",), ALL_DONE, [0, 0, 0], id="no EXIT_SIGNAL"),
            pytest.param(None, ("done",), ALL_DONE, [0, 0, 0], id="no report"),
        ],
    )
    def test_add_up_over_iterations(
        self, said: Report | None, words: tuple[str, ...], counts: PlanCountsView, sums: list[int]
    ) -> None:
        given = inputs(said=said, completion_words=words, counts=counts)
        steps = [given, given, given]

        def count(before: int, step: GateInputs) -> int:
            return check_gate(replace(step, indicators_before=before)).indicators

        assert list(accumulate(steps, count, initial=0))[1:] == sums

    def test_go_back_to_nothing_in_an_iteration_without(self) -> None:
        given = inputs(said=report(), completion_words=("done",), indicators_before=5)
        assert check_gate(given).indicators == 0

    def test_are_kept_where_the_plan_refuses(self) -> None:
        result = check_gate(SIGNALLED["dual"])
        assert (result.indicators, result.refusal is None) == (2, False)

    @pytest.mark.parametrize("rule", [rule for rule in GateRule if rule is not GateRule.DUAL])
    def test_are_of_one_rule_only(self, rule: GateRule) -> None:
        given = inputs(rule, said=SIGNAL, counts=MARKED, promises=(COMPLETE,), indicators_before=5)
        assert check_gate(given).indicators == 0


class TestQueue:
    @pytest.mark.parametrize(
        ("counts", "next_task", "empty"),
        [
            pytest.param(ALL_DONE, None, True, id="all done"),
            pytest.param(NO_PLAN, None, True, id="no task at all"),
            pytest.param(ONE_OPEN, TASK, False, id="a task"),
            pytest.param(ONE_OPEN, None, False, id="only blocked or set aside"),
            pytest.param(OPTIONAL_OPEN, TASK, False, id="an optional task"),
            pytest.param(OPTIONAL_OPEN, None, True, id="an optional task that is set aside"),
        ],
    )
    def test_is_empty(
        self, counts: PlanCountsView, next_task: TaskRef | None, *, empty: bool
    ) -> None:
        assert queue_is_empty(counts, next_task) is empty


PROMISES = "the agent promises COMPLETE"
MARKER = "the plan contains PROJECT_COMPLETE"
EXIT = "the agent reports EXIT_SIGNAL true"
READY = "the agent reports PR_READY true"


class TestForeignSignals:
    @pytest.mark.parametrize(
        ("rule", "found"),
        [
            ("marker", (PROMISES, EXIT, READY)),
            ("dual", (PROMISES, MARKER, READY)),
            ("verified", (MARKER, EXIT, READY)),
            ("queue", (PROMISES, MARKER, EXIT, READY)),
            ("status", (PROMISES, MARKER, EXIT)),
        ],
    )
    def test_are_all_signals_but_the_own_one(self, rule: str, found: tuple[str, ...]) -> None:
        given = inputs(
            rule,
            said=report(
                STATUS="IN_PROGRESS",
                EXIT_SIGNAL="false" if rule == "dual" else "true",
                PR_READY="false" if rule == "status" else "true",
            ),
            promises=() if rule == "verified" else (COMPLETE,),
            counts=TOO_EARLY.model_copy(update={"marker": rule != "marker"}),
        )
        assert foreign_signals(given) == found

    @pytest.mark.parametrize("rule", GateRule)
    def test_a_done_task_is_none(self, rule: GateRule) -> None:
        said = report(STATUS="COMPLETE", EXIT_SIGNAL="false")
        given = inputs(rule, said=said, counts=ONE_OPEN, completion_words=("done",))
        assert foreign_signals(given) == ()

    @pytest.mark.parametrize("rule", GateRule)
    @pytest.mark.parametrize("status", sorted(NOT_COMPLETE))
    def test_a_report_that_needs_the_user_has_none(self, rule: GateRule, status: str) -> None:
        said = report(STATUS=status, EXIT_SIGNAL="true", PR_READY="true")
        assert foreign_signals(inputs(rule, said=said, counts=ONE_OPEN)) == ()

    @pytest.mark.parametrize("rule", GateRule)
    def test_a_marker_of_an_earlier_run_is_none(self, rule: GateRule) -> None:
        given = inputs(rule, counts=TOO_EARLY, stale_marker=True)
        assert foreign_signals(given) == ()

    @pytest.mark.parametrize("name", [*SATISFIED, *SIGNALLED])
    def test_beside_the_own_signal_there_are_none(self, name: str) -> None:
        given = {**SATISFIED, **SIGNALLED}[name]
        assert foreign_signals(replace(given, promises=(COMPLETE, *given.promises))) == ()

    def test_name_the_words_that_are_set(self) -> None:
        given = inputs("status", promises=(COMPLETE,), counts=MARKED, complete_word="SHIPPED")
        given = replace(given, config=GateConfig(rule=GateRule.STATUS, marker="ALL_OVER"))
        assert foreign_signals(given) == (
            "the agent promises SHIPPED",
            "the plan contains ALL_OVER",
        )


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (GateConfig(rule=GateRule.MARKER, marker="OVER"), "OVER on its own line in the plan"),
        (GateConfig(rule=GateRule.DUAL), "EXIT_SIGNAL true and 2 completion indicators"),
        (
            GateConfig(rule=GateRule.DUAL, indicators=1),
            "EXIT_SIGNAL true and 1 completion indicator",
        ),
        (
            GateConfig(rule=GateRule.VERIFIED),
            "<promise>SHIPPED</promise> on its own line and every task done",
        ),
        (
            GateConfig(rule=GateRule.QUEUE),
            "an empty queue before an iteration",
        ),
        (GateConfig(rule=GateRule.STATUS), "STATUS COMPLETE or PR_READY true"),
    ],
)
def test_what_a_gate_asks_for_is_reported_in_words(config: GateConfig, words: str) -> None:
    assert gate_words(config, "SHIPPED") == words


class TestOrder:
    @pytest.mark.parametrize("rule", GateRule)
    def test_holds_each_end_once(self, rule: GateRule) -> None:
        decided_before = {EndReason.STOPPED, EndReason.FATAL}
        assert sorted(ORDERS[rule]) == sorted(set(EndReason) - decided_before)

    @pytest.mark.parametrize("rule", [rule for rule in GateRule if rule is not GateRule.STATUS])
    def test_is_that_of_the_promises(self, rule: GateRule) -> None:
        """COMPLETE, BLOCKED, DECIDE; then stuck and limit (docs/rules.md#exit-codes)."""
        names = [reason.value for reason in ORDERS[rule]]
        assert names == ["complete", "blocked", "decide", "stuck", "limit"]

    def test_of_an_issue_puts_halt_and_clarification_first(self) -> None:
        """HALT, CLARIFY, COMPLETE, CONTINUE (docs/rules.md#exit-codes)."""
        names = [reason.value for reason in ORDERS[GateRule.STATUS]]
        assert names == ["stuck", "decide", "complete", "blocked", "limit"]


def test_two_rules_confirm() -> None:
    assert {GateRule.MARKER, GateRule.DUAL} == CONFIRMING_GATES


counts_of_any_plan = st.builds(
    PlanCountsView,
    total=st.integers(0, 5),
    open_required=st.integers(0, 5),
    open_optional=st.integers(0, 2),
    marker=st.booleans(),
)
flags = st.sampled_from(("true", "false", "yes", ""))
statuses = st.sampled_from(
    ("COMPLETE", "IN_PROGRESS", "BLOCKED", "NEEDS_CLARIFICATION", "DEFERRED", "")
)
reports = st.fixed_dictionaries(
    {
        "STATUS": statuses,
        "EXIT_SIGNAL": flags,
        "PR_READY": flags,
        "CLARIFICATION_NEEDED": flags,
    }
).map(lambda fields: report(**fields))
any_inputs = st.builds(
    GateInputs,
    report=st.none() | reports,
    promises=st.lists(st.sampled_from((COMPLETE, BLOCKED, DECIDE)), max_size=2).map(tuple),
    completion_words=st.lists(st.sampled_from(("done", "finished")), max_size=3).map(tuple),
    counts=counts_of_any_plan,
    indicators_before=st.integers(0, 4),
    stale_marker=st.booleans(),
    iterations=st.integers(1, 5),
    min_iterations=st.integers(0, 5),
    config=st.builds(GateConfig, rule=st.sampled_from(GateRule), indicators=st.integers(1, 3)),
)


class TestProperties:
    @given(any_inputs)
    def test_no_gate_accepts_with_required_tasks_open(self, drawn: GateInputs) -> None:
        result = check_gate(drawn)
        if drawn.counts.total > 0 and drawn.counts.open_required > 0:
            assert not result.accepted
        if drawn.iterations < drawn.min_iterations:
            assert not result.accepted

    @given(any_inputs)
    def test_a_result_agrees_with_itself(self, drawn: GateInputs) -> None:
        result = check_gate(drawn)
        assert result.satisfied == (result.accepted or result.refusal is not None)
        assert not (result.accepted and result.refusal is not None)
        assert bool(result.why) == result.accepted

    @given(any_inputs)
    def test_the_sum_is_never_negative_nor_falls_but_to_nothing(self, drawn: GateInputs) -> None:
        indicators = check_gate(drawn).indicators
        assert indicators == 0 or indicators > drawn.indicators_before

    @given(any_inputs)
    def test_a_marker_that_is_stale_changes_nothing(self, drawn: GateInputs) -> None:
        without = drawn.counts.model_copy(update={"marker": False})
        stale = replace(drawn, stale_marker=True)
        assert check_gate(stale) == check_gate(replace(stale, counts=without))

    @given(any_inputs, st.sampled_from((str.lower, str.title, str.swapcase)))
    def test_values_count_in_any_case(self, drawn: GateInputs, spell: Any) -> None:
        fields = {} if drawn.report is None else drawn.report.fields
        respelled = report(**{key: spell(value) for key, value in fields.items()})
        other = replace(drawn, report=None if drawn.report is None else respelled)
        assert check_gate(other) == check_gate(drawn)
        assert foreign_signals(other) == foreign_signals(drawn)

    @given(any_inputs)
    def test_a_signal_is_either_the_own_one_or_foreign(self, drawn: GateInputs) -> None:
        promised = COMPLETE in drawn.promises
        told = check_gate(drawn).satisfied or foreign_signals(drawn) != ()
        assert told or not promised
