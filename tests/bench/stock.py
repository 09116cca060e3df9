"""A language server as pygls makes it, to hold ours against: nothing is added, nothing fixed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.lsp.server import LanguageServer


def main() -> None:
    server = LanguageServer("stock", "1")

    @server.feature("bench/output")
    def print_lines(ls: LanguageServer, params: Any) -> None:
        """Send each line of a file as it is read, as one would without regard to speed."""
        with Path(params.path).open(encoding="utf-8") as lines:
            for line in lines:
                ls.window_log_message(types.LogMessageParams(types.MessageType.Info, line))

    @server.feature("bench/messages")
    def speak(ls: LanguageServer, params: Any) -> None:
        """The same of a file of messages."""
        with Path(params.path).open(encoding="utf-8") as lines:
            for line in lines:
                ls.protocol.notify("bench/message", json.loads(line))

    server.start_io()


if __name__ == "__main__":
    main()
