"""``ralph run``: a run in the foreground, in the background, or only a look at what it would do."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Annotated, Any

import typer

from ralph_ls.cli.commands.start_run import (
    iteration_count,
    prompt_plan,
    prompt_profile,
    request_overrides,
    run_detached,
    run_in_foreground,
    show_preview,
)
from ralph_ls.cli.context import plan_from_here
from ralph_ls.cli.flags import (
    AgentPrompt,
    AllowTool,
    AllowUnmetered,
    DenyTool,
    Issue,
    Json,
    MaxCost,
    MaxIterations,
    MaxTime,
    MaxTokens,
    MaxWait,
    Model,
    NoNetwork,
    Profile,
    Sandbox,
    Until,
    agent_words,
    budget_overrides,
    duration,
    lane_overrides,
    sandbox_overrides,
)
from ralph_ls.cli.parameters import argument, flag, option
from ralph_ls.core.loop.evidence.ownership import OwnershipOrder
from ralph_ls.core.plan.formats.stories.tasks import IMPLEMENT
from ralph_ls.protocol.config.config import FirstMode
from ralph_ls.protocol.errors import UsageError
from ralph_ls.store.layout import RUN_ID
from ralph_ls.store.run.launch import reporting_refusals

Iterations = Annotated[
    int | None,
    argument("[N]", "Stop after N iterations.", default="from the profile", parser=iteration_count),
]
Prompt = Annotated[
    str | None,
    option(
        "TEXT",
        "Work on this, without a plan; - reads standard input.",
        "-p",
        default="work on the plan",
    ),
]
PromptFile = Annotated[
    str | None,
    option(
        "FILE",
        "Work on the text of this file, without a plan.",
        "--prompt",
        default="work on the plan",
    ),
]
Agent = Annotated[
    str | None,
    option(
        "AGENT",
        "Use this agent, such as claude or codex, or one from [agents].",
        default="from the settings",
    ),
]
AgentCommand = Annotated[
    str | None,
    option(
        "COMMAND",
        "Use any program as the agent; quoted as in a shell, but no shell runs it.",
        default="none",
    ),
]
PlanPath = Annotated[
    str | None,
    option(
        "PLAN",
        "Use this plan: a file, or the name of a feature or change.",
        default="the one that is found",
    ),
]
Detach = Annotated[bool, flag("--detach", text="Run in the background.")]


def run_verb(
    n: Iterations = None,
    prompt: Prompt = None,
    prompt_file: PromptFile = None,
    profile: Profile = None,
    agent: Agent = None,
    agent_command: AgentCommand = None,
    agent_prompt: AgentPrompt = None,
    model: Model = None,
    allow_tool: AllowTool = None,
    deny_tool: DenyTool = None,
    plan: PlanPath = None,
    issue: Issue = None,
    mode: Annotated[
        str | None,
        option(
            "build|plan", "Start with this mode; plan rewrites the plan first.", default="build"
        ),
    ] = None,
    task: Annotated[
        str | None, option("TASK", "Work only on this task.", default="all tasks")
    ] = None,
    max_stuck: Annotated[
        int | None,
        option(
            "N",
            "Stop after N iterations in a row without a commit.",
            default="from the profile",
            min=1,
        ),
    ] = None,
    skip_review: Annotated[
        bool, flag("--skip-review", text="Let stories pass without a review.")
    ] = False,
    timeout: Annotated[
        str | None,
        option(
            "TIME", "Stop an iteration after this time, such as 30m.", default="from the profile"
        ),
    ] = None,
    max_iterations: MaxIterations = None,
    max_time: MaxTime = None,
    max_wait: MaxWait = None,
    until: Until = None,
    max_cost: MaxCost = None,
    max_tokens: MaxTokens = None,
    allow_unmetered: AllowUnmetered = False,
    branch: Annotated[
        str | None,
        option(
            "NAME", "Work on this branch; auto makes one for the task.", default="the current one"
        ),
    ] = None,
    parallel: Annotated[
        int | None,
        option(
            "N",
            "Work on N tasks at once, each in a separate work tree.",
            default="from the settings, else 1",
            min=1,
        ),
    ] = None,
    onto: Annotated[
        str | None,
        option(
            "BRANCH",
            "With --parallel: merge the tasks into this branch.",
            default="ralph/session-RUN",
        ),
    ] = None,
    direct: Annotated[
        bool, flag("--direct", text="With --parallel: merge into the branch that is checked out.")
    ] = False,
    push: Annotated[
        bool | None,
        typer.Option("--push/--no-push", help="Push the branch after each iteration, or never."),
    ] = None,
    sandbox: Sandbox = None,
    no_network: NoNetwork = False,
    on_halt: Annotated[
        str | None,
        option("exit|wait", "End or wait when the run needs you.", default="from the settings"),
    ] = None,
    review_every: Annotated[
        int | None,
        option("N", "Pause for your review after every N iterations.", default="never", min=1),
    ] = None,
    resume: Annotated[bool, flag("--resume", text="Continue the last run.")] = False,
    take_all: Annotated[
        bool,
        flag("--take-all", text="With --resume: uncommitted changes belong to the lost iteration."),
    ] = False,
    leave: Annotated[
        bool, flag("--leave", text="With --resume: uncommitted changes are yours.")
    ] = False,
    dry_run: Annotated[
        bool, flag("--dry-run", text="Show what would start, and start nothing.")
    ] = False,
    detach: Detach = False,
    as_json: Json = False,
    run_id: Annotated[str | None, typer.Option(hidden=True)] = None,
    by: Annotated[str, typer.Option(hidden=True)] = "ralph run",
) -> None:
    """Run a loop: one task from the plan, a commit, and again with a fresh agent.

    On a terminal, press ? for the keys. After kill -9, type stty sane, or reset after
    the full screen.
    """
    if run_id is not None and not RUN_ID.fullmatch(run_id):
        raise UsageError(f"--run-id {run_id!r} is not a run id")
    order = _order(take_all=take_all, leave=leave, resume=resume)
    _require_same_branch(branch, resume=resume)
    plan = plan_from_here(plan)
    of_request = request_overrides(
        issue=issue, text=prompt, file=prompt_file, profile=profile, resume=resume, dry_run=dry_run
    )
    profile = of_request.get("profile", profile)
    overrides = {
        **of_request,
        **budget_overrides(
            n,
            max_iterations=max_iterations,
            max_time=max_time,
            max_cost=max_cost,
            max_tokens=max_tokens,
            allow_unmetered=allow_unmetered,
        ),
        "profile": profile,
        "agent": agent,
        "paths.plan": plan,
        # What R calls it (docs/rules.md#names).
        "mode": FirstMode.BUILD.value if mode == IMPLEMENT else mode,
        "task": task,
        "max_stuck": max_stuck,
        "skip_review": skip_review or None,
        "max_wait": duration("--max-wait", max_wait),
        "run.until": until,
        "timeouts.iteration": duration("--timeout", timeout),
        "push": push,
        "work_branch": branch,
        **lane_overrides(parallel, onto=onto, direct=direct),
        "on_halt": on_halt,
        "review_points.every": review_every,
        "models.every": model,
        **sandbox_overrides(sandbox, no_network=no_network),
        "tools.allow": allow_tool or None,
        "tools.deny": deny_tool or None,
        **_agent_command(agent_command, agent_prompt, agent),
    }
    if not resume and not as_json and run_id is None:
        overrides["profile"] = profile or prompt_profile(overrides)
        overrides["paths.plan"] = plan or prompt_plan(overrides)
    if dry_run:
        show_preview(overrides, as_json=as_json)
    elif detach:
        run_detached(overrides, resume=resume, as_json=as_json, settle=order)
    else:
        launched = run_id is not None
        with reporting_refusals() if launched else contextlib.nullcontext():
            code = run_in_foreground(
                Path.cwd(),
                overrides,
                resume=resume,
                as_json=as_json,
                run_id=run_id,
                by=by,
                order=order,
            )
        raise typer.Exit(code)


def replan_verb(
    n: Iterations = None,
    profile: Annotated[
        str | None,
        option(
            "PROFILE",
            "Use this profile: spec or fixplan.",
            default="from the settings, else detected",
        ),
    ] = None,
    agent: Agent = None,
    agent_command: AgentCommand = None,
    agent_prompt: AgentPrompt = None,
    plan: PlanPath = None,
    sandbox: Sandbox = None,
    no_network: NoNetwork = False,
    max_iterations: MaxIterations = None,
    max_time: MaxTime = None,
    max_cost: MaxCost = None,
    max_tokens: MaxTokens = None,
    allow_unmetered: AllowUnmetered = False,
    detach: Detach = False,
    as_json: Json = False,
) -> None:
    """Run a loop that rewrites the plan first: what is in progress is reopened."""
    run_verb(
        n=n,
        profile=profile,
        agent=agent,
        agent_command=agent_command,
        agent_prompt=agent_prompt,
        plan=plan,
        sandbox=sandbox,
        no_network=no_network,
        max_iterations=max_iterations,
        max_time=max_time,
        max_cost=max_cost,
        max_tokens=max_tokens,
        allow_unmetered=allow_unmetered,
        mode=FirstMode.PLAN.value,
        detach=detach,
        as_json=as_json,
    )


def _agent_command(command: str | None, prompt: str | None, agent: str | None) -> dict[str, Any]:
    words = agent_words(command, prompt, agent)
    if words is None:
        return {}
    argv, way = words
    table = {"argv": list(argv), "prompt": way}
    return {"agent": "command", "agents.command": table}


def _require_same_branch(branch: str | None, *, resume: bool) -> None:
    if resume and branch is not None:
        raise UsageError("a run keeps its branch, so leave --branch out with --resume")


def _order(*, take_all: bool, leave: bool, resume: bool) -> OwnershipOrder | None:
    """What the user wants done with all that an iteration left which lost its engine."""
    if take_all and leave:
        raise UsageError("--take-all and --leave do not go together; leave one of them out")
    if (take_all or leave) and not resume:
        flag = "--take-all" if take_all else "--leave"
        raise UsageError(f"{flag} is only for a run that continues, so add --resume")
    if take_all:
        return OwnershipOrder.TAKE_ALL
    return OwnershipOrder.LEAVE if leave else None
