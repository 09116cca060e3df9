"""Visible answers: what became of a command, as a message of the editor.

LSP leaves a command's result to the client, and hardly one shows it. Refusals are always shown, an
acceptance where nothing else can be seen; what has opened a document, and what only asked for data,
is in the log alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from ralph_ls.core.plurals import count_of
from ralph_ls.editor.lsp.errors import describe_failure
from ralph_ls.editor.requests.execute_command import MOST_IN_MESSAGE, OPENED
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.lessons import Learned, LessonDecided
from ralph_ls.protocol.lsp.methods import ReplyResult, ShownResult
from ralph_ls.protocol.lsp.row_methods import Refusal, RollbackResult

if TYPE_CHECKING:
    from ralph_ls.editor.lsp.language_server import RalphLanguageServer
    from ralph_ls.protocol.base import WireModel


def show_answer(server: RalphLanguageServer, answer: WireModel) -> None:
    """Show what a command did, or that it was refused."""
    match answer:
        case ReplyResult(accepted=False):
            _show(server, types.MessageType.Warning, answer.text)
        case ReplyResult(code=code) if code == OPENED:
            _log(server, f"opened {answer.text}")
        case ShownResult():
            _show(server, types.MessageType.Info, _shown_words(answer))
        case ReplyResult():
            _show(server, types.MessageType.Info, answer.text)
        case RollbackResult(refused=Refusal(message=why)):
            _show(server, types.MessageType.Warning, why)
        case RollbackResult():
            _show(server, types.MessageType.Info, _rollback_words(answer))
        case LessonDecided():
            words = "; ".join((f"{answer.action}: {', '.join(answer.lessons)}", *answer.notes))
            _show(server, types.MessageType.Info, f"lesson {words}")
        case Learned(proposals=lessons):
            words = f"{count_of(len(lessons), 'proposed lesson')}; look at them with: ralph lessons"
            _show(server, types.MessageType.Info, words)
        case _:
            pass


def show_refusal(server: RalphLanguageServer, error: Exception, command: str) -> None:
    """Show why a command could not be executed."""
    match error:
        case RalphError():
            words = error.message
        case JsonRpcException():
            words = str(error)
        case _:
            words = describe_failure(error, command)
    _show(server, types.MessageType.Error, words)


def _shown_words(answer: ShownResult) -> str:
    """The text itself where a message can hold it, else where it is."""
    return answer.shown if len(answer.shown) <= MOST_IN_MESSAGE else answer.text


def _rollback_words(answer: RollbackResult) -> str:
    undone = count_of(len(answer.commits), "commit")
    if not answer.done:
        return f"a rollback to before iteration {answer.iteration} would undo {undone}"
    kept = f"; the branch {answer.backup} keeps them" if answer.backup else ""
    return f"rolled back to before iteration {answer.iteration}: {undone} undone{kept}"


def _show(server: RalphLanguageServer, kind: types.MessageType, text: str) -> None:
    server.window_show_message(types.ShowMessageParams(type=kind, message=text))


def _log(server: RalphLanguageServer, text: str) -> None:
    server.window_log_message(types.LogMessageParams(type=types.MessageType.Log, message=text))
