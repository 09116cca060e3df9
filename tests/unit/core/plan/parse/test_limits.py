from __future__ import annotations

import pytest

from ralph_ls.core.plan.model import LARGEST_PLAN, MOST_LINES, size_limit_error, text_limit_error


@pytest.mark.parametrize(
    ("size", "n_lines", "why"),
    [
        (0, 0, None),
        (LARGEST_PLAN, MOST_LINES, None),
        (LARGEST_PLAN + 1, 0, "larger than 16 MB"),
        (LARGEST_PLAN + 1, MOST_LINES + 1, "larger than 16 MB"),
        (MOST_LINES + 1, MOST_LINES + 1, "longer than 100,000 lines"),
    ],
)
def test_what_is_beyond_a_limit_is_reported(size: int, n_lines: int, why: str | None) -> None:
    assert size_limit_error(size, n_lines) == why
    assert text_limit_error("\n" * n_lines + "x" * (size - n_lines)) == why
