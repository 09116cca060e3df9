"""The server's own commands, ``ralph.…``: every control for a client without commands.

A client that has commands under a prefix (``commandPrefix``) registers its own: two owners of one
name would be one too many. Each takes at most one argument; what it does is in
``requests.execute_command``. As most clients show nothing of a command's result, the answer is
also shown as a message.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ralph_ls.editor.documents.loop_documents import LoopDocuments
    from ralph_ls.editor.lsp.language_server import RalphLanguageServer
    from ralph_ls.editor.worktree.workspaces import Workspaces

PREFIX = "ralph."

COMMANDS = (
    "start",
    "stop",
    "pause",
    "resume",
    "reset",
    "overrule",
    "answer",
    "note",
    "skip",
    "resetTask",
    "editTask",
    "changes",
    "rollback",
    "runTask",
    "replan",
    "showLog",
    "showFile",
    "showChanges",
    "showRollback",
    "showApproval",
    "allow",
    "state",
    "setupChoices",
    "validateSetup",
    "proposePlan",
    "setup",
    "plans",
    "choosePlan",
    "lessons",
    "learn",
    "decideLesson",
    "resumeFleetTask",
)
"""The names behind the prefix; lenses name them as their verbs."""


def register_commands(
    server: RalphLanguageServer, workspaces: Workspaces, documents: LoopDocuments
) -> None:
    """Register all of them; call it before the capabilities are sent."""
    for name in COMMANDS:
        server.command(f"{PREFIX}{name}")(_command(server, workspaces, documents, name))


def _command(
    server: RalphLanguageServer, workspaces: Workspaces, documents: LoopDocuments, name: str
) -> Callable[..., Awaitable[Any]]:
    async def run(argument: Any = None) -> Any:
        from ralph_ls.editor.requests.execute_command import CommandCall, execute_command
        from ralph_ls.editor.requests.visible_answers import show_answer, show_refusal

        gesture = CommandCall(
            server=server, workspaces=workspaces, documents=documents, name=name, argument=argument
        )
        try:
            answer = await execute_command(gesture)
        except Exception as error:
            show_refusal(server, error, gesture.command)
            raise
        show_answer(server, answer)
        return answer

    return run
