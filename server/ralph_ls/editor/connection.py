"""What the protocol stands on, and what it does while there is nothing to stand on.

It must never know what a message says.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from lsprotocol import types
from pygls.progress import Progress

if TYPE_CHECKING:
    from ralph_ls.protocol.lsp.methods import OutputParams

logger = logging.getLogger(__name__)


class Connection(Protocol):
    """Where messages go; any of it may be called from any thread, and none of it blocks."""

    def write(self, message: bytes, /) -> None: ...
    def write_output(self, params: OutputParams, /) -> None: ...
    def write_messages(self, workspace: str, run: str, messages: Sequence[bytes], /) -> None: ...


class TidyProgress(Progress):
    """Forgets a token when its work is done."""

    def end(self, token: types.ProgressToken, value: types.WorkDoneProgressEnd) -> None:
        super().end(token, value)
        with contextlib.suppress(KeyError):
            del self.tokens[token]


def nobody_to_end(code: int) -> None:
    """In place of what ends the process, before there is a connection."""
    logger.warning("exit (%d) came over no connection", code)


def nobody_to_watch(pid: int) -> None:
    """In place of what watches the client, before there is a connection."""
    logger.debug("the client (%d) came over no connection", pid)
