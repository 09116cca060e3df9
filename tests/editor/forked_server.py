"""The real ``ralph-ls`` in a separate process, forked from one that has imported it already.

As ``tests.engine.forked_ralph`` for ``ralph``: what is forked is the program as editors start it,
with its own process, session, working folder, environment and standard streams.
"""

from __future__ import annotations

import socket
import sys
from pathlib import Path

from cattrs import Converter
from lsprotocol import types
from lsprotocol.converters import get_converter
from pytest_lsp import client_capabilities

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.engine import forked_ralph


class LanguageServerForks(forked_ralph.ForkServer):
    """The process that forks servers, as its user sees it."""

    def __init__(self, server_folder: Path) -> None:
        super().__init__(server_folder, script=__file__)


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
    forked_ralph.serve(socket.socket(fileno=int(sys.argv[1])))


def _learn_types(converter: Converter) -> None:
    """Build what reads an editor's greeting."""
    for editor in ("visual-studio-code@v1.65.2", "neovim@v0.11.0"):
        message = get_converter().unstructure(
            types.InitializeRequest(
                id=1, params=types.InitializeParams(capabilities=client_capabilities(editor))
            )
        )
        converter.structure(message, types.InitializeRequest)


if __name__ == "__main__":
    main()
