"""What end-to-end tests share: what the machine must have, and where their pictures go.

They bring real editors and real agents, which have to be laid out first. In CI a piece that is
missing fails the test; on a desk the test is skipped, and says which command brings the piece.
"""

from __future__ import annotations

import os
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

CALLERS_ENVIRONMENT = dict(os.environ)
"""Before any test was given a separate home: caches and registries are the caller's."""


def need(missing: str | None) -> None:
    """Continue where nothing is missing; else fail in CI and skip elsewhere."""
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


_SEEN: dict[str, dict[str, str]] = defaultdict(dict)
"""By agent, what was seen of it in each scene."""


@pytest.fixture
def note(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Say in a few words what a test has seen, for the table at the end."""

    def keep(words: str) -> None:
        request.node.user_properties.append(("seen", words))

    return keep


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Remember how each scene of ``RALPH_E2E_AGENTS`` ended."""
    report: pytest.TestReport = yield  # type: ignore[assignment]
    if report.when == "call" and "[" in item.name:
        project, _, agent = item.name.rstrip("]").partition("[")
        seen = dict(report.user_properties).get("seen", "")
        _SEEN[agent][project.removeprefix("test_")] = f"{report.outcome}; {seen}".rstrip("; ")
    return report  # type: ignore[return-value]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what was seen of each agent, where somebody asked for certain ones."""
    if not CALLERS_ENVIRONMENT.get("RALPH_E2E_AGENTS"):
        return
    terminalreporter.section("agents")
    for agent, projects in _SEEN.items():
        terminalreporter.line(f"{agent}")
        for project, seen in projects.items():
            terminalreporter.line(f"  {project:<10} {seen}")
