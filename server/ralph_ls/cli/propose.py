"""``ralph propose``: let an agent break a task down into plan items; nothing is written."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import ValidationError

from ralph_ls.cli.context import here
from ralph_ls.cli.flags import (
    AgentCommand,
    AgentName,
    AgentPrompt,
    Description,
    Json,
    agent_words,
    profile_named,
)
from ralph_ls.cli.output import emit_json, say
from ralph_ls.core.prompt.proposal import HEADINGS
from ralph_ls.core.setup.draft import check_draft, errors_of
from ralph_ls.protocol.errors import UsageError
from ralph_ls.protocol.lsp.setup import PlanItem, ProposePlanParams, ProposePlanResult


def propose_plan(
    description: Description = None,
    template: Annotated[
        str | None, typer.Option(help="Give the items of a template as an example.")
    ] = None,
    profile: Annotated[str | None, typer.Option(help="The profile of the plan.")] = None,
    agent: AgentName = None,
    agent_command: AgentCommand = None,
    agent_prompt: AgentPrompt = None,
    attached: Annotated[bool, typer.Option("--attached", hidden=True)] = False,
    as_json: Json = False,
) -> None:
    """Let an agent propose plan items for a task; nothing is written."""
    from ralph_ls.store.run.launch import reporting_refusals

    if attached:
        # For an editor: one line of JSON, and the end of the input calls the agent back.
        with reporting_refusals():
            order = ProposePlanParams.model_validate_json(sys.stdin.buffer.readline())
            emit_json(_propose(order, attached=True).model_dump(mode="json", by_alias=True))
        return
    here()
    if description is None:
        raise UsageError("say what is to be done, such as: ralph propose --description '…'")
    text = sys.stdin.read() if description == "-" else description
    argv, way = agent_words(agent_command, agent_prompt, agent) or (None, None)
    named = None if profile is None else profile_named(profile)
    try:
        order = ProposePlanParams.model_validate(
            {
                "description": text,
                "template": template,
                "profile": named,
                "agent": agent,
                "agent_command": argv,
                "agent_prompt": way,
            }
        )
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise UsageError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error
    found = _propose(order, attached=False)
    if as_json:
        emit_json(found.model_dump(mode="json", by_alias=True))
    else:
        _show(found)


def _propose(order: ProposePlanParams, *, attached: bool) -> ProposePlanResult:
    from ralph_ls.engine.clock import SystemClock
    from ralph_ls.engine.run.setup import ProposalRequest, propose
    from ralph_ls.store.layout import new_run_id
    from ralph_ls.store.setup.setup import existing_plan
    from ralph_ls.store.setup.task_templates import find_template, load_templates

    errors = errors_of(check_draft(description=order.description))
    if errors:
        raise UsageError(errors[0].message.rstrip("."))
    root = here().worktree.root
    example: tuple[PlanItem, ...] = ()
    if order.template is not None:
        example = find_template(load_templates(os.environ), order.template).items
    request = ProposalRequest(
        folder=Path.cwd(),
        environment=dict(os.environ),
        description=order.description,
        overrides=_overrides(order),
        example=example,
        plan_path=existing_plan(root),
    )
    stoppable = _Stoppable(attached=attached)
    return propose(request, name=new_run_id(SystemClock().now()), on_stopper=stoppable.take)


class _Stoppable:
    """What ends the agent: a signal, or the end of standard input where somebody is attached."""

    def __init__(self, *, attached: bool) -> None:
        self._attached = attached

    def take(self, stop: Callable[[], None]) -> None:
        """From now on the agent runs, and can be stopped by ``stop``."""
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, lambda *_: stop())
        if self._attached:
            threading.Thread(target=_at_the_end, args=(stop,), name="attached", daemon=True).start()


def _at_the_end(stop: Callable[[], None]) -> None:
    # Unbuffered: a reader that holds a lock would keep the interpreter from ending.
    while os.read(0, 65_536):
        pass
    stop()


def _overrides(order: ProposePlanParams) -> dict[str, Any]:
    overrides: dict[str, Any] = {
        "profile": None if order.profile is None else order.profile.value,
        "agent": order.agent,
    }
    if order.agent_command is not None:
        table: dict[str, Any] = {"argv": list(order.agent_command)}
        if order.agent_prompt is not None:
            table["prompt"] = order.agent_prompt.value
        overrides |= {"agent": "command", "agents.command": table}
    return overrides


def _show(found: ProposePlanResult) -> None:
    for priority, heading in HEADINGS.items():
        items = [item for item in found.items if item.priority == priority]
        if items:
            say(f"{heading}\n")
            for item in items:
                say(f"- [ ] {item.title}")
                for line in item.detail.splitlines():
                    say(f"  {line}")
            say("")
    for note in found.notes:
        say(f"Note: {note}")
