"""What tests of whole runs are given."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.engine.forked_ralph import fork_server
from tests.engine.ralph_runner import Project, Ralph
from tests.engine.story_project import StoryProject

TRUST = Path(__file__).parent / "trust"


@pytest.fixture
def ralph(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ralph]:
    """Starts ``ralph`` at once; whatever of it still lives when the test ends is killed.

    That is before ``tmp_path`` is removed.

    Where trust is the subject, what it launches is imported from files as it is for users.
    """
    with ExitStack() as at_the_end:
        is_about_trust = request.path.is_relative_to(TRUST)
        yield Ralph(fork_server(), at_the_end, really_launches=is_about_trust)


@pytest.fixture
def project(ralph: Ralph, tmp_path: Path) -> Project:
    """A place for a repository and an agent."""
    return Project(ralph, tmp_path)


@pytest.fixture
def story_project(ralph: Ralph, tmp_path: Path) -> StoryProject:
    """A place for a repository of stories with its own agent."""
    return StoryProject(ralph, tmp_path)
