"""Choices of a set-up for a wizard, and ``ralph propose``. Nothing is written.

``propose`` lets an agent break a task down into plan items.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from pydantic import ValidationError

from ralph_ls.cli.context import CommandWorktree, current_worktree
from ralph_ls.cli.flags import (
    AgentCommand,
    AgentName,
    AgentPrompt,
    Description,
    Json,
    agent_words,
    profile_named,
)
from ralph_ls.cli.output import emit_document, emit_json, print_text
from ralph_ls.cli.parameters import option
from ralph_ls.core.prompt.proposal import HEADINGS
from ralph_ls.protocol.config.config import CONFIG_FILE, ProfileName
from ralph_ls.protocol.errors import UsageError
from ralph_ls.protocol.lsp.setup import (
    AgentChoice,
    PlanItem,
    ProfileChoice,
    ProposePlanParams,
    ProposePlanResult,
    SetupChoicesResult,
    SetupDefaults,
)

if TYPE_CHECKING:
    from ralph_ls.store.project.config_file import LoadedSettings

_WORDS = {
    ProfileName.FIXPLAN: (
        "Fix plan",
        "One list of tasks by priority; the agent works it off and reports",
    ),
    ProfileName.SPEC: (
        "Specifications",
        "Specifications in specs/, and a plan that the agent keeps in step with them",
    ),
    ProfileName.STORIES: (
        "User stories",
        "Stories in a JSON file, each implemented, reviewed and approved in separate iterations",
    ),
    ProfileName.BEADS: (
        "Beads",
        "The issues stored in bd; the loop works until none is ready",
    ),
    ProfileName.ISSUE: (
        "Issue",
        "One request, from a file or a GitHub issue, until it is done or a question is open",
    ),
}
"""Title and detail of each, in the order in which they are offered."""


def profile_choices() -> tuple[ProfileChoice, ...]:
    """The profiles, in the order in which they are offered."""
    from ralph_ls.core.loop.profiles import profile_of
    from ralph_ls.store.setup.setup import PROFILES_WITHOUT_ITEMS

    return tuple(
        ProfileChoice(
            name=name,
            title=title,
            detail=detail,
            plan=next(iter(profile_of(name).plan_files), ""),
            needs_items=name not in PROFILES_WITHOUT_ITEMS,
        )
        for name, (title, detail) in _WORDS.items()
    )


def setup_choices(place: CommandWorktree, environment: Mapping[str, str]) -> SetupChoicesResult:
    """What a set-up here can choose; raises ``ConfigError`` for unreadable settings."""
    from ralph_ls.engine.run.proposals import find_agents
    from ralph_ls.store.project.config_file import load_settings
    from ralph_ls.store.run.launch import EDITOR_LIMIT
    from ralph_ls.store.setup.setup import existing_plan
    from ralph_ls.store.setup.task_templates import load_templates

    root = place.worktree.root
    settings = load_settings(root, environment, {})
    config = settings.config
    templates = load_templates(environment)
    is_clear = settings.names_profile or len(settings.detected) == 1
    agents = find_agents(place.worktree, place.state, settings, environment)
    agent = _default_agent(settings, environment, place, agents)
    return SetupChoicesResult(
        profiles=profile_choices(),
        profile=config.profile if is_clear else None,
        templates=templates.choices,
        template_folder=str(templates.folder),
        agents=agents,
        existing_plan=existing_plan(root),
        already_set_up=(root / CONFIG_FILE).exists(),
        defaults=SetupDefaults(
            max_iterations=config.max_iterations or EDITOR_LIMIT,
            timeout=config.timeouts.iteration,
            completion_phrase=config.promise.complete,
            agent=agent,
            max_cost_usd=config.max_cost_usd,
        ),
        notes=templates.problems,
    )


def _default_agent(
    settings: LoadedSettings,
    environment: Mapping[str, str],
    place: CommandWorktree,
    agents: tuple[AgentChoice, ...],
) -> str:
    """The one that a run would take; where it would ask which is meant, the first that is here."""
    from ralph_ls.engine.agent.selection import with_agent

    try:
        name = with_agent(settings, environment, place.worktree.root).config.agent
    except UsageError:
        return agents[0].name
    return name if name in {one.name for one in agents} else agents[0].name


def propose_plan(
    description: Description = None,
    template: Annotated[
        str | None,
        option("NAME", "Give the tasks of a template as an example.", default="no example"),
    ] = None,
    profile: Annotated[
        str | None, option("PROFILE", "The profile of the plan.", default="from the settings")
    ] = None,
    agent: AgentName = None,
    agent_command: AgentCommand = None,
    agent_prompt: AgentPrompt = None,
    attached: Annotated[bool, typer.Option("--attached", hidden=True)] = False,
    as_json: Json = False,
) -> None:
    """Have an agent propose tasks for a plan; nothing is written."""
    from ralph_ls.store.run.launch import reporting_refusals

    if attached:
        # For an editor: one line of JSON, and the end of the input calls the agent back.
        with reporting_refusals():
            order = ProposePlanParams.model_validate_json(sys.stdin.buffer.readline())
            emit_json(_propose(order, attached=True).model_dump(mode="json", by_alias=True))
        return
    current_worktree()
    if description is None:
        raise UsageError("say what should be done, such as: ralph propose --description '…'")
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
        emit_document(found)
    else:
        _show(found)


def _propose(order: ProposePlanParams, *, attached: bool) -> ProposePlanResult:
    from ralph_ls.core.setup.draft import check_draft, errors_of
    from ralph_ls.engine.clock import SystemClock
    from ralph_ls.engine.run.proposals import ProposalRequest, propose
    from ralph_ls.store.layout import new_run_id
    from ralph_ls.store.setup.setup import existing_plan
    from ralph_ls.store.setup.task_templates import find_template, load_templates

    errors = errors_of(check_draft(description=order.description))
    if errors:
        raise UsageError(errors[0].message.rstrip("."))
    root = current_worktree().worktree.root
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
    stoppable = Stoppable(attached=attached)
    return propose(request, name=new_run_id(SystemClock().now()), on_stopper=stoppable.take)


class Stoppable:
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
    way = None if order.agent_prompt is None else order.agent_prompt.value
    return {
        "profile": None if order.profile is None else order.profile.value,
        **agent_overrides(order.agent, order.agent_command, way),
    }


def agent_overrides(
    agent: str | None, command: Sequence[str] | None, prompt: str | None
) -> dict[str, Any]:
    """The settings of the agent that flags name; ``prompt`` is how a command gets its prompt."""
    if command is None:
        return {"agent": agent}
    table: dict[str, Any] = {"argv": list(command)}
    if prompt is not None:
        table["prompt"] = prompt
    return {"agent": "command", "agents.command": table}


def _show(found: ProposePlanResult) -> None:
    for priority, heading in HEADINGS.items():
        items = [item for item in found.items if item.priority == priority]
        if items:
            print_text(f"{heading}\n")
            for item in items:
                print_text(f"- [ ] {item.title}")
                for line in item.detail.splitlines():
                    print_text(f"  {line}")
            print_text("")
    for note in found.notes:
        print_text(f"Note: {note}")
