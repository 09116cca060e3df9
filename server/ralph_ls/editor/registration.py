"""Registration: what each feature of the language server is given when it is registered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ralph_ls.editor.documents.loop_documents import LoopDocuments
    from ralph_ls.editor.lsp.language_server import RalphLanguageServer
    from ralph_ls.editor.worktree.workspaces import Workspaces
    from ralph_ls.protocol.lsp.options import EditorOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureContext:
    """The server, what its client has open, and what the client wants."""

    server: RalphLanguageServer
    workspaces: Workspaces
    documents: LoopDocuments
    options: Callable[[], EditorOptions]
    """As the client last sent them."""
