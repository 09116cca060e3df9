"""What tests of an editor on one work tree, and of whole servers, are given."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.editor.editor_client import Editor, serving
from tests.editor.forked_server import LanguageServerForks
from tests.editor.in_process_editor import InProcessEditor, View, Views
from tests.editor.wire_client import Wire
from tests.engine.conftest import project, ralph
from tests.engine.project_builder import end_run
from tests.engine.ralph_program import ForkedProgram
from tests.engine.ralph_runner import Project
from tests.unit.core.views.document_contexts import PLAN

__all__ = ["ralph", "project"]
"""Fixtures of whole runs, which pytest finds here by their names."""


@pytest.fixture
def view(tmp_path: Path) -> View:
    """A work tree with a plan in it."""
    (tmp_path / "@fix_plan.md").write_text(PLAN, encoding="utf-8")
    return View(tmp_path.resolve())


@pytest.fixture
async def editor(view: View) -> InProcessEditor:
    """An editor on that work tree, or on the one that a module makes itself."""
    editor = InProcessEditor(Views([view]))
    await editor.initialize()
    return editor


# --------------------------------------------------------------------------- servers of the codec

Start = Callable[[str], Awaitable[Wire]]


@pytest.fixture(scope="session")
def server_forks() -> Iterator[LanguageServerForks]:
    """One process that forks servers, for all tests of a session."""
    made = LanguageServerForks()
    yield made
    made.close()


@pytest.fixture(scope="session")
def server_program(server_forks: LanguageServerForks) -> Iterator[Path]:
    """The folder of a ``ralph-ls`` that is forked, for clients that start one by themselves."""
    made = ForkedProgram(server_forks, "ralph-ls", "serve", "--stdio")
    yield made.folder
    made.close()


@pytest_asyncio.fixture(loop_scope="module")
async def start(server_forks: LanguageServerForks) -> AsyncIterator[Start]:
    """Starts ``stock`` or ``patched``; whatever of it still lives when the test ends is killed."""
    started: list[Wire] = []

    async def start_one(name: str) -> Wire:
        started.append(await Wire.fork(server_forks, f"tests.editor.lsp.{name}_server"))
        return started[-1]

    yield start_one
    for wire in started:
        await wire.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def servers(server_forks: LanguageServerForks) -> AsyncIterator[dict[str, Wire]]:
    """A server of each kind for all tests of a module that leave it as they found it."""
    started = {
        name: await Wire.fork(server_forks, f"tests.editor.lsp.{name}_server")
        for name in ("stock", "patched")
    }
    for wire in started.values():
        await wire.initialize()
    yield started
    for wire in started.values():
        await wire.close()


@pytest_asyncio.fixture(loop_scope="module")
async def stock(servers: dict[str, Wire]) -> Wire:
    """A stock server that is ready, with nothing left of the test before."""
    return await _cleared(servers["stock"])


@pytest_asyncio.fixture(loop_scope="module")
async def patched(servers: dict[str, Wire]) -> Wire:
    """The same of patched."""
    return await _cleared(servers["patched"])


async def _cleared(wire: Wire) -> Wire:
    await wire.result("tests/echo")
    wire.aside.clear()
    return wire


# ------------------------------------------------------------------------------ the real server

StartEditor = Callable[..., Awaitable[Editor]]


@pytest_asyncio.fixture
async def edit(server_forks: LanguageServerForks) -> AsyncIterator[StartEditor]:
    """Starts an editor on folders; all that it is sent must have been expected."""
    async with serving(server_forks) as start_editor:
        yield start_editor


@pytest.fixture
def loops(project: Project) -> Iterator[Project]:
    """A place for a repository and an agent whose runs may outlive the one who started them."""
    yield project
    end_run(project.repository)
