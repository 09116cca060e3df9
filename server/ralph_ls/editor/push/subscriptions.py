"""Subscriptions: ``ralph/state`` and ``ralph/view``, and the stream of a run's events and output.

Each work tree has one subscription, since a server has one client. Its events come in the order of
the journal, each once; a late subscriber gets what it missed before anything newer. The agent's
output is dropped first if the client reads slowly (``editor.lsp.outbox``). All of it belongs to the
event loop's thread.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Literal

from ralph_ls.core.views.model.document_context import DocumentContext, FileKind
from ralph_ls.core.views.panel.panel import panel
from ralph_ls.core.views.panel.rows import plan_rows
from ralph_ls.editor.documents.loop_documents import DocumentEvent, LoopDocuments
from ralph_ls.editor.documents.snapshot import DocumentSnapshot
from ralph_ls.editor.lsp.language_server import RalphLanguageServer
from ralph_ls.editor.scheduling import FailureLog
from ralph_ls.editor.worktree.run_reader import RunInterest
from ralph_ls.editor.worktree.scanner import WorktreeScanner
from ralph_ls.editor.worktree.snapshot import (
    CatchUp,
    MessageLines,
    OutputPiece,
    RunUpdate,
    ScanResult,
    WorkspaceSnapshot,
)
from ralph_ls.editor.worktree.workspaces import Workspaces, WorkspaceView
from ralph_ls.protocol.lsp.methods import (
    EVENT,
    OUTPUT,
    VIEW,
    EventParams,
    OutputParams,
    StateParams,
    StateResult,
    SubscribeParams,
    SubscribeResult,
    UnsubscribeParams,
    UnsubscribeResult,
    ViewParams,
)
from ralph_ls.protocol.lsp.panel import PlanRows
from ralph_ls.protocol.run.events import EventBase
from ralph_ls.protocol.run.values import EndStates
from ralph_ls.store.project.plan_file import BD


async def state_of(view: WorkspaceView, documents: LoopDocuments, now: datetime) -> StateResult:
    """All of it; a large plan is looked at in a thread."""
    picture, plan = view.picture(), view.plan_path
    with_plan = partial(_with_plan, picture, _relative(plan, view.root), now)
    found = await documents.read(view, FileKind.PLAN, with_plan)
    if found is not None:
        return found
    seen = documents.seen(view, FileKind.PLAN)
    rows = plan_rows(seen, uri=None, path="" if view.issues is None else BD)
    return _result(picture, seen, rows, now)


def _with_plan(
    picture: WorkspaceSnapshot, path: str, now: datetime, sight: DocumentSnapshot
) -> StateResult:
    rows = plan_rows(sight.seen, uri=sight.uri, path=path)
    return _result(picture, sight.seen, rows, now)


def _result(
    picture: WorkspaceSnapshot, seen: DocumentContext, plan: PlanRows, now: datetime
) -> StateResult:
    shown = panel(seen, picture.rows.rows, now)
    state, files = picture.state, picture.run_files
    return StateResult(
        # Fingerprints are for the loop alone, and a long run has very many.
        run=None if state is None else state.model_copy(update={"seen": EndStates()}),
        phase=None if state is None else picture.phase,
        live=picture.live,
        pid=picture.pid,
        needs_person=shown.needs_person,
        answers=shown.answers,
        panel=shown,
        plan=plan,
        journal=None if state is None or files is None else str(files.journal),
    )


def _relative(plan: Path | None, root: Path) -> str:
    return "" if plan is None else plan.relative_to(root).as_posix()


VIEW_INTERVAL = 0.25
"""Seconds between two views, at least, if nothing begins or ends to need the user."""

COSTLY = 10.0
"""How many times as long as making a view took the next one is put off, at least."""

StateOf = Callable[[WorkspaceView], Awaitable[StateResult]]


class Subscriptions:
    """The client's subscriptions, one for each work tree."""

    def __init__(
        self, server: RalphLanguageServer, workspaces: Workspaces, documents: LoopDocuments
    ) -> None:
        self._server = server
        self._workspaces = workspaces
        self._documents = documents
        self._known: dict[WorkspaceView, Subscription] = {}
        workspaces.on_found(self._take_found)
        workspaces.on_backpressure(self._apply_backpressure)
        workspaces.on_change(self._handle_change)
        workspaces.on_close(self._end)
        documents.on_edit(self._take_edit)

    async def subscribe(self, view: WorkspaceView, params: SubscribeParams) -> SubscribeResult:
        """Subscribe the client; replaces an earlier subscription.

        Notifications follow the answer to the request that is being handled.
        """
        loop = asyncio.get_running_loop()
        wants = RunInterest(events=params.events, output=params.output, messages=params.messages)
        made: list[Subscription] = []

        def begin(tree: WorktreeScanner) -> None:
            caught = tree.subscribe(wants, after_seq=params.after_seq, run=params.run)
            # What the thread finds from here on is handed over behind this.
            loop.call_soon_threadsafe(put, caught)

        def put(caught: CatchUp) -> None:
            self._end(view)
            made.append(Subscription(self._server, view, params, caught))
            self._known[view] = made[0]

        await view.do(begin)
        subscription = made[0]
        try:
            state = await self._state_of(view)
        except BaseException:
            self._forget(view, subscription)
            raise
        self._server.after_answer(partial(subscription.begin, state, self._state_of))
        caught = subscription.caught
        return SubscribeResult(run=caught.run, seq=caught.seq, workspace=view.uri, state=state)

    async def unsubscribe(self, view: WorkspaceView) -> bool:
        """Unsubscribe; whether there was a subscription."""
        known = view in self._known
        self._end(view)
        await view.do(WorktreeScanner.unsubscribe)
        return known

    def close(self) -> None:
        """End all of them."""
        for view in [*self._known]:
            self._end(view)

    async def _state_of(self, view: WorkspaceView) -> StateResult:
        return await state_of(view, self._documents, self._workspaces.now())

    def _take_found(self, view: WorkspaceView, found: ScanResult) -> None:
        if view in self._known:
            self._known[view].take(found)

    async def _apply_backpressure(self, view: WorkspaceView) -> None:
        """Wait until the client has read nearly all of what was sent."""
        if view in self._known:
            await self._known[view].caught_up()
        await self._server.drained()

    def _handle_change(self, view: WorkspaceView) -> None:
        if view in self._known:
            self._known[view].handle_change()

    def _take_edit(self, uri: str, _edit: DocumentEvent) -> None:
        # The plan is shown as it is in the editor, which may learn of it later than the disk.
        place = self._workspaces.of_document(uri)
        if place is not None:
            self._handle_change(place[0])

    def _end(self, view: WorkspaceView) -> None:
        if view in self._known:
            self._forget(view, self._known[view])

    def _forget(self, view: WorkspaceView, subscription: Subscription) -> None:
        subscription.end()
        if self._known.get(view) is subscription:
            del self._known[view]


class Subscription:
    """One work tree's subscription, from its answer on until it is cancelled."""

    def __init__(
        self,
        server: RalphLanguageServer,
        view: WorkspaceView,
        params: SubscribeParams,
        caught: CatchUp,
    ) -> None:
        self.caught = caught
        self._server = server
        self._view = view
        self._params = params
        self._run = caught.run or ""
        self._seq = caught.seq
        self._held: list[tuple[RunUpdate, ...]] | None = [caught.told]
        """What waits for the answer to be sent and for earlier events; None once they were."""
        self._caught_up = asyncio.Event()
        self._caught_up.set()
        self._changed = asyncio.Event()
        self._urgent = asyncio.Event()
        self._needs_person = view.picture().needs_person
        self._tasks: list[asyncio.Task[None]] = []
        self._failures = FailureLog("reporting the state of a work tree")

    def begin(self, state: StateResult, state_of: StateOf) -> None:
        """The answer was sent: send what was missed, and continue from there."""
        if self._held is None:
            return
        loop = asyncio.get_running_loop()
        if self._params.view:
            self._send_view(state)
            views = self._send_views(state, state_of)
            self._tasks.append(loop.create_task(views, name="ralph-ls views"))
        self._caught_up.clear()
        self._tasks.append(loop.create_task(self._catch_up(), name="ralph-ls catch up"))

    async def caught_up(self) -> None:
        """Wait until it has caught up."""
        await self._caught_up.wait()

    async def _catch_up(self) -> None:
        """Send what was missed, as fast as the client reads, and then what waits behind it."""
        try:
            while (part := await asyncio.to_thread(next, self.caught.earlier, None)) is not None:
                self._send(part)
                await self._server.drained()
        except Exception as error:  # noqa: BLE001 -- what comes now can be sent all the same
            self._failures.log_once("catch up", error)
        held, self._held = self._held or [], None
        for told in held:
            self._send(told)
        self._caught_up.set()

    def take(self, found: ScanResult) -> None:
        """Send what a scan found."""
        state = found.picture.state
        if state is not None and state.run == self._run:
            # A journal that was cut short continues with numbers that were there before.
            self._seq = min(self._seq, state.seq)
        elif state is not None and not self._params.events:
            self._run, self._seq = state.run, 0
        if self._held is not None:
            self._held.append(found.told)
        else:
            self._send(found.told)

    def handle_change(self) -> None:
        """The picture, or a file of the work tree, has changed."""
        needs_person = self._view.picture().needs_person
        if needs_person != self._needs_person:
            self._needs_person = needs_person
            self._urgent.set()
        self._changed.set()

    def end(self) -> None:
        """Send nothing more."""
        self._held = None
        self._caught_up.set()
        for task in self._tasks:
            task.cancel()

    def _send(self, told: Iterable[RunUpdate]) -> None:
        for each in told:
            match each:
                case EventBase():
                    self._send_event(each)
                case OutputPiece():
                    self._send_output(each)
                case MessageLines(lines=lines):
                    self._server.notify_messages(self._view.uri, self._run, lines)

    def _send_event(self, event: EventBase) -> None:
        if event.run != self._run:
            # Another run has begun: the subscription goes over to it.
            self._run, self._seq = event.run, 0
        if event.seq <= self._seq:
            return
        self._seq = event.seq
        if self._params.events:
            # An event of a newer engine is one, too; what the union says is checked by the model.
            params = EventParams(workspace=self._view.uri, run=event.run, event=event)  # type: ignore[arg-type]
            self._server.notify(EVENT, params)

    def _send_output(self, piece: OutputPiece) -> None:
        stream: Literal["out", "err"] = "out" if piece.stream == "out" else "err"
        params = OutputParams(
            workspace=self._view.uri,
            run=self._run,
            start=piece.start,
            stream=stream,
            text=piece.text,
        )
        self._server.notify(OUTPUT, params)

    def _send_view(self, state: StateResult) -> None:
        self._server.notify(VIEW, ViewParams(workspace=self._view.uri, state=state))

    async def _send_views(self, told: StateResult, state_of: StateOf) -> None:
        loop = asyncio.get_running_loop()
        took = 0.0
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(max(VIEW_INTERVAL, COSTLY * took)):
                    await self._urgent.wait()
            await self._changed.wait()
            await self._server.drained()
            self._changed.clear()
            self._urgent.clear()
            began = loop.time()
            try:
                state = await state_of(self._view)
                if state != told:
                    self._send_view(state)
                    told = state
                self._failures.clear("view")
            except Exception as error:  # noqa: BLE001 -- the next one may go well
                self._failures.log_once("view", error)
            took = loop.time() - began


async def state(
    workspaces: Workspaces, documents: LoopDocuments, params: StateParams
) -> StateResult:
    """``ralph/state``: the state now, not that of the last scan."""
    await workspaces.ready()
    view = workspaces.named(params.workspace)
    await view.scan()
    return await state_of(view, documents, workspaces.now())


async def subscribe(
    workspaces: Workspaces, subscriptions: Subscriptions, params: SubscribeParams
) -> SubscribeResult:
    """``ralph/subscribe``."""
    await workspaces.ready()
    return await subscriptions.subscribe(workspaces.named(params.workspace), params)


async def unsubscribe(
    workspaces: Workspaces, subscriptions: Subscriptions, params: UnsubscribeParams
) -> UnsubscribeResult:
    """``ralph/unsubscribe``."""
    await workspaces.ready()
    view = workspaces.named(params.workspace)
    return UnsubscribeResult(subscribed=await subscriptions.unsubscribe(view))
