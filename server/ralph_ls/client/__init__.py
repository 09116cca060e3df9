"""Async client of the language server, for programs in Python: typed calls and notifications.

It knows the protocol alone: no run, no file of one, and no feature of the server belongs here.

    async with spawn([Path("~/invoice").expanduser()]) as client:
        await client.subscribe()
        await client.start(max_iterations=5)
        async for event in client.events():
            print(event.seq, event.kind)
"""

from __future__ import annotations

from ralph_ls.client.client import (
    Client,
    IncompatibleServer,
    LspNotification,
    Notification,
    accept,
    spawn,
)
from ralph_ls.client.connection import RequestRefused, ServerConnection, ServerGone

__all__ = [
    "spawn",
    "accept",
    "Client",
    "ServerConnection",
    "Notification",
    "LspNotification",
    "RequestRefused",
    "ServerGone",
    "IncompatibleServer",
]
