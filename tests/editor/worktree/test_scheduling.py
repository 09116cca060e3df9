"""Work that is asked for again and again: the first at once, the rest together, failures once."""

from __future__ import annotations

import asyncio
import logging

import pytest

from ralph_ls.editor.scheduling import FailureLog, Throttle

pytestmark = pytest.mark.asyncio


class Work:
    """A job that waits until it may continue."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.begun = asyncio.Event()
        self.go_on = asyncio.Event()
        self.fails = False

    async def __call__(self, key: str) -> None:
        self.begun.set()
        await self.go_on.wait()
        self.done.append(key)
        if self.fails:
            raise ValueError(f"no {key}")


async def settle(pacer: Throttle[str]) -> None:
    """Wait until nothing is being done, and nothing rests."""
    async with asyncio.timeout(60):
        while pacer.busy:
            await asyncio.wait(pacer.busy)


async def test_what_comes_while_the_work_is_done_is_one_more_time() -> None:
    work = Work()
    pacer = Throttle(work, doing="a test", longest_rest=0.0)
    for _ in range(5):
        pacer.ask("a")
    await work.begun.wait()
    for _ in range(5):
        pacer.ask("a")
    pacer.ask("b")
    work.go_on.set()
    await settle(pacer)
    assert sorted(work.done) == ["a", "a", "b"]


async def test_the_first_one_is_begun_at_once_whatever_the_rest() -> None:
    work = Work()
    work.go_on.set()
    pacer = Throttle(work, doing="a test", longest_rest=60.0, shortest_rest=60.0)
    pacer.ask("a")
    async with asyncio.timeout(60):
        await work.begun.wait()
    pacer.ask("a")
    assert work.done == ["a"]
    for task in pacer.busy:
        task.cancel()
    await asyncio.gather(*pacer.busy, return_exceptions=True)
    assert pacer.busy == []


async def test_a_failure_is_logged_once_and_harms_no_later_time(
    caplog: pytest.LogCaptureFixture,
) -> None:
    work = Work()
    work.go_on.set()
    work.fails = True
    pacer = Throttle(work, doing="a test", longest_rest=0.0)
    with caplog.at_level(logging.ERROR):
        for _ in range(3):
            pacer.ask("a")
            await settle(pacer)
        assert [record.getMessage() for record in caplog.records] == [
            "a test failed: ValueError: no a"
        ]
        work.fails = False
        pacer.ask("a")
        await settle(pacer)
        work.fails = True
        pacer.ask("a")
        await settle(pacer)
    assert len(caplog.records) == 2
    assert work.done == ["a"] * 5


async def test_another_failure_is_news(caplog: pytest.LogCaptureFixture) -> None:
    failures = FailureLog("telling")
    for error in (ValueError("a"), ValueError("a"), ValueError("b"), KeyError("b")):
        failures.log_once("x", error)
    failures.log_once("y", KeyError("b"))
    assert [record.getMessage() for record in caplog.records] == [
        "telling failed: ValueError: a",
        "telling failed: ValueError: b",
        "telling failed: KeyError: 'b'",
        "telling failed: KeyError: 'b'",
    ]
