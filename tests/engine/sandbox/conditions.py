"""Whether this machine has what tests of boxes need; CI always has."""

from __future__ import annotations

import os
import sys

import pytest

from ralph_ls.engine.sandbox.selection import find_bubblewrap

BWRAP = find_bubblewrap(os.environ.get("PATH", ""))

needs_bubblewrap = pytest.mark.skipif(
    not sys.platform.startswith("linux") or (not BWRAP.works and not os.environ.get("CI")),
    reason=f"{BWRAP.problem}; {BWRAP.remedy}",
)
