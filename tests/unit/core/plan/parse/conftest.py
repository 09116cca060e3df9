"""Here the fast path for long plans reads short ones, too: both have to give the same tasks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ralph_ls.core.plan.parse import blocks


@pytest.fixture(autouse=True, scope="package")
def _plain_lines_are_read_as_in_a_long_plan() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "LONG_PLAN", 0)
        yield
