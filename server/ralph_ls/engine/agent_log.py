"""Which log for people a run writes, and what of the agent goes into it (SPEC §3, §4)."""

from __future__ import annotations

from ralph_ls.core.agent.messages import AgentMessage
from ralph_ls.core.views.text.agent_output import message_line
from ralph_ls.engine.clock import Clock
from ralph_ls.engine.workspace import Workspace
from ralph_ls.protocol.config.agent import Dialect
from ralph_ls.protocol.run.events import AgentExited
from ralph_ls.store.files import PRIVATE_FILE
from ralph_ls.store.run.logs import STDERR, JsonlLog, TextLog
from ralph_ls.store.run.summary_file import SummaryFile

Log = TextLog | JsonlLog


def make_log(workspace: Workspace, clock: Clock) -> Log:
    """The log that the settings ask for; B's can be left out, all but its summary."""
    config, outside = workspace.config, workspace.log_folder_outside
    mode_word = workspace.source.mode_word
    if outside is None:
        return TextLog(
            workspace.root,
            config.paths.logs,
            form=config.log_form,
            started=clock.local(),
            mode_word=mode_word,
        )
    folder = workspace.files.folder
    return JsonlLog(
        outside if config.log else None,
        summary=SummaryFile(folder, folder, mode=PRIVATE_FILE, mode_word=mode_word),
        started=clock.local(),
        now=clock.now,
    )


def log_output(log: Log, stream: str, data: bytes, dialect: Dialect) -> None:
    """Log what the agent prints. B's log has all of it; of records others have only the words."""
    if isinstance(log, JsonlLog):
        log.hear(stream, data)
    elif stream == STDERR or dialect is Dialect.TEXT:
        log.write(data)


def log_messages(log: Log, messages: list[AgentMessage], dialect: Dialect) -> None:
    """Log the words of an agent that prints records, in a log for people."""
    if dialect is Dialect.TEXT or isinstance(log, JsonlLog):
        return
    lines = [f"{line}\n" for message in messages if (line := message_line(message))]
    if lines:
        log.write("".join(lines).encode("utf-8", errors="replace"))


def exit_code_of(exited: AgentExited | None) -> int | None:
    """As a shell tells it; None where nobody saw the end."""
    if exited is None or exited.signal is None:
        return None if exited is None else exited.exit_code
    return 128 + exited.signal
