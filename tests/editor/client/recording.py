"""Records what an editor and the real server send each other, in the form of a recorded session.

What differs from one recording to the next is replaced: the folder, the agent's, the run's id and
the times, which begin at one noon. Of the views between two orders only the last is kept, as a
client that reads slowly would see them.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

from ralph_ls.client.sessions import ROOT, Message, RecordedSession, SessionStep
from ralph_ls.protocol.base import to_wire_time
from tests.editor.editor_client import Editor

Line = tuple[str, Message]

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
RUN = "20260131T120000Z-0a1b"

_RUN = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{4}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
_STATE = re.compile(r"/[^\"\s]*/worktrees/[0-9a-f]{12}")


@contextmanager
def recording() -> Iterator[list[Line]]:
    """Every message of the editors within the block, in the order in which the client sees them."""
    lines: list[Line] = []
    send, take = Editor._send, Editor._take

    def recorded_send(editor: Editor, message: Message) -> None:
        lines.append(("client", {"jsonrpc": "2.0", **message}))
        send(editor, message)

    def recorded_take(editor: Editor, message: Message) -> None:
        lines.append(("server", message))
        take(editor, message)

    with patch.multiple(Editor, _send=recorded_send, _take=recorded_take):
        yield lines


def as_text(about: str, lines: list[Line], folders: dict[Path, str]) -> str:
    """The file of a session."""
    kept = [
        {"from": side, "message": message} for side, message in _without_older_views(_brief(lines))
    ]
    text = "\n".join(json.dumps(line, ensure_ascii=False) for line in kept)
    for folder, name in folders.items():
        text = text.replace(str(folder), name)
    text = _RUN.sub(RUN, _STATE.sub("/home/ada/.local/state/ralph/worktrees/3f9a1c20b7d4", text))
    # A session by plain LSP has no time of day in it.
    first = datetime.fromisoformat(min(_TIME.findall(text), default=to_wire_time(NOON)))
    text = _TIME.sub(lambda at: to_wire_time(_shifted(at[0], NOON - first)), text)
    return f"{json.dumps({'about': about})}\n{text}\n"


def outline(session: RecordedSession) -> list[tuple[str, Any, list[str]]]:
    """What must be the same in every recording: orders, their outcome, the events of each."""
    return [(step.order, _outcome(step), _events(step)) for step in session.steps]


def _outcome(step: SessionStep) -> Any:
    result = step.answer.get("result") or {}
    return result.get("code", sorted(step.answer))


def _events(step: SessionStep) -> list[str]:
    return [
        message["params"]["event"]["kind"]
        for message in [*step.before, *step.then]
        if message["method"] == "ralph/event"
    ]


def _brief(lines: list[Line]) -> Iterator[Line]:
    """Without the long list of what the editor can do, and without answers to the server."""
    for side, message in lines:
        if side == "client" and "method" not in message:
            continue
        if message.get("method") == "initialize":
            folders = message["params"]["workspaceFolders"]
            brief = {"processId": None, "workspaceFolders": folders, "capabilities": {}}
            yield side, {**message, "params": brief}
        else:
            yield side, message


def _without_older_views(lines: Iterator[Line]) -> list[Line]:
    kept: list[Line] = []
    newer = False
    for side, message in reversed([*lines]):
        is_view = message.get("method") == "ralph/view"
        if not (is_view and newer):
            kept.append((side, message))
        newer = (newer or is_view) and side == "server"
    return kept[::-1]


def _shifted(text: str, by: timedelta) -> datetime:
    return datetime.fromisoformat(text) + by


def replaying(session: str, report: Path, folder: Path) -> Path:
    """A program ``ralph-ls`` that plays a session whatever it is started with."""
    folder.mkdir()
    made = folder / "ralph-ls"
    server = Path(sys.executable).with_name("ralph-ls")
    made.write_text(f'#!/bin/sh\nexec "{server}" --replay {session} --report "{report}"\n')
    made.chmod(0o755)
    return made


__all__ = ["ROOT", "as_text", "outline", "recording", "replaying"]
