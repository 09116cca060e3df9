"""``ralph run``: a run in the foreground, in the background, or only a look at what it would do."""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
import threading
from pathlib import Path
from typing import Annotated, Any

import typer

from ralph_ls.cli.commands.start_run import (
    iteration_count,
    prompt_profile,
    request_overrides,
    run_detached,
)
from ralph_ls.cli.context import current_worktree
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
    Model,
    NoNetwork,
    Profile,
    Sandbox,
    agent_words,
    budget_overrides,
    duration,
    sandbox_overrides,
)
from ralph_ls.cli.output import emit_json, print_text
from ralph_ls.cli.show.live import RunViewer, choose_own_renderer
from ralph_ls.core.loop.evidence.ownership import OwnershipOrder
from ralph_ls.core.plan.formats.stories.tasks import IMPLEMENT
from ralph_ls.core.prompt.template import mode_word
from ralph_ls.core.redaction.redactor import Redactor
from ralph_ls.core.redaction.secret_names import secrets_of
from ralph_ls.core.views.model.control_chars import escape_control_chars
from ralph_ls.core.views.text.receipts import receipt_lines
from ralph_ls.core.views.text.run_end import next_step, summary_lines
from ralph_ls.core.views.text.summary import run_lines
from ralph_ls.protocol.config.config import FirstMode
from ralph_ls.protocol.errors import StateUnusable, UsageError, WorkspaceBusy
from ralph_ls.protocol.run.values import Mode, Phase
from ralph_ls.store.layout import RUN_ID, RunFiles
from ralph_ls.store.project.plan_file import skipped_optional_titles
from ralph_ls.store.project.settings_listing import as_toml
from ralph_ls.store.run.journal import offset_behind
from ralph_ls.store.run.launch import reporting_refusals
from ralph_ls.store.run.runs import load_state
from ralph_ls.store.run.summary_file import shown_summary

Iterations = Annotated[
    int | None,
    typer.Argument(
        metavar="[N]",
        parser=iteration_count,
        help="Stop after N iterations.",
        show_default="from the profile",
    ),
]
Prompt = Annotated[
    str | None,
    typer.Option(
        "-p",
        metavar="TEXT",
        help="Work on this, without a plan; - reads standard input.",
        show_default="work on the plan",
    ),
]
PromptFile = Annotated[
    str | None,
    typer.Option(
        "--prompt",
        metavar="FILE",
        help="Work on the text of this file, without a plan.",
        show_default="work on the plan",
    ),
]


def run_verb(
    n: Iterations = None,
    prompt: Prompt = None,
    prompt_file: PromptFile = None,
    profile: Profile = None,
    agent: Annotated[
        str | None,
        typer.Option(
            metavar="AGENT",
            help="Use this agent, such as claude or codex, or one from [agents].",
            show_default="from the settings",
        ),
    ] = None,
    agent_command: Annotated[
        str | None,
        typer.Option(
            metavar="COMMAND",
            help="Use any program as the agent; quoted as in a shell, but no shell runs it.",
            show_default="none",
        ),
    ] = None,
    agent_prompt: AgentPrompt = None,
    model: Model = None,
    allow_tool: AllowTool = None,
    deny_tool: DenyTool = None,
    plan: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Use this plan.", show_default="that of the profile"),
    ] = None,
    issue: Issue = None,
    mode: Annotated[
        str | None,
        typer.Option(
            metavar="build|plan",
            help="Start with this mode; plan rewrites the plan first.",
            show_default="build",
        ),
    ] = None,
    task: Annotated[
        str | None,
        typer.Option(metavar="TASK", help="Work only on this task.", show_default="all tasks"),
    ] = None,
    max_stuck: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Stop after N iterations in a row without a commit.",
            show_default="from the profile",
        ),
    ] = None,
    skip_review: Annotated[
        bool, typer.Option("--skip-review", help="Let stories pass without a review.")
    ] = False,
    timeout: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Stop an iteration after this time, such as 30m.",
            show_default="from the profile",
        ),
    ] = None,
    max_iterations: MaxIterations = None,
    max_time: MaxTime = None,
    max_cost: MaxCost = None,
    max_tokens: MaxTokens = None,
    allow_unmetered: AllowUnmetered = False,
    branch: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Work on this branch; auto makes one for the task.",
            show_default="the current one",
        ),
    ] = None,
    push: Annotated[
        bool | None,
        typer.Option("--push/--no-push", help="Push the branch after each iteration, or never."),
    ] = None,
    sandbox: Sandbox = None,
    no_network: NoNetwork = False,
    on_halt: Annotated[
        str | None,
        typer.Option(
            metavar="exit|wait",
            help="End or wait when the run needs you.",
            show_default="from the settings",
        ),
    ] = None,
    review_every: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Pause for your review after every N iterations.",
            show_default="never",
        ),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the last run.")] = False,
    take_all: Annotated[
        bool,
        typer.Option(
            "--take-all", help="With --resume: uncommitted changes belong to the lost iteration."
        ),
    ] = False,
    leave: Annotated[
        bool,
        typer.Option("--leave", help="With --resume: uncommitted changes are yours."),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would start, and start nothing.")
    ] = False,
    detach: Annotated[bool, typer.Option("--detach", help="Run in the background.")] = False,
    as_json: Json = False,
    run_id: Annotated[str | None, typer.Option(hidden=True)] = None,
    by: Annotated[str, typer.Option(hidden=True)] = "ralph run",
) -> None:
    """Run a loop: one task from the plan, a commit, and again with a fresh agent."""
    if run_id is not None and not RUN_ID.fullmatch(run_id):
        raise UsageError(f"--run-id {run_id!r} is not a run id")
    order = _order(take_all=take_all, leave=leave, resume=resume)
    _require_same_branch(branch, resume=resume)
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
        "timeouts.iteration": duration("--timeout", timeout),
        "push": push,
        "work_branch": branch,
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
    if dry_run:
        _show_preview(overrides, as_json=as_json)
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
        typer.Option(
            metavar="PROFILE",
            help="Use this profile: spec or fixplan.",
            show_default="from the settings, else detected",
        ),
    ] = None,
    agent: Annotated[
        str | None,
        typer.Option(
            metavar="AGENT",
            help="Use this agent, such as claude or codex, or one from [agents].",
            show_default="from the settings",
        ),
    ] = None,
    agent_command: Annotated[
        str | None,
        typer.Option(
            metavar="COMMAND",
            help="Use any program as the agent; quoted as in a shell, but no shell runs it.",
            show_default="none",
        ),
    ] = None,
    agent_prompt: AgentPrompt = None,
    plan: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Use this plan.", show_default="that of the profile"),
    ] = None,
    sandbox: Sandbox = None,
    no_network: NoNetwork = False,
    max_iterations: MaxIterations = None,
    max_time: MaxTime = None,
    max_cost: MaxCost = None,
    max_tokens: MaxTokens = None,
    allow_unmetered: AllowUnmetered = False,
    detach: Annotated[bool, typer.Option("--detach", help="Run in the background.")] = False,
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


def run_in_foreground(
    folder: Path,
    overrides: dict[str, Any],
    *,
    resume: bool = False,
    as_json: bool = False,
    run_id: str | None = None,
    by: str = "ralph run",
    order: OwnershipOrder | None = None,
) -> int:
    """Run the engine in this process, shown by a thread; the summary comes at the end."""
    from ralph_ls.engine.run.preparation import RunRequest
    from ralph_ls.engine.run.runner import run_engine

    running = threading.Event()
    running.set()
    viewers: list[RunViewer] = []
    run_files: list[RunFiles] = []

    def show(files: RunFiles) -> None:
        run_files.append(files)
        known = load_state(files) if resume else None
        viewers.append(
            RunViewer(
                files,
                choose_own_renderer(as_json=as_json, state=known),
                is_live=running.is_set,
                after_seq=0 if known is None else known.seq,
                offset=0 if known is None else offset_behind(files.journal, known.seq),
                output=not as_json,
                # The agent of a killed engine is gone; what it said was shown then.
                catch_up=0,
            )
        )

    request = RunRequest(
        folder=folder,
        environment=dict(os.environ),
        overrides=overrides,
        resume=resume,
        run_id=run_id,
        by=by,
        order=order,
    )
    try:
        code = run_engine(request, on_ready=show)
    except WorkspaceBusy as error:
        raise WorkspaceBusy(_with_what_it_waits_for(error)) from error
    finally:
        running.clear()
        all_shown = not viewers or viewers[0].finish()
    if not all_shown:
        # The reader does not read; the run is over and must not hang on it.
        os._exit(code)
    _show_summary(run_files[0], as_json=as_json)
    return code


def _show_preview(overrides: dict[str, Any], *, as_json: bool) -> None:
    from ralph_ls.engine.clock import SystemClock
    from ralph_ls.engine.run.preparation import RunRequest
    from ralph_ls.engine.run.preview import preview_run

    request = RunRequest(folder=Path.cwd(), environment=dict(os.environ), overrides=overrides)
    preview = preview_run(request, SystemClock().now())
    first = preview.next
    if as_json:
        emit_json(
            {
                "agent": preview.agent,
                "model": preview.model,
                "argv": list(preview.argv),
                "mode": mode_word(preview.settings.profile, preview.mode),
                "task": first.task,
                "plan": preview.plan_path,
                "branch": preview.about.branch,
                "choices": None
                if preview.about.choices is None
                else preview.about.choices.model_dump(
                    mode="json", by_alias=True, exclude_none=True
                ),
                "prompt": first.prompt,
                "template": first.template,
                "instead": first.instead or None,
                "notAllowed": list(first.not_allowed),
                "settings": preview.settings.model_dump(mode="json", by_alias=True),
            }
        )
        return
    for line in run_lines(preview.about):
        print_text(escape_control_chars(line))
    print_text(f"Plan: {preview.plan_path}")
    print_text(
        f"Task: {first.task or ('write the plan' if preview.mode is Mode.PLAN else 'none is open')}"
    )
    print_text(f"Agent: {shlex.join(preview.argv)}")
    print_text(f"Model: {preview.model or 'its own choice'}")
    if first.not_allowed:
        print_text(f"Not approved yet: {', '.join(first.not_allowed)} (ralph allow)")
    hide = Redactor(secrets_of(os.environ))
    shown = hide.redact(as_toml(preview.sources, os.environ))
    print_text("\nSettings that differ from the defaults:\n")
    for line in shown.splitlines() or ["# none"]:
        print_text(f"  {line}".rstrip())
    print_text("")
    if first.instead:
        print_text(f"No agent would be started: {first.instead}")
        return
    print_text(f"Template: {first.template or 'the built-in one'}")
    if first.passed_over is not None:
        print_text(f"Note: {first.passed_over}")
    print_text(f"Prompt:\n\n{first.prompt}")


def _show_summary(files: RunFiles, *, as_json: bool) -> None:
    """The summary of the run; on standard error when standard output is for a program.

    See docs/rules.md#exit-codes.
    """
    from ralph_ls.engine.git.work_branch import load_branch

    state = load_state(files)
    if state.end is None:
        raise StateUnusable(
            f"the files of this run were removed from {files.folder} while it was active, so its "
            "state is lost; see its commits with git log, then start a new run: ralph run"
        )
    where = shown_summary(state.config, files)
    lines = ["", *summary_lines(state, where, optional=skipped_optional_titles(state))]
    lines += receipt_lines(state)
    if (branch := load_branch(files.folder)) is not None:
        lines.append(f"Branch:      {branch.outcome}")
    if (step := next_step(state)) is not None:
        lines.append(f"Next:        {step}")
    stream = sys.stderr if as_json else sys.stdout
    stream.write("\n".join(lines) + "\n")
    stream.flush()


def _with_what_it_waits_for(error: WorkspaceBusy) -> str:
    from ralph_ls.core.loop.rules.waits import parked_words

    found = current_worktree().find_run()
    if found is not None and found.live and found.phase is Phase.PARKED:
        return f"{error.message}. That run is waiting for {parked_words(found.state)}"
    return error.message


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
