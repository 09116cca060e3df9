"""What is to be run for criteria, and what there is to say of it."""

from __future__ import annotations

import pytest

from ralph_ls.core.plan.verification.criteria import ANY_FAILURE, EvidenceLine, without_run
from ralph_ls.core.plan.verification.criterion_checks import (
    NEEDS_SHELL,
    NOT_ALLOWED,
    CheckOutcome,
    CriterionCheck,
    bare_criterion,
    checks_of,
    describe_check_failure,
    describe_check_failures,
    describe_not_run,
    evidence_of,
    runnable_commands,
)
from tests.unit.core.plan.verification.criterion_cases import checked, verification


@pytest.mark.parametrize(
    ("criteria", "commands", "expected"),
    [
        pytest.param(["It is fast", "`total` is round"], [], [], id="no command"),
        pytest.param(
            ["`make  test` passes"],
            [],
            [
                CriterionCheck(
                    criterion="`make test` passes", command="make test", argv=("make", "test")
                )
            ],
            id="between backticks",
        ),
        pytest.param(
            ["Tests pass (pytest -q 'a b' - exit 0)"],
            [],
            [
                CriterionCheck(
                    criterion="Tests pass (pytest -q 'a b' - exit 0)",
                    command="pytest -q 'a b'",
                    argv=("pytest", "-q", "a b"),
                )
            ],
            id="in brackets",
        ),
        pytest.param(
            ["`make test | tee log`"],
            [],
            [CriterionCheck(criterion="`make test | tee log`", command="make test | tee log")],
            id="only a shell could",
        ),
        pytest.param(
            ["`make test`", "`make test`"],
            ["npm test", " ", "npm test"],
            [
                CriterionCheck(criterion="`make test`", command="make test", argv=("make", "test")),
                CriterionCheck(criterion="npm test", command="npm test", argv=("npm", "test")),
            ],
            id="each once, and those of the plan",
        ),
        pytest.param(
            ["\udcff `make \udcff`"],
            [],
            [CriterionCheck(criterion="? `make ?`", command="make ?", argv=())],
            id="no unicode",
        ),
    ],
)
def test_what_criteria_ask_to_be_run(
    criteria: list[str], commands: list[str], expected: list[CriterionCheck]
) -> None:
    assert list(checks_of(criteria, commands)) == expected


def test_commands_are_those_that_could_be_run_each_once() -> None:
    criteria = ["`a b`", "`a | b`", "c (a b - exit 0)", "`d e`", "`f g` is red"]
    assert runnable_commands(checks_of(criteria, on_path={"a", "d"})) == ("a b", "d e")


def test_the_exit_code_that_is_wanted_decides() -> None:
    refuses, fails = checks_of(["`make x` exits 2", "`make y` exits non-zero"])
    assert (refuses.wanted, fails.wanted) == (2, ANY_FAILURE)
    assert CheckOutcome(check=refuses, exit_code=2).ok
    assert CheckOutcome(check=fails, exit_code=3).ok
    wrong = CheckOutcome(check=refuses, exit_code=0), CheckOutcome(check=fails, exit_code=0)
    assert [describe_check_failure(one) for one in wrong] == [
        "`make x` exits 2 (make x - exit 0, expected 2)",
        "`make y` exits non-zero (make y - exit 0, expected non-zero)",
    ]
    assert CheckOutcome(check=fails, exit_code=None, timed_out=True).failed


@pytest.mark.parametrize(
    ("criterion", "bare"),
    [
        ("Tests pass (make test - exit 0)", "Tests pass"),
        ("Tests pass (`make test`)", "Tests pass"),
        ("Tests pass (see `notes`)", "Tests pass (see `notes`)"),
        ("(make test - exit 0)", "(make test - exit 0)"),
        ("Tests  pass", "Tests pass"),
    ],
)
def test_a_criterion_without_its_remark(criterion: str, bare: str) -> None:
    assert bare_criterion(criterion) == bare
    assert without_run(criterion) in {bare, ""}


def test_evidence_has_the_commands_that_ended() -> None:
    seen = verification(
        "a",
        checked("Tests pass (make test - exit 0)", "make test"),
        checked("It is round", "make round", 1),
        checked("Never", "x", None, not_run=NOT_ALLOWED),
    )
    assert evidence_of(seen) == (
        EvidenceLine("Tests pass", True, "make test", 0),
        EvidenceLine("It is round", False, "make round", 1),
    )
    assert not seen.ok
    assert [one.check.criterion for one in seen.failed] == ["It is round"]


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (checked("It", "a b", 2), "It (a b - exit 2)"),
        (checked("It", "a b", 127), "It (a b - exit 127, program not found)"),
        (checked("It", "a b", 127, tail="sh: b: not found"), "It (a b - exit 127)"),
        (checked("It", "a b", None, timed_out=True), "It (a b - timed out)"),
        (checked("It", "a b", None), "It (a b - was ended by a signal)"),
    ],
)
def test_how_a_failure_is_described(one: CheckOutcome, said: str) -> None:
    assert one.failed
    assert describe_check_failure(one) == said


def test_failures_are_reported_together_and_nothing_where_none_is() -> None:
    fine = checked("A", "a b")
    assert describe_check_failures(verification("t", fine)) == ""
    both = verification("t", fine, checked("B", "c d", 1), checked("C", "e f", 3))
    assert (
        describe_check_failures(both) == "Verification failed: B (c d - exit 1); C (e f - exit 3)"
    )


def test_what_was_not_run_is_reported_by_its_reason() -> None:
    seen = verification(
        "t",
        checked("A", "a b", None, not_run=NOT_ALLOWED),
        checked("B", "c d", None, not_run=NEEDS_SHELL),
        checked("C", "e f", None, not_run=NOT_ALLOWED),
        checked("D", "g h"),
    )
    assert describe_not_run(seen) == (
        (NOT_ALLOWED, f"2 commands not run (a b, e f): {NOT_ALLOWED}"),
        (NEEDS_SHELL, f"1 command not run (c d): {NEEDS_SHELL}"),
    )
    assert seen.failed == ()
