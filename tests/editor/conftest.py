"""What tests of whole servers are given."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest_asyncio

from tests.editor.wire import Wire

Start = Callable[[str], Awaitable[Wire]]


@pytest_asyncio.fixture(loop_scope="module")
async def start() -> AsyncIterator[Start]:
    """Starts ``stock`` or ``ours``; whatever of it still lives when the test ends is killed."""
    started: list[Wire] = []

    async def start_one(name: str) -> Wire:
        started.append(await Wire.start(f"tests.editor.{name}"))
        return started[-1]

    yield start_one
    for wire in started:
        await wire.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def servers() -> AsyncIterator[dict[str, Wire]]:
    """A server of each kind for all tests of a module that leave it as they found it."""
    started = {name: await Wire.start(f"tests.editor.{name}") for name in ("stock", "ours")}
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
async def ours(servers: dict[str, Wire]) -> Wire:
    """The same of ours."""
    return await _cleared(servers["ours"])


async def _cleared(wire: Wire) -> Wire:
    await wire.result("tests/echo")
    wire.aside.clear()
    return wire
