"""The handshake of a client and its server: which request may come when, and what failures mean."""

from __future__ import annotations

import logging
from enum import Enum, auto

from lsprotocol import types
from pygls.exceptions import (
    JsonRpcException,
    JsonRpcInvalidRequest,
    JsonRpcServerNotInitialized,
)

from ralph_ls.protocol.errors import RalphError

logger = logging.getLogger(__name__)


class Stage(Enum):
    """How far the handshake is."""

    NEW = auto()
    STARTING = auto()
    READY = auto()


def check_stage(method: str, stage: Stage, *, is_shut_down: bool) -> None:
    """Raises ``JsonRpcException`` for a request that may not come now."""
    if is_shut_down:
        raise JsonRpcInvalidRequest("the server is shutting down; all it takes now is exit")
    if method == types.INITIALIZE and stage is not Stage.NEW:
        raise JsonRpcInvalidRequest("initialize was sent already")
    if method != types.INITIALIZE and stage is not Stage.READY:
        raise JsonRpcServerNotInitialized(f"{method} came before initialize was answered")


def log_failure(error: BaseException, doing: str) -> None:
    """Expected errors are for the client; only the others are for whoever mends the server."""
    if not isinstance(error, RalphError | JsonRpcException):
        logger.error("%s failed", doing, exc_info=error)
