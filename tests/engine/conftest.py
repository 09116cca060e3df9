"""What tests of whole runs are given."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.engine.forked_ralph import nursery
from tests.engine.ralph_runner import Ralph, Scene
from tests.engine.story_project import Shop


@pytest.fixture
def ralph(tmp_path: Path) -> Iterator[Ralph]:
    """Starts ``ralph`` at once; whatever of it still lives when the test ends is killed."""
    with ExitStack() as at_the_end:
        yield Ralph(nursery(), at_the_end)


@pytest.fixture
def scene(ralph: Ralph, tmp_path: Path) -> Scene:
    """A place for a repository and an agent."""
    return Scene(ralph, tmp_path)


@pytest.fixture
def shop(ralph: Ralph, tmp_path: Path) -> Shop:
    """A place for a repository of stories and an agent of its own."""
    return Shop(ralph, tmp_path)
