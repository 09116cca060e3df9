from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from ralph_ls.editor.worktree.follower import BackpressuredSink
from ralph_ls.editor.worktree.snapshot import (
    OutputPiece,
    RunUpdate,
    ScanResult,
    WorkspaceSnapshot,
    default_loop_paths,
)
from tests.unit.store.store_builders import note

OUTPUT = OutputPiece(start=1, stream="out", text="a")


def found(*told: RunUpdate) -> ScanResult:
    return ScanResult(picture=WorkspaceSnapshot(), paths=default_loop_paths(Path("/")), told=told)


class Client:
    """It takes what it is handed, and keeps up only when it is let."""

    def __init__(self) -> None:
        self.told: list[ScanResult] = []
        self.keeps_up = asyncio.Event()
        self.n_taken = 0
        self.hand_over = BackpressuredSink(self.told.append, self._apply_backpressure)

    async def _apply_backpressure(self) -> None:
        await self.keeps_up.wait()

    def taken(self) -> None:
        self.n_taken += 1

    async def hand(self, given: ScanResult) -> None:
        """As a thread does; comes back when the loop has had its turn."""
        await asyncio.to_thread(self.hand_over, given, self.taken)
        await asyncio.sleep(0)
        await asyncio.sleep(0)


@pytest.mark.parametrize("told", [(), (OUTPUT,)])
async def test_what_gives_way_by_itself_is_not_waited_for(told: tuple[RunUpdate, ...]) -> None:
    client = Client()
    await client.hand(found(*told))
    assert (client.told, client.n_taken) == ([found(*told)], 1)


async def test_behind_events_more_is_read_only_when_the_client_keeps_up() -> None:
    client = Client()
    await client.hand(found(OUTPUT, note(1)))
    assert (len(client.told), client.n_taken) == (1, 0)
    client.keeps_up.set()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert client.n_taken == 1


async def test_the_reader_may_continue_whatever_happens() -> None:
    async def fail() -> None:
        raise RuntimeError("the client is gone")

    def refuse(_found: ScanResult) -> None:
        raise RuntimeError("it cannot be told")

    loop, failures, n_taken = asyncio.get_running_loop(), list[object](), 0
    loop.set_exception_handler(lambda _loop, context: failures.append(context["exception"]))

    def taken() -> None:
        nonlocal n_taken
        n_taken += 1

    for hand_over in (BackpressuredSink(refuse, fail), BackpressuredSink(lambda _: None, fail)):
        hand_over(found(note(1)), taken)
        hand_over(found(OUTPUT), taken)
        for _ in range(4):
            await asyncio.sleep(0)
    assert n_taken == 4
    del hand_over
    assert str(failures[0]) == "it cannot be told"
