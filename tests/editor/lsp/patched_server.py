"""A language server on the patched base, with the same handlers as the stock one and some more."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from ralph_ls.editor.lsp.language_server import RalphLanguageServer, run_stdio
from ralph_ls.protocol.errors import WorkspaceBusy
from ralph_ls.protocol.lsp.methods import (
    EVENT,
    OUTPUT,
    START,
    STATE,
    EventParams,
    OutputParams,
    ReplyResult,
    StartParams,
    StateParams,
)
from ralph_ls.protocol.run.events import Warned
from tests.editor.lsp.shared_handlers import register, say_aside

RUN = "20260131T120000Z-0a1b"
N_PIECES, PIECE = 12_000, "o" * 1000


def main() -> None:
    server = RalphLanguageServer("patched", "1")
    register(server)
    register_more(server)
    run_stdio(server)


def register_more(server: RalphLanguageServer) -> None:
    @server.feature(START)
    async def start(ls: RalphLanguageServer, params: StartParams) -> ReplyResult:
        text = params.model_dump_json(exclude_defaults=True)
        return ReplyResult(accepted=True, code="accepted", text=text, run=RUN)

    @server.feature(STATE)
    def state(ls: RalphLanguageServer, params: StateParams) -> str:
        return "this is no StateResult"

    @server.feature("tests/busy")
    async def busy(ls: RalphLanguageServer, params: Any) -> None:
        raise WorkspaceBusy(
            "another engine (pid 7) owns this work tree; follow it with: ralph watch"
        )

    @server.feature("tests/unsendable")
    def unsendable(ls: RalphLanguageServer, params: Any) -> object:
        return object()

    @server.feature("tests/plain")
    def plain(ls: RalphLanguageServer, params: Any) -> Any:
        return params

    @server.command("tests.typed")
    def typed(ls: RalphLanguageServer, params: StartParams, times: int = 3) -> str:
        return f"{params.task} {times}"

    @server.feature("tests/threads")
    @server.thread()
    def from_threads(ls: RalphLanguageServer, params: Any) -> None:
        def tell(first: int) -> None:
            for number in range(first, first + 100):
                ls.notify("tests/told", {"number": number})

        threads = [threading.Thread(target=tell, args=(100 * n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    @server.feature("tests/hang")
    @server.thread()
    def hang(ls: RalphLanguageServer, params: Any) -> None:
        say_aside("hanging")
        threading.Event().wait()

    @server.feature("tests/event")
    def event(ls: RalphLanguageServer, params: Any) -> None:
        warned = Warned.model_validate(
            {"seq": 1, "at": "2026-01-31T12:00:00Z", "run": RUN, "code": "x", "message": "é"}
        )
        ls.notify(EVENT, EventParams(workspace="file:///w", run=RUN, event=warned))

    @server.feature("tests/outputs")
    async def outputs(ls: RalphLanguageServer, params: Any) -> int:
        """Send more than anybody lets wait, and an event in the middle of it."""
        for number in range(N_PIECES):
            ls.notify(
                OUTPUT,
                OutputParams(workspace="file:///w", run=RUN, start=1, stream="out", text=PIECE),
            )
            if number == N_PIECES // 2:
                ls.notify("tests/middle")
        say_aside("all told")
        return N_PIECES * len(PIECE)

    @server.feature("tests/drained")
    async def drained(ls: RalphLanguageServer, params: Any) -> int:
        ls.notify("tests/drop", {"text": "x" * 2_000_000})
        say_aside("waiting" if ls.backlog > 1_000_000 else "not waiting")
        await ls.drained()
        say_aside("drained")
        return ls.backlog

    @server.feature("tests/progress")
    async def progress(ls: RalphLanguageServer, params: Any) -> int:
        from lsprotocol import types

        ls.work_done_progress.begin("t", types.WorkDoneProgressBegin(title="a"))
        ls.work_done_progress.end("t", types.WorkDoneProgressEnd())
        return len(ls.work_done_progress.tokens)

    @server.feature("tests/ask")
    async def ask(ls: RalphLanguageServer, params: Any) -> str:
        try:
            async with asyncio.timeout(params["seconds"]):
                answer = await ls.protocol.send_request_async("tests/question", None)
        except TimeoutError:
            return "nobody answered"
        except Exception as error:  # noqa: BLE001 -- the test looks at it
            return f"{type(error).__name__}: {error}"
        return f"{answer}"


if __name__ == "__main__":
    main()
