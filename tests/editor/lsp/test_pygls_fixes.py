"""The fixes of pygls: each says which release it fixes and what to report upstream."""

from __future__ import annotations

import re
from importlib.metadata import version
from pathlib import Path

from ralph_ls.editor import lsp

FIXES = [
    " ".join(fix.split())
    for path in sorted(Path(lsp.__path__[0]).glob("*.py"))
    if path.name != "__init__.py"
    for fix in re.findall(r"pygls \d+\.\d.*?\"\"\"", path.read_text(), re.DOTALL)
]


def test_there_are_fixes() -> None:
    assert len(FIXES) > 12


def test_each_was_checked_against_the_installed_release_and_can_be_reported() -> None:
    expected = re.compile(rf"pygls {re.escape(version('pygls'))}: .+ Upstream: .+")
    assert [fix for fix in FIXES if not expected.match(fix)] == []
