"""The set-up wizard's requests: what can be chosen, judging a draft, a proposed plan, the files.

Starting or finding a program is left to a separate process, since the editor's server knows no
agent; a client that gives up waiting ends that process, and the agent with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ralph_ls.core.setup.draft import check_draft, errors_of, items_of_description
from ralph_ls.editor.lsp.errors import FieldProblem, InvalidParams, invalid_field
from ralph_ls.editor.requests import reviews
from ralph_ls.editor.requests.control import trusted_workspace
from ralph_ls.editor.scheduling import run_in_thread
from ralph_ls.editor.worktree.workspaces import Workspaces, WorkspaceView
from ralph_ls.protocol.base import WireModel
from ralph_ls.protocol.errors import WorkspaceBusy
from ralph_ls.protocol.lsp.methods import PROPOSE_PLAN, SETUP
from ralph_ls.protocol.lsp.setup import (
    AllowParams,
    ClaimsParams,
    ClaimsResult,
    ClaimView,
    ConfigureParams,
    ConfigureResult,
    DemoParams,
    DemoResult,
    PlansParams,
    PlansResult,
    ProposePlanParams,
    ProposePlanResult,
    SetupChoicesParams,
    SetupChoicesResult,
    SetupParams,
    SetupResult,
    ValidateSetupParams,
    ValidateSetupResult,
)
from ralph_ls.protocol.verb_output import Approvals
from ralph_ls.store.run.lock import is_held
from ralph_ls.store.run.one_shot_process import OneShotProcess
from ralph_ls.store.setup.setup import (
    PROFILES_WITHOUT_ITEMS,
    plan_setup,
    setup_problems,
    write_setup,
)

SHOWN_CHARACTERS = 4000
"""Of one command or file; the client opens the file for the rest."""


async def setup_choices(workspaces: Workspaces, params: SetupChoicesParams) -> SetupChoicesResult:
    """``ralph/setupChoices``."""
    await workspaces.ready()
    view = workspaces.named(params.workspace)
    printed = await _run_setup_process(workspaces, view, ["init", "--choices", "--json"])
    return SetupChoicesResult.model_validate_json(printed)


async def validate_setup(
    workspaces: Workspaces, params: ValidateSetupParams
) -> ValidateSetupResult:
    """``ralph/validateSetup``; the rules are the same in every work tree."""
    await workspaces.ready()
    problems = check_draft(
        description=params.description,
        completion_phrase=params.completion_phrase,
        timeout=params.timeout,
        items=params.items or None if params.profile in PROFILES_WITHOUT_ITEMS else params.items,
    )
    return ValidateSetupResult(problems=problems)


async def propose_plan(workspaces: Workspaces, params: ProposePlanParams) -> ProposePlanResult:
    """``ralph/proposePlan``; being cancelled ends the agent with all that it started."""
    view = await trusted_workspace(workspaces, params.workspace)
    _require_one_agent(params, PROPOSE_PLAN)
    errors = errors_of(check_draft(description=params.description))
    if errors:
        raise invalid_field(PROPOSE_PLAN, "description", errors[0].message)
    order = params.model_copy(update={"workspace": None})
    request = order.model_dump_json(by_alias=True, exclude_none=True).encode()
    printed = await _run_setup_process(
        workspaces, view, ["propose", "--attached", "--json"], request
    )
    return ProposePlanResult.model_validate_json(printed)


async def setup(workspaces: Workspaces, params: SetupParams) -> SetupResult:
    """``ralph/setup``: shows every file, or writes them all."""
    view = await trusted_workspace(workspaces, params.workspace)
    _require_one_agent(params, SETUP)
    if params.items_from_description and not params.items:
        items = items_of_description(params.description)
        params = params.model_copy(update={"items": items})
    judge = partial(setup_problems, view.root, params)
    errors = errors_of(await run_in_thread(judge, name="set-up"))
    if errors:
        problems = [FieldProblem(field=one.field.value, message=one.message) for one in errors]
        raise InvalidParams(SETUP, problems)
    today = workspaces.now().astimezone().date()
    environment = workspaces.environment
    plan_it = partial(plan_setup, view.root, params, environment=environment, today=today)
    planned = await run_in_thread(plan_it, name="set-up")
    notes = planned.notes
    if not params.dry_run:
        write_it = partial(write_setup, view.worktree, view.folders.state, planned, params)
        notes += await run_in_thread(write_it, name="set-up")
        await view.scan()
    return SetupResult(
        written=not params.dry_run and bool(planned.written),
        files=tuple(file.to_wire() for file in planned.files),
        notes=notes,
    )


async def claims(workspaces: Workspaces, params: ClaimsParams) -> ClaimsResult:
    """``ralph/claims``: what ``ralph allow`` would show here."""
    view = await trusted_workspace(workspaces, params.workspace)
    return _read_claims(await reviews.run_allow(workspaces, view))


async def allow(workspaces: Workspaces, params: AllowParams) -> ClaimsResult:
    """``ralph/allow``: approves exactly what the user was shown; a live run has to accept it."""
    view = await trusted_workspace(workspaces, params.workspace)
    return _read_claims(await reviews.run_allow(workspaces, view, params.shown))


def _read_claims(found: Approvals) -> ClaimsResult:
    return ClaimsResult(
        allowed=found.allowed,
        digest=found.sha256,
        claims=tuple(
            ClaimView(
                key=one.key,
                text=one.text[:SHOWN_CHARACTERS],
                cut=len(one.text) > SHOWN_CHARACTERS,
                path=one.path,
                allowed=one.allowed,
                not_covered=one.not_covered,
            )
            for one in found.claims
        ),
    )


async def demo(workspaces: Workspaces, _params: DemoParams) -> DemoResult:
    """``ralph/demo``; the folder is opened and started by the client, as any other."""
    await workspaces.ready()
    order = ["demo", "--no-run", "--json"]
    return DemoResult.model_validate_json(await _run(workspaces, Path.home(), order))


async def configure(workspaces: Workspaces, params: ConfigureParams) -> ConfigureResult:
    """``ralph/configure``, as ``ralph config set``.

    Not while a run is under way: an agent may have changed the editor's settings, and the editor
    passes on whatever they have become.
    """
    view = await trusted_workspace(workspaces, params.workspace)
    if await run_in_thread(partial(is_held, view.worktree.git_dir), name="lock"):
        raise WorkspaceBusy(
            f"a run is under way in {view.root}, so {params.key} was not written; set it again "
            "when the run has ended"
        )
    words = ["unset", params.key] if params.value is None else ["set", params.key, params.value]
    order = ["config", *words, "--json", *(["--user"] if params.user else [])]
    printed = await _run_setup_process(workspaces, view, order)
    return ConfigureResult(text=printed.decode(errors="replace").strip())


async def plans(workspaces: Workspaces, params: PlansParams) -> PlansResult:
    """``ralph/plans``, as ``ralph plan --all``."""
    await workspaces.ready()
    view = workspaces.named(params.workspace)
    printed = await _run_setup_process(workspaces, view, ["plan", "--all", "--json"])
    return PlansResult.model_validate_json(printed)


async def _run_setup_process(
    workspaces: Workspaces, view: WorkspaceView, arguments: list[str], request: bytes = b""
) -> bytes:
    return await _run(workspaces, view.root, arguments, request)


async def _run(
    workspaces: Workspaces, folder: Path, arguments: list[str], request: bytes = b""
) -> bytes:
    errand = await run_in_thread(
        partial(OneShotProcess, arguments, cwd=folder, environment=workspaces.environment),
        name="errand start",
    )
    try:
        return await run_in_thread(partial(errand.run, request), name="errand")
    except asyncio.CancelledError:
        errand.cancel()
        raise


def _require_one_agent(params: ProposePlanParams | SetupParams, method: str) -> None:
    if params.agent is not None and params.agent_command is not None:
        raise invalid_field(method, "agentCommand", "give agent or agentCommand, not both")
    if params.agent_prompt is not None and params.agent_command is None:
        raise invalid_field(method, "agentPrompt", "goes with agentCommand")


HANDLERS: Mapping[str, Callable[[Workspaces, Any], Awaitable[WireModel]]] = MappingProxyType(
    {
        "setupChoices": setup_choices,
        "validateSetup": validate_setup,
        "proposePlan": propose_plan,
        "setup": setup,
        "claims": claims,
        "allow": allow,
        "demo": demo,
        "configure": configure,
        "plans": plans,
    }
)
"""By the name behind ``ralph/``, which is also the command's behind ``ralph.``."""
