"""The real ``ralph-ls`` in a separate process, forked from one that has imported it already.

As ``tests.engine.forked_ralph`` for ``ralph``: what is forked is the program as editors start it,
with its own process, session, working folder, environment and standard streams.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path

from cattrs import Converter
from lsprotocol import types
from lsprotocol.converters import get_converter
from pytest_lsp import client_capabilities

from tests.engine import forked_ralph


class LanguageServerForks(forked_ralph.Forks):
    """The process that forks servers, as its user sees it; forked from that of ``ralph``."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        super().__init__(ours)
        with theirs, Path(os.devnull).open("wb") as nothing:
            self._process = forked_ralph.fork_server().fork(
                Path.cwd(),
                (),
                {"PATH": os.environ["PATH"]},
                *(theirs.fileno(), nothing.fileno(), 2),
                module=__name__,
                really_launches=True,
            )

    def close(self) -> None:
        self._socket.close()
        self._process.wait()
        self._process.close()


def main() -> None:
    from ralph_ls.cli.commands import serve  # noqa: F401
    from ralph_ls.editor import server
    from ralph_ls.editor.lsp.codec import make_converter
    from ralph_ls.engine import clock  # noqa: F401
    from tests.editor.lsp import (
        patched_server,  # noqa: F401
        stock_server,  # noqa: F401
    )

    server._import_the_rest()
    # Each server would learn the types of LSP again, which takes longer than all else it does.
    _learn_types(make_converter())
    forked_ralph.serve(socket.socket(fileno=0))


def _learn_types(converter: Converter) -> None:
    """Build what reads an editor's greeting."""
    for editor in ("visual-studio-code@v1.65.2", "neovim@v0.11.0"):
        message = get_converter().unstructure(
            types.InitializeRequest(
                id=1, params=types.InitializeParams(capabilities=client_capabilities(editor))
            )
        )
        converter.structure(message, types.InitializeRequest)
