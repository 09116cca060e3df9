"""A language server as pygls makes it, to show beside ours."""

from __future__ import annotations

from typing import Any

from pygls.lsp.server import LanguageServer

from tests.editor.lsp.shared_handlers import SHORT, register


def main() -> None:
    server = LanguageServer("stock", "1")
    register(server, patience=SHORT)

    @server.feature("ralph/start")
    def start(ls: LanguageServer, params: Any) -> dict[str, object]:
        return {"accepted": True, "fields": list(params._fields)}

    server.start_io()


if __name__ == "__main__":
    main()
