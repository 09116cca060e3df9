"""The remark on a plan that two write."""

from __future__ import annotations

from ralph_ls.core.views.document.quick_fixes import EDIT_CONFLICT_CODE, edit_conflict
from ralph_ls.core.views.model.diagnostic import Severity
from ralph_ls.core.views.model.document_context import DocumentContext


def test_it_is_at_the_top_and_says_what_to_do() -> None:
    remark = edit_conflict(DocumentContext(text="# Plan\n\n- [ ] a\n"))
    assert (remark.line, remark.start, remark.end) == (0, 0, 6)
    assert (remark.severity, remark.code) == (Severity.WARNING, EDIT_CONFLICT_CODE)
    assert "merge both before you save" in remark.message
