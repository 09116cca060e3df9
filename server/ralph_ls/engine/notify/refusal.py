"""Refused start: reports to the user who is away that a repository needs ``ralph allow``.

There is no run yet, so nothing records the outcome; the refusal itself is the start's own error.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from ralph_ls.core.notify.occasions import Notification
from ralph_ls.core.notify.schedule import Outgoing, quiet_until
from ralph_ls.core.redaction.redactor import Redactor
from ralph_ls.core.redaction.secret_names import secrets_of, secrets_of_addresses
from ralph_ls.engine.clock import Clock
from ralph_ls.engine.notify.delivery import Postman, deliver, require_whole_path
from ralph_ls.protocol.config.notify import NotifyEvent
from ralph_ls.protocol.errors import NotAllowed
from ralph_ls.protocol.run.state import RunState
from ralph_ls.store.project.config_file import LoadedSettings


def notify_of_refusal(
    settings: LoadedSettings,
    root: Path,
    environment: Mapping[str, str],
    error: NotAllowed,
    clock: Clock,
) -> None:
    """Send what needs approval, unless somebody sits at this terminal and reads the error.

    A command that the repository brings is not run: it may be what needs the approval.
    """
    config = settings.config.notify
    if "command" in settings.from_file.get("notify", {}):
        config = config.model_copy(update={"command": ()})
    if sys.stderr.isatty() or quiet_until(config, clock.local()) is not None:
        return
    found = Notification(event=NotifyEvent.APPROVAL, text=error.message, command="ralph allow")
    known = secrets_of(environment) | secrets_of_addresses(config.urls)
    postman = Postman(
        root=root,
        config=config,
        environment=environment,
        redact=Redactor(known).redact,
        check_command=require_whole_path,
    )
    deliver(Outgoing(notification=found), RunState(workspace=str(root)), postman)
