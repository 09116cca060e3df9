"""What the tests of whole runs are given, here too."""

from __future__ import annotations

from tests.engine.conftest import project, ralph

__all__ = ["ralph", "project"]
