"""What a markdown plan says of closed tasks; every byte that is not meant stays."""

from __future__ import annotations

import pytest

from ralph_ls.core.plan.parse.markdown import parse_markdown
from ralph_ls.core.plan.verification.criterion_checks import NOT_ALLOWED, CheckOutcome
from ralph_ls.core.plan.verification.markdown_evidence import (
    markdown_closings,
    write_markdown_verification,
)
from ralph_ls.protocol.errors import RalphError
from tests.unit.core.plan.verification.criterion_cases import checked, verification

TESTS = "Tests pass (`make test`)"
RAN = "Tests pass (make test - exit 0)"


def test_what_is_run_for_the_tasks_that_became_done() -> None:
    plan = parse_markdown(
        "- [x] US-1: One\n  - Done when: `make test` passes\n"
        "- [x] US-2: Two\n  - Done when: it is fast\n"
        "- [x] US-3: Three\n  - Done when: `make three` passes\n"
    ).plan
    (one,) = markdown_closings(plan, ["US-1", "US-2"])
    assert (one.task.id, one.task.title) == ("US-1", "One")
    assert [check.command for check in one.checks] == ["make test"]
    assert markdown_closings(plan, []) == ()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(
            "- [x] US-1: One\r\n  - Acceptance criteria:\r\n"
            "    - [ ] Tests pass (`make test`)\t\r\n    - [ ] Fast\r\n- [ ] Two",
            "- [x] US-1: One\r\n  - Acceptance criteria:\r\n"
            f"    - [x] {RAN}\t\r\n    - [ ] Fast\r\n- [ ] Two",
            id="its box is ticked",
        ),
        pytest.param(
            "- [x] US-1: One\n  - Criteria:\n    - [X] **Tests** pass (`make test`)\n",
            "- [x] US-1: One\n  - Criteria:\n    - [X] **Tests** pass (make test - exit 0)\n",
            id="it was ticked",
        ),
        pytest.param(
            "- [x] US-1: One\n  - Criteria:\n    - Tests pass (`make test`)\n",
            f"- [x] US-1: One\n  - Criteria:\n    - [x] {RAN}\n",
            id="it gets a box",
        ),
        pytest.param(
            "- [x] US-1: One\n  - Done when: Tests pass (`make test`)\n",
            "- [x] US-1: One\n  - Done when: Tests pass (make test - exit 0)\n",
            id="behind a label",
        ),
        pytest.param(
            "# Plan\n\n## US-1: One ✅\n\nCriteria:\n\n- Tests pass (`make test`)\n",
            f"# Plan\n\n## US-1: One ✅\n\nCriteria:\n\n- [x] {RAN}\n",
            id="below a heading with a state",
        ),
        pytest.param(
            "# Plan\n\n## US-1: One\n\nCriteria:\n\n- Tests pass (`make test`)\n",
            f"# Plan\n\n## US-1: One\n\nCriteria:\n\n- {RAN}\n",
            id="below another heading a box would be a task",
        ),
        pytest.param(
            "- [x] US-1: One\n  - Note\n- [ ] Two\n",
            "- [x] US-1: One\n  - Note\n  - Verified: Tests pass (make test - exit 0)\n- [ ] Two\n",
            id="its line is not found",
        ),
    ],
)
def test_the_evidence_is_at_the_criterion(before: str, after: str) -> None:
    seen = verification("US-1", checked(TESTS, "make test"))
    assert write_markdown_verification(before, seen) == after
    assert write_markdown_verification(after, seen) == after


def test_a_command_in_its_midst_stays_there() -> None:
    before = "- [x] US-1: One\n  - Criteria:\n    - [ ] `make test` passes\n"
    seen = verification("US-1", checked("`make test` passes", "make test"))
    assert write_markdown_verification(before, seen) == (
        "- [x] US-1: One\n  - Criteria:\n    - [x] `make test` passes (make test - exit 0)\n"
    )


def test_a_remark_of_an_earlier_run_makes_room() -> None:
    before = "- [x] US-1: One\n  - Criteria:\n    - [x] Tests  pass (make test - exit 1)\n"
    seen = verification("US-1", checked("Tests pass (make test - exit 1)", "make test"))
    after = "- [x] US-1: One\n  - Criteria:\n    - [x] Tests pass (make test - exit 0)\n"
    assert write_markdown_verification(before, seen) == after


def test_without_an_outcome_the_plan_stays() -> None:
    text = "| Task | Status |\n| --- | --- |\n| US-1: One | ✅ Done |\n"
    seen = verification("US-1", checked(TESTS, "make test"))
    assert write_markdown_verification(text, seen) == text


def test_one_that_was_not_run_changes_nothing() -> None:
    text = "- [x] US-1: One\n  - Criteria:\n    - [ ] Tests pass (`make test`)\n"
    seen = verification("US-1", checked(TESTS, "make test", None, not_run=NOT_ALLOWED))
    assert write_markdown_verification(text, seen) == text


FAILED = checked(TESTS, "make test", 1)
NOTE = "  - Verification failed: Tests pass (make test - exit 1)\n"


@pytest.mark.parametrize(
    ("before", "after", "failed"),
    [
        pytest.param(
            "- [x] US-1: One\n  - Criteria:\n    - [x] Tests pass (`make test`)\n    - [x] Fast\n",
            f"- [ ] US-1: One\n{NOTE}  - Criteria:\n    - [ ] Tests pass (`make test`)\n"
            "    - [x] Fast\n",
            FAILED,
            id="its box is open again",
        ),
        pytest.param(
            "- [x] US-1: One\n  - Done when: Tests pass (`make test`)\n",
            f"- [ ] US-1: One\n  - Done when: Tests pass (`make test`)\n{NOTE}",
            FAILED,
            id="behind a label",
        ),
        pytest.param(
            "| Task | Status |\n| --- | --- |\n| US-1: One | ✅ Done |\n",
            "| Task | Status |\n| --- | --- |\n| US-1: One | ⬜ Todo |\n",
            FAILED,
            id="a row without notes",
        ),
    ],
)
def test_a_task_that_was_refuted_is_open_with_a_note(
    before: str, after: str, failed: CheckOutcome
) -> None:
    assert write_markdown_verification(before, verification("US-1", failed)) == after


def test_a_task_that_was_refuted_again_has_one_note() -> None:
    once = write_markdown_verification("- [x] US-1: One\n", verification("US-1", FAILED))
    assert once == f"- [ ] US-1: One\n{NOTE}"
    again = write_markdown_verification(once.replace("[ ]", "[x]"), verification("US-1", FAILED))
    assert again == once


def test_one_that_was_moved_to_the_finished_ones_goes_back() -> None:
    before = "# Plan\n\n## Tasks\n\n- [ ] US-1: One\n- [ ] US-2: Two\n\n## Completed\n"
    closed = "# Plan\n\n## Tasks\n\n- [ ] US-2: Two\n\n## Completed\n\n- US-1: One\n"
    text = write_markdown_verification(closed, verification("US-1", FAILED), before=before)
    assert text == (
        f"# Plan\n\n## Tasks\n\n- [ ] US-2: Two\n- [ ] US-1: One\n{NOTE}\n## Completed\n\n"
    )


def test_the_last_one_of_a_section_goes_back_too() -> None:
    before = "# Plan\n\n## Tasks\n\n- [ ] US-1: One\n\n## Completed\n"
    closed = "# Plan\n\n## Tasks\n\n## Completed\n\n- US-1: One\n"
    text = write_markdown_verification(closed, verification("US-1", FAILED), before=before)
    (task,) = parse_markdown(text).plan.tasks
    assert (task.state.value, task.section) == ("todo", "Tasks")


@pytest.mark.parametrize(
    "before",
    [
        pytest.param("# Plan\n\n- [ ] US-2: Two\n", id="unknown before"),
        pytest.param("# Plan\n\n## Old\n\n- [ ] US-1: One\n", id="its section is gone"),
        pytest.param("- [ ] US-1: One\n", id="it had none"),
    ],
)
def test_one_that_has_no_place_to_go_back_to_is_refused(before: str) -> None:
    closed = "# Plan\n\n## Completed\n\n- US-1: One\n"
    with pytest.raises(RalphError):
        write_markdown_verification(closed, verification("US-1", FAILED), before=before)


def test_a_task_that_is_gone_is_refused() -> None:
    with pytest.raises(RalphError, match="no task 'US-9'"):
        write_markdown_verification(
            "- [x] US-1: One\n", verification("US-9", checked(TESTS, "make test"))
        )
