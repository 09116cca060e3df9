"""A real server with all features, in this process, over work trees that a test draws by hand.

What a client says goes in as bytes and what it is sent comes out as JSON, through the same
protocol as over a pipe. Only the work trees are made up: a test sets the state of their run.
"""

from __future__ import annotations

import asyncio
import functools
import json
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import patch

from lsprotocol import types
from pytest_lsp import client_capabilities

from ralph_ls.core.loop.fold import fold
from ralph_ls.core.loop.inputs import HaltFiles
from ralph_ls.core.plan.model import PlanKind
from ralph_ls.core.views.model.document_context import FileKind
from ralph_ls.core.views.model.history import history
from ralph_ls.editor.documents.loop_documents import LoopDocuments
from ralph_ls.editor.documents.snapshot import real_path
from ralph_ls.editor.features import (
    code_actions,
    completions,
    hover,
    lenses,
    links,
    outline,
    progress,
    semantic_tokens,
    task_ids,
)
from ralph_ls.editor.lsp import language_server
from ralph_ls.editor.lsp.codec import make_converter
from ralph_ls.editor.lsp.framing import FrameReader
from ralph_ls.editor.lsp.language_server import RalphLanguageServer
from ralph_ls.editor.push import diagnostics
from ralph_ls.editor.registration import FeatureContext
from ralph_ls.editor.worktree.reviews import Reviews
from ralph_ls.editor.worktree.snapshot import WorkspaceSnapshot
from ralph_ls.editor.worktree.workspaces import Workspaces, WorkspaceView
from ralph_ls.protocol.lsp.options import EditorOptions
from ralph_ls.protocol.run.events import Event, EventBase, UnknownEvent
from ralph_ls.protocol.run.values import Phase
from ralph_ls.store.layout import RunFiles
from tests.editor.wire_client import bodies
from tests.unit.core.views.document_contexts import run_of

VS_CODE = "visual-studio-code@v1.65.2"
NEOVIM = "neovim@v0.11.0"
PATIENCE = 60.0
"""Seconds after which something that does not come has failed the test."""

Message = dict[str, Any]

ALL = (
    diagnostics.register,
    lenses.register_lenses,
    lenses.register_hints,
    semantic_tokens.register,
    hover.register,
    progress.register,
    task_ids.register_rename,
    code_actions.register,
    outline.register_symbols,
    outline.register_folds,
    outline.register_selections,
    links.register,
    completions.register,
    completions.register_continuation,
    task_ids.register_references,
)


class View(WorkspaceView):
    """A work tree as a test wants it."""

    def __init__(self, root: Path, *, uri: str = "", plan: str | None = "@fix_plan.md") -> None:
        self._root = root
        self.uri = uri or root.as_uri()
        self.plan = plan
        self.kind = PlanKind.MARKDOWN
        self.issues = None
        self.optional: tuple[str, ...] = ()
        self.now = WorkspaceSnapshot()
        self.unapproved = 0

    @property
    def root(self) -> Path:
        return self._root

    @property
    def plan_path(self) -> Path | None:
        return None if self.plan is None else self.root / self.plan

    @property
    def plan_kind(self) -> PlanKind:
        return self.kind

    @property
    def plan_tag(self) -> str:
        return ""

    @property
    def optional_sections(self) -> tuple[str, ...]:
        return self.optional

    @property
    def skip_review(self) -> bool:
        return False

    @property
    def decide_path(self) -> Path:
        return self.root / ".ralph/decide.txt"

    @property
    def blocked_path(self) -> Path:
        return self.root / ".ralph/blocked.txt"

    @property
    def progress_path(self) -> Path:
        return self.root / "PROGRESS.md"

    def n_unapproved(self) -> int:
        return self.unapproved

    def picture(self) -> WorkspaceSnapshot:
        return self.now

    async def scan(self) -> None:
        """Everything is known here."""


class Views(Workspaces):
    """The work trees of a desk; asked as the real ones are."""

    def __init__(self, views: Iterable[View]) -> None:
        self.views = list(views)
        self.environment = {}
        self.further: set[str] = set()
        """Names of plans besides the main one."""
        self.time = datetime(2026, 1, 31, 12, 5, tzinfo=UTC)
        self.now = lambda: self.time
        self.reviews = Reviews()
        self._listeners: list[Callable[[Any], None]] = []

    def of_document(self, uri: str) -> tuple[WorkspaceView, FileKind] | None:
        real = real_path(uri)
        for view in self.views:
            for kind, path in (
                (FileKind.PLAN, view.plan_path),
                (FileKind.DECIDE, view.decide_path),
                (FileKind.BLOCKED, view.blocked_path),
            ):
                if path is not None and str(path.resolve()) == real:
                    return view, kind
            if Path(real).name in self.further and Path(real).is_relative_to(view.root):
                return view, FileKind.PLAN
        return None

    async def ready(self) -> None:
        """They are from the beginning."""

    def all(self) -> list[WorkspaceView]:
        return list(self.views)

    def on_change(self, listener: Callable[[Any], None]) -> None:
        self._listeners.append(listener)

    def change(self, view: View) -> None:
        """Something of the work tree changed."""
        for listener in self._listeners:
            listener(view)


def picture_of(events: Iterable[EventBase], **fields: Any) -> WorkspaceSnapshot:
    """How a viewer sees a run that reported these, which are numbered here; its engine lives."""
    return draw(run_of(events), **fields)


def draw(
    events: Sequence[Event | UnknownEvent], *, live: bool = True, **fields: Any
) -> WorkspaceSnapshot:
    """How a viewer sees a run with this journal."""
    state = fold(events) if events else None
    phase = Phase.ENDED if state is None else state.phase
    values: dict[str, Any] = {
        "phase": phase,
        "live": live and state is not None and phase is not Phase.ENDED,
        "pid": None if state is None else state.pid,
        "halt": HaltFiles(),
        **fields,
    }
    return WorkspaceSnapshot(state=state, history=history(events), **values)


class InProcessEditor:
    """A client and its server."""

    def __init__(self, views: Views, options: EditorOptions | None = None) -> None:
        self.views = views
        self.options = options or EditorOptions()
        self.server = _make_server()
        self.documents = LoopDocuments(self.server)
        self.sent: list[Message] = []
        self.shows_progress = True
        """Whether the client lets progress begin by itself."""
        self._came = asyncio.Event()
        self._frames = FrameReader()
        self._number = 0
        context = FeatureContext(
            server=self.server,
            workspaces=self.views,
            documents=self.documents,
            options=lambda: self.options,
        )
        for register in ALL:
            register(context)
        self.server.protocol.attach(self, end=lambda _code: None, watch=lambda _pid: None)

    # ------------------------------------------------------------------- what the server sees of it

    def write(self, message: bytes) -> None:
        for body in bodies(self._frames, message):
            told = json.loads(body)
            if told.get("method") == "window/workDoneProgress/create" and self.shows_progress:
                asyncio.get_running_loop().call_soon(self.reply, told)
            else:
                self.sent.append(told)
        self._came.set()

    def write_output(self, params: Any) -> None:
        raise AssertionError("no feature sends output")

    def write_messages(self, *params: Any) -> None:
        raise AssertionError("no feature sends messages")

    # ---------------------------------------------------------------------------------- the client

    async def initialize(
        self, capabilities: str | None = VS_CODE, *, encodings: Sequence[str] | None = None
    ) -> Message:
        """Shake hands as that editor; None is one that can do nothing."""
        able = dict(_capabilities(capabilities))
        if encodings is not None:
            able["general"] = {"positionEncodings": list(encodings)}
        params = {"processId": None, "rootUri": None, "capabilities": able}
        result: Message = await self.request("initialize", params)
        self.notify("initialized", {})
        return result

    def notify(self, method: str, params: Any) -> None:
        self._say({"method": method, "params": params})

    async def request(self, method: str, params: Any) -> Any:
        answer = await self.answer(method, params)
        assert "error" not in answer, answer
        return answer["result"]

    async def answer(self, method: str, params: Any) -> Message:
        self._number += 1
        number = self._number
        self._say({"id": number, "method": method, "params": params})
        return await self.until(lambda m: "method" not in m and m.get("id") == number)

    def reply(self, request: Message, result: Any = None) -> None:
        """Answer a request of the server."""
        self._say({"id": request["id"], "result": result})

    def refuse(self, request: Message) -> None:
        """Answer a request of the server with an error."""
        self._say({"id": request["id"], "error": {"code": -32603, "message": "no"}})

    async def told(self, method: str, wanted: Callable[[Message], bool] = bool) -> Message:
        """The next such message; it is taken out of what was sent."""
        return await self.until(lambda m: m.get("method") == method and wanted(m))

    async def until(self, wanted: Callable[[Message], bool]) -> Message:
        async with asyncio.timeout(PATIENCE):
            while True:
                for message in self.sent:
                    if wanted(message):
                        self.sent.remove(message)
                        return message
                self._came.clear()
                await self._came.wait()

    async def published(self, uri: str) -> Message:
        """The params of the next diagnostics of a file."""
        message = await self.told(
            "textDocument/publishDiagnostics", lambda m: m["params"]["uri"] == uri
        )
        params: Message = message["params"]
        return params

    def open(self, path: Path, text: str, *, uri: str = "", version: int = 1) -> str:
        uri = uri or path.as_uri()
        item = {"uri": uri, "languageId": "markdown", "version": version, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": item})
        return uri

    def type(self, uri: str, version: int, line: int, text: str) -> None:
        """Insert text at the beginning of a line."""
        at = {"line": line, "character": 0}
        change = {"range": {"start": at, "end": at}, "text": text}
        document = {"uri": uri, "version": version}
        self.notify(
            "textDocument/didChange", {"textDocument": document, "contentChanges": [change]}
        )

    def change(self, uri: str, version: int, text: str) -> None:
        """Replace the whole text of an open document."""
        document = {"uri": uri, "version": version}
        changed = {"textDocument": document, "contentChanges": [{"text": text}]}
        self.notify("textDocument/didChange", changed)

    def close(self, uri: str) -> None:
        self.notify("textDocument/didClose", {"textDocument": {"uri": uri}})

    async def quiet(self) -> None:
        """Wait until nothing is being done any more."""
        own = asyncio.current_task()
        async with asyncio.timeout(PATIENCE):
            while busy := [t for t in asyncio.all_tasks() if t is not own and _is_ours(t)]:
                await asyncio.wait(busy)

    def _say(self, message: Message) -> None:
        self.server.protocol.receive(json.dumps({"jsonrpc": "2.0", **message}).encode())


_converter = functools.cache(make_converter)


def _make_server() -> RalphLanguageServer:
    """With the one converter of all desks: each would learn every type of LSP again."""
    with patch.object(language_server, "make_converter", _converter):
        return RalphLanguageServer("desk", "1")


@functools.cache
def _capabilities(name: str | None) -> Message:
    """Those of an editor as it sends them: read once, since that takes its time."""
    told = types.ClientCapabilities() if name is None else client_capabilities(name)
    shown: Message = _converter().unstructure(told, types.ClientCapabilities)
    return shown


def run_files(folder: Path) -> RunFiles:
    folder.mkdir(parents=True, exist_ok=True)
    return RunFiles(folder=folder)


def _is_ours(task: asyncio.Task[Any]) -> bool:
    """Whether it is a piece of work of ours, which ends by itself."""
    coroutine = task.get_coro()
    return getattr(coroutine, "__qualname__", "").startswith(("Throttle.", "_register"))
