"""What a profile begins with, and the request that the user gives in words."""

from __future__ import annotations

from datetime import date

import pytest

from ralph_ls.core.plan.specs import SpecStatus, read_spec
from ralph_ls.core.setup.documents import (
    is_untouched_spec,
    issue_key,
    request_text,
    spec_skeleton,
    validate_example,
)
from ralph_ls.protocol.lsp.setup import DraftItem

SKELETON = spec_skeleton(created=date(2026, 1, 31))


def test_the_skeleton_is_a_specification_that_says_nothing_wrong() -> None:
    spec = read_spec("my-feature.md", SKELETON)
    assert (spec.status, spec.created) == (SpecStatus.ACTIVE, date(2026, 1, 31))
    assert spec.remarks == ()


@pytest.mark.parametrize(
    ("text", "is_untouched"),
    [
        (SKELETON, True),
        (SKELETON.replace("\n", "\r\n"), True),
        (f"\ufeff{SKELETON}\n\n", True),
        (SKELETON.replace("2026-01-31", "2026-02-01"), True),
        (SKELETON.replace("<name>", "login"), False),
        ("", False),
        ("# Login\n", False),
    ],
)
def test_it_is_untouched_until_somebody_writes_into_it(text: str, is_untouched: bool) -> None:
    assert is_untouched_spec(text) is is_untouched


def test_the_example_of_a_script_says_how_it_is_put_to_use() -> None:
    text = validate_example(".ralph/validate.sh")
    assert text.startswith("#!/bin/sh\n")
    assert "mv .ralph/validate.sh.example .ralph/validate.sh\n" in text
    assert "ralph allow\n" in text


@pytest.mark.parametrize(
    ("named", "key"),
    [
        ("issue.md", "file"),
        ("-", "file"),
        ("./owner/name#1", "file"),
        ("#12", "github"),
        ("owner/name#12", "github"),
        ("https://github.com/owner/name/issues/12", "github"),
    ],
)
def test_a_name_reports_where_a_request_is(named: str, key: str) -> None:
    assert issue_key(named) == key


@pytest.mark.parametrize(
    ("description", "items", "text"),
    [
        ("Reset it.\r\nSoon.\n", [], "# Reset it.\n\nReset it.\nSoon.\n"),
        ("# Reset\n\nSoon.", [], "# Reset\n\nSoon.\n"),
        ("Reset it.", [], "Reset it.\n"),
        (
            "# Reset",
            [DraftItem(title="Send  a mail", detail="\n by night \n"), DraftItem(title="Log")],
            "# Reset\n\n## What belongs to it\n\n- Send a mail\n  by night\n- Log\n",
        ),
    ],
)
def test_a_request_is_written_as_it_was_given(
    description: str, items: list[DraftItem], text: str
) -> None:
    assert request_text(description, items) == text
