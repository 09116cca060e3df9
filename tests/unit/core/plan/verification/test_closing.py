from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.plan.lint.checks import check_markdown
from ralph_ls.core.plan.lint.criteria import is_empty_reason
from ralph_ls.core.plan.lint.remarks import CheckCode, LintRemark
from ralph_ls.core.plan.parse.markdown import parse_markdown


def told(text: str) -> list[LintRemark]:
    found = check_markdown(parse_markdown(text), text)
    return [one for one in found if one.code is CheckCode.CLOSE_WITHOUT_EVIDENCE]


class TestCriteria:
    def test_an_open_criterion_of_a_finished_task_is_reported_at_its_place(self) -> None:
        text = (
            "- [x] Log in\n"
            "  - Acceptance criteria:\n"
            "    - [x] `make test` passes (make test - exit 0)\n"
            "    - [ ] the page shows the name\n"
            "    - a wrong password is refused\n"
        )
        (remark,) = told(text)
        assert (remark.place.line, remark.place.start, remark.place.end) == (3, 10, 33)
        assert remark.message == (
            "“Log in” is done, but its criterion “the page shows the name” is not ticked; check "
            "it and tick it, or reopen the task"
        )

    @pytest.mark.parametrize(
        "text",
        [
            "- [ ] Log in\n  - Done when:\n    - [ ] the page shows the name\n",
            "- [x] Log in\n  - Done when:\n    - [x] the page shows the name\n",
            "- [x] Log in\n  - Done when:\n    - the page shows the name\n",
            "- [x] Log in\n  - Done when: `make test` passes\n",
            "- [x] Log in\n  - [ ] a task of its own\n",
            "- [x] Log in\n",
        ],
    )
    def test_what_is_open_itself_or_ticked_or_no_box_is_left_alone(self, text: str) -> None:
        assert told(text) == []


class TestCloseReasons:
    @pytest.mark.parametrize(
        ("line", "words"),
        [
            ("Closed:", "nothing says how it was verified"),
            ("**Close reason:** done", "only “done” says how it was verified"),
            ("Closed because: it works correctly", "only “it works correctly” says"),
            ("Verified: yes.", "only “yes.” says"),
            ("Evidence: TBD", "only “TBD” says"),
        ],
    )
    def test_a_missing_or_vague_one_is_reported(self, line: str, words: str) -> None:
        text = f"- [x] Log in\n  - {line}\n"
        (remark,) = told(text)
        assert words in remark.message
        assert text.splitlines()[1][remark.place.start : remark.place.end] == line

    @pytest.mark.parametrize(
        "text",
        [
            "- [x] Log in\n  - Closed: `make test` passes (make test - exit 0)\n",
            "- [x] Log in\n  - Evidence: see tests/login.py\n",
            "- [ ] Log in\n  - Closed:\n",
            "- [x] Log in\n  - the door is not Closed: knock\n",
            "- [x] Log in\n  ```\n  Closed:\n  ```\n",
        ],
    )
    def test_one_that_can_be_looked_at_is_left_alone(self, text: str) -> None:
        assert told(text) == []

    @given(st.text(max_size=30))
    def test_any_reason_is_judged(self, reason: str) -> None:
        assert is_empty_reason(reason) in {True, False}
        assert not is_empty_reason(f"{reason} (make test - exit 0)")
