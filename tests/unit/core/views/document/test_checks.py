"""How the checks of a plan are shown beside its run."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.plan.lint.remarks import CheckCode
from ralph_ls.core.plan.parse.markdown import parse_markdown
from ralph_ls.core.views.document.quick_fixes import CHECK_SEVERITIES, check_diagnostics
from ralph_ls.core.views.model.diagnostic import Severity
from ralph_ls.core.views.model.document_context import DocumentContext, FileKind
from ralph_ls.protocol.config.config import GateConfig
from tests.unit.core.plan.lint.test_checks import check_texts
from tests.unit.core.views.document_contexts import PRINT, seen, started


def test_a_remark_is_at_its_words_with_the_other_place() -> None:
    text = "- [ ] Implement the whole parser\n- [ ] Implement the whole parser\x1b[2J\n"
    text = text.replace("parser\n", "parser\x1b[2J\n")
    (one,) = check_diagnostics(DocumentContext(text=text, parsed=parse_markdown(text)))
    assert (one.line, one.start, one.severity, one.code) == (
        1,
        6,
        Severity.WARNING,
        "duplicate-task",
    )
    assert "\\x1b[2J" in one.message
    assert [(other.place.line, other.message) for other in one.related] == [(0, "the other one")]


def test_a_missing_reason_is_a_hint_beside_the_error() -> None:
    (one,) = check_diagnostics(seen())
    assert (one.line, one.code, one.severity) == (PRINT, "blocked-without-reason", Severity.HINT)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("1. a\x1b[2J\n", (0, "lines-read-as-tasks", Severity.INFORMATION)),
        ("## P0 (COMPLETED)\n1. a\n", (1, "lines-read-as-done", Severity.INFORMATION)),
        ("## Task 1: a\n", (0, "headings-read-as-tasks", Severity.INFORMATION)),
        ("- [x] a\n## T001: b\x1b[2J\n", (1, "headings-not-read", Severity.WARNING)),
        ("a|Status\n-|-\nb|open\n", (2, "table-read-by-column", Severity.INFORMATION)),
    ],
)
def test_what_was_guessed_is_shown(text: str, shown: tuple[int, str, Severity]) -> None:
    (one,) = check_diagnostics(DocumentContext(text=text, parsed=parse_markdown(text)))
    assert (one.line, one.code, one.severity) == shown
    assert "\x1b" not in one.message


@pytest.mark.parametrize(("word", "codes"), [("ALL_OVER", ["marker-with-open-tasks"]), ("X", [])])
def test_the_marker_is_the_one_of_the_run(word: str, codes: list[str]) -> None:
    run = started(gate=GateConfig(marker=word))
    look = seen(run, text="- [ ] a\n\nALL_OVER\n")
    assert [one.code for one in check_diagnostics(look)] == codes


@pytest.mark.parametrize("file", [FileKind.DECIDE, FileKind.BLOCKED])
def test_other_files_are_not_checked(file: FileKind) -> None:
    text = "- [!] a\n"
    assert (
        check_diagnostics(DocumentContext(text=text, parsed=parse_markdown(text), file=file)) == ()
    )


def test_every_code_has_a_severity() -> None:
    assert set(CHECK_SEVERITIES) == set(CheckCode)


@given(st.one_of(check_texts, st.text()))
def test_any_plan_is_shown(text: str) -> None:
    for one in check_diagnostics(DocumentContext(text=text, parsed=parse_markdown(text))):
        assert one.message.isprintable()
        assert one.code == one.code.lower()
