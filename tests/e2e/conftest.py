"""What end-to-end tests share: what the machine must have, and where their pictures go.

They bring real editors and real agents, which have to be laid out first. In CI a piece that is
missing fails the test; on a desk the test is skipped, and says which command brings the piece.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

CALLERS_ENVIRONMENT = dict(os.environ)
"""Before any test was given a home of its own: caches and registries are the caller's."""


def need(missing: str | None) -> None:
    """Go on where nothing is missing; else fail in CI and skip elsewhere."""
    if missing is None:
        return
    if CALLERS_ENVIRONMENT.get("CI"):
        pytest.fail(missing, pytrace=False)
    pytest.skip(missing)


@pytest.fixture(scope="session")
def output_folder() -> Path:
    """Where pictures and logs go and stay; ``RALPH_E2E_OUTPUT`` names another."""
    named = CALLERS_ENVIRONMENT.get("RALPH_E2E_OUTPUT")
    if named is None:
        return Path(tempfile.mkdtemp(prefix="ralph-e2e-"))
    folder = Path(named).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    return folder
