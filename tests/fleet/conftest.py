"""A cluster for each test, and a fleet whose workers are ended with it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fleet.cluster import MISSING, Cluster, programs_missing
from tests.fleet.fleet_project import FleetProject


def require_postgres() -> None:
    """Skip the test where there is no Postgres."""
    if programs_missing():
        # .ci/run installs it, so in CI its absence is a failure.
        assert not os.environ.get("CI"), MISSING
        pytest.skip(MISSING)


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    require_postgres()
    made = Cluster()
    yield made
    made.close()


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[FleetProject]:
    made = FleetProject(tmp_path)
    yield made
    made.stop_workers()
