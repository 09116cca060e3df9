"""Delivery of one notification: to addresses, to a command and to the issue, each as a process.

Used by a run, by ``ralph notify test`` without one, and by a start that is refused because the
repository needs ``ralph allow``, for a user who is away. A process gets its text on standard input,
has a time limit and ends with everything below it; nothing that an agent or a stranger wrote is
part of a command line. A problem is a value, never raised.
"""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ralph_ls.core.notify.occasions import Notification
from ralph_ls.core.notify.schedule import Outgoing, address_names, destinations_of, quiet_until
from ralph_ls.core.notify.texts import body_of, comment_of, payload_of, title_of
from ralph_ls.core.redaction.redactor import Redactor
from ralph_ls.core.redaction.secret_names import secrets_of, secrets_of_addresses
from ralph_ls.core.views.model.control_chars import escape_control_chars
from ralph_ls.engine.agent.environment import (
    agent_environment,
    base_agent_environment,
    find_program,
)
from ralph_ls.engine.clock import Clock
from ralph_ls.protocol.config.notify import COMMAND, GITHUB, NotifyConfig, NotifyEvent
from ralph_ls.protocol.errors import AgentUnavailable, NotAllowed, RalphError, UsageError
from ralph_ls.protocol.plan import IssueReference, RequestKind, read_reference
from ralph_ls.protocol.run.state import RunState
from ralph_ls.store.external.gh import comment_words, find_gh
from ralph_ls.store.external.programs import ProgramOutput, run_program
from ralph_ls.store.external.supervisor import Supervisor
from ralph_ls.store.own_python import own_command
from ralph_ls.store.project.config_file import LoadedSettings

TIME_LIMIT_SECONDS = 30.0
"""Seconds that a program gets; a run that has ended waits for it no longer."""

LARGEST_ANSWER = 100_000
SHOWN_CHARACTERS = 300
LONGEST_VARIABLE = 4000

CHECK_IT = "check it: ralph notify test"


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """What became of a notification at one destination."""

    to: str
    problem: str = ""
    """Why it was not sent; empty where it was."""
    remedy: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Postman:
    """Everything that sending needs, of a run or of a test."""

    root: Path
    config: NotifyConfig
    environment: Mapping[str, str]
    redact: Callable[[str], str]
    marker: str = ""
    """Of the run, for commands, which may answer, note and stop."""
    check_command: Callable[[tuple[str, ...]], None] = lambda _argv: None
    """Raises a ``RalphError`` where the command may not run."""
    supervisor: Supervisor | None = None


def deliver(outgoing: Outgoing, run: RunState, postman: Postman) -> tuple[Delivered, ...]:
    """Send a notification to its destinations, one after the other; blocks, and never fails."""
    found: list[Delivered] = []
    wanted = destinations_of(outgoing.notification.event, postman.config)
    addresses = {
        name: address for name, address in address_names(postman.config).items() if name in wanted
    }
    if addresses:
        found += _guarded(list(addresses), lambda: _to_addresses(outgoing, run, addresses, postman))
    if COMMAND in wanted:
        found += _guarded([COMMAND], lambda: _to_command(outgoing, run, postman))
    if GITHUB in wanted and (issue := issue_of(run)) is not None:
        found += _guarded([GITHUB], lambda: _to_issue(outgoing, run, issue, postman))
    return tuple(found)


def issue_of(run: RunState) -> IssueReference | None:
    """The issue on GitHub that the run works on."""
    request = run.request
    is_github = request is not None and request.kind is RequestKind.GITHUB
    return read_reference(request.source) if request is not None and is_github else None


def _guarded(names: Sequence[str], send: Callable[[], list[Delivered]]) -> list[Delivered]:
    try:
        return send()
    except RalphError as error:
        problem = error.message
    except subprocess.TimeoutExpired:
        problem = f"it took longer than {TIME_LIMIT_SECONDS:g} s and was ended"
    except OSError as error:
        problem = f"it cannot be run: {error.strerror or error}"
    return [Delivered(to=name, problem=problem, remedy=CHECK_IT) for name in names]


def _to_addresses(
    outgoing: Outgoing, run: RunState, addresses: Mapping[str, str], postman: Postman
) -> list[Delivered]:
    order = {
        "addresses": dict(addresses),
        "title": postman.redact(title_of(outgoing, run)),
        "body": postman.redact(body_of(outgoing, run)),
    }
    words = own_command("-m", "ralph_ls.engine.notify.sender")
    done = _run(words, postman, base_agent_environment(postman.environment), json.dumps(order))
    answer: Any = None
    with contextlib.suppress(ValueError):
        answer = json.loads(done.stdout)
    if not isinstance(answer, dict):
        problem = postman.redact(_ended(done))
        return [Delivered(to=name, problem=problem, remedy=CHECK_IT) for name in addresses]
    if "problems" not in answer:
        problem = "Apprise, which sends to addresses, is not installed"
        return [
            Delivered(to=name, problem=problem, remedy=f"install it: {install_command()}")
            for name in addresses
        ]
    problems = answer["problems"]
    return [
        Delivered(to=name, problem=_shown(problems[name], postman), remedy=CHECK_IT)
        for name in addresses
    ]


def install_command() -> str:
    """The command that adds Apprise to the Python that ``ralph`` runs in."""
    program = sys.executable
    if find_spec("pip") is not None:
        return f"{program} -m pip install apprise"
    return f"uv pip install --python {program} apprise"


def has_apprise() -> bool:
    """Whether addresses can be sent to; nothing of Apprise is loaded."""
    return find_spec("apprise") is not None


def _to_command(outgoing: Outgoing, run: RunState, postman: Postman) -> list[Delivered]:
    argv = postman.config.command
    postman.check_command(argv)
    payload = _redacted(payload_of(outgoing, run), postman.redact)
    found = outgoing.notification
    environment = agent_environment(
        postman.environment,
        marker=postman.marker,
        start=found.start,
        iteration=found.iteration,
        max_iterations=None,
        scratch=None,
    ) | {
        f"RALPH_{name.upper()}": str(payload[name]).replace("\0", "")[:LONGEST_VARIABLE]
        for name in ("event", "title", "text", "run", "source", "url", "branch", "workspace")
    }
    program = _program(argv[0], environment, postman.root)
    given = json.dumps(payload, ensure_ascii=False)
    done = _run((str(program), *argv[1:]), postman, environment, given)
    problem = "" if done.code == 0 else postman.redact(_ended(done))
    return [Delivered(to=COMMAND, problem=problem, remedy=CHECK_IT)]


def _program(name: str, environment: Mapping[str, str], root: Path) -> Path:
    try:
        return find_program(_at_home(name), environment, root)
    except AgentUnavailable as error:
        raise UsageError(
            f"its program {name!r} was not found; install it, or change notify.command"
        ) from error


def _at_home(name: str) -> str:
    return str(Path(name).expanduser()) if name.startswith("~") else name


def require_whole_path(argv: tuple[str, ...]) -> None:
    """Raise ``UsageError`` for a path in whatever repository the run is in.

    The setting is the user's, but the file there is the repository's, which nobody has approved.
    """
    name = argv[0]
    is_path = Path(name).name != name
    if is_path and not Path(_at_home(name)).is_absolute():
        raise UsageError(
            f"notify.command starts {name!r} in the folder of each run; give its whole path, such "
            f"as ~/bin/{Path(name).name}"
        )


def _to_issue(
    outgoing: Outgoing, run: RunState, issue: IssueReference, postman: Postman
) -> list[Delivered]:
    gh = find_gh(postman.root, {**postman.environment})
    comment = postman.redact(comment_of(outgoing, run))
    done = _run(comment_words(gh, issue), postman, gh.environment, comment)
    problem = "" if done.code == 0 else postman.redact(_ended(done))
    repository = f" --repo={issue.repository}" if issue.repository else ""
    remedy = f"see the issue: gh issue view {issue.number}{repository}"
    return [Delivered(to=GITHUB, problem=problem, remedy=remedy)]


def _run(
    words: Sequence[str], postman: Postman, environment: Mapping[str, str], given: str
) -> ProgramOutput:
    return run_program(
        words,
        # The work tree may be what has gone.
        cwd=next(one for one in (postman.root, *postman.root.parents) if one.is_dir()),
        environment=environment,
        timeout_seconds=TIME_LIMIT_SECONDS,
        largest_answer=LARGEST_ANSWER,
        supervisor=postman.supervisor,
        typed=given,
    )


def _redacted(value: Any, redact: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, list):
        return [_redacted(one, redact) for one in value]
    if isinstance(value, dict):
        return {name: _redacted(one, redact) for name, one in value.items()}
    return value


def _ended(done: ProgramOutput) -> str:
    """How a program failed, with its last line."""
    lines = [line.strip() for line in f"{done.stdout}\n{done.stderr}".splitlines()]
    said = next((line for line in reversed(lines) if line), "")
    shown = f": {escape_control_chars(said)[-SHOWN_CHARACTERS:]}" if said else ""
    if done.code < 0:
        with contextlib.suppress(ValueError):
            return f"it was ended by {signal.Signals(-done.code).name}{shown}"
    return f"it ended with {done.code}{shown}"


def _shown(problem: object, postman: Postman) -> str:
    return postman.redact(escape_control_chars(str(problem)))


# ---------------------------------------------------------------------------------- a refused start


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
