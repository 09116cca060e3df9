"""``ralph notify test``: sends a sample to every destination, as a run would, and reports each."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ralph_ls.cli.flags import Json
from ralph_ls.cli.output import print_error, print_text, write_json
from ralph_ls.cli.parameters import argument, option
from ralph_ls.core.suggestions import did_you_mean
from ralph_ls.protocol.config.notify import BELL, GITHUB, NotifyEvent
from ralph_ls.protocol.errors import NotAllowed, UsageError, WorkspaceMissing

if TYPE_CHECKING:
    from ralph_ls.engine.notify.delivery import Delivered, Postman
    from ralph_ls.store.project.config_file import LoadedSettings

ACTIONS = ("test",)
EVENTS = tuple(event.value for event in NotifyEvent)

FAILED = 1
"""What the verb ends with where something was not sent."""


def notify_verb(
    action: Annotated[str, argument("[test]", "What to do.")] = "test",
    event: Annotated[
        str, option("EVENT", "The event to send a sample of, such as complete.")
    ] = NotifyEvent.QUESTION.value,
    as_json: Json = False,
) -> None:
    """Send a sample of an event to every destination under [notify].

    Quiet hours and the interval do not count for it, and nothing is posted to an issue.
    """
    if action not in ACTIONS:
        raise UsageError(f"unknown action {action!r}{did_you_mean(action, ACTIONS)}")
    if event not in EVENTS:
        raise UsageError(f"unknown event {event!r}{did_you_mean(event, EVENTS) or _all_events()}")
    found = _send(NotifyEvent(event))
    if as_json:
        _print_json(event, found)
    else:
        _print(event, found)
    if any(one.problem for one in found):
        raise typer.Exit(FAILED)


def _print_json(event: str, found: list[Delivered]) -> None:
    from ralph_ls.protocol.json_output import NotifyResult, NotifyTest

    destinations = tuple(
        NotifyResult(to=one.to, sent=not one.problem, problem=one.problem or None) for one in found
    )
    shown = NotifyTest(event=NotifyEvent(event), destinations=destinations)
    write_json(shown.model_dump_json(by_alias=True, exclude_none=True, indent=2))


def _print(event: str, found: list[Delivered]) -> None:
    for one in found:
        print_text(f"{one.to}: {'not sent' if one.problem else 'sent'}")
    for one in found:
        if one.problem:
            step = f"; {one.remedy}" if one.remedy else ""
            print_error(f"{event} was not sent to {one.to}: {one.problem}{step}")


def _all_events() -> str:
    return f"; choose one of: {', '.join(EVENTS)}"


def _send(event: NotifyEvent) -> list[Delivered]:
    from ralph_ls.core.notify.occasions import sample_of
    from ralph_ls.core.notify.schedule import Outgoing, destinations_of, unknown_destinations
    from ralph_ls.engine.notify.delivery import Delivered, deliver
    from ralph_ls.protocol.run.state import RunState
    from ralph_ls.store.project.config_file import load_settings

    root = _root()
    settings = load_settings(root, dict(os.environ), {})
    config = settings.config.notify
    if unknown := unknown_destinations(config):
        raise UsageError(
            f"notify.events names {', '.join(unknown)}, which is not a destination; name urls, "
            "command, bell, github, or the name of an address"
        )
    wanted = destinations_of(event, config)
    if not wanted:
        raise UsageError(_nothing_set(event, settings))
    run = RunState(run="20260131T120000Z-1a2b", workspace=str(root), config=settings.config)
    found = list(deliver(Outgoing(notification=sample_of(event)), run, _postman(root, settings)))
    if BELL in wanted:
        sys.stdout.write("\a" * sys.stdout.isatty())
        problem = "" if sys.stdout.isatty() else "the output is no terminal"
        found.append(Delivered(to=BELL, problem=problem))
    if GITHUB in wanted:
        print_error(f"{GITHUB} was not tested, since a comment needs the issue of a run")
    return found


def _nothing_set(event: NotifyEvent, settings: LoadedSettings) -> str:
    from ralph_ls.core.notify.schedule import wanted_names

    if wanted_names(settings.config.notify, event) is not None:
        return f"notify.events.{event.value} names no destination that is set; see: ralph config"
    return (
        "no destination is set; set one, such as: ralph config set --user notify.urls "
        "ntfys://ntfy.sh/TOPIC; see: ralph help notifications"
    )


def _root() -> Path:
    """The work tree, or this folder where there is none: the user's own settings count anywhere."""
    from ralph_ls.cli.context import current_worktree

    try:
        return current_worktree().worktree.root
    except WorkspaceMissing:
        return Path.cwd()


def _postman(root: Path, settings: LoadedSettings) -> Postman:
    from ralph_ls.core.redaction.redactor import Redactor
    from ralph_ls.core.redaction.secret_names import secrets_of, secrets_of_addresses
    from ralph_ls.engine.notify.delivery import Postman, require_whole_path

    config = settings.config.notify
    known = secrets_of(os.environ) | secrets_of_addresses(config.urls)
    brought = "command" in settings.from_file.get("notify", {})

    def check(argv: tuple[str, ...]) -> None:
        if brought:
            _require_allowed(settings)
        else:
            require_whole_path(argv)

    return Postman(
        root=root,
        config=config,
        environment=dict(os.environ),
        redact=Redactor(known).redact,
        check_command=check,
    )


def _require_allowed(settings: LoadedSettings) -> None:
    from ralph_ls.cli.context import current_worktree
    from ralph_ls.engine.run.preparation import claims_here
    from ralph_ls.store.project import trust

    place = current_worktree()
    claims = claims_here(place.worktree, place.state, settings)
    missing = trust.unapproved_claims(place.state, claims)
    if any(claim.key.split(":")[0] == "notify.command" for claim in missing):
        raise NotAllowed("this repository brings it and you haven't approved it: ralph allow")
