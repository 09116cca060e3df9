"""``ralph init``: a set-up by flags, by two questions or by nine, or the stop hook (``--hooks``).

Questions appear in a terminal only, never in a pipe; nothing is written before the last answer.
The hook goes into the settings of the agent's program
(docs/rules.md#stop-hook); the difference is shown and confirmed first.
"""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ralph_ls.cli.commands.quick_setup import (
    NextStep,
    ask_missing,
    find_setup,
    next_step,
    require_limits_can_be_kept,
    show_findings,
)
from ralph_ls.cli.commands.setup_prompts import SetupFlags, advanced_order, order_from_flags
from ralph_ls.cli.context import CommandWorktree, current_worktree, plan_from_here
from ralph_ls.cli.flags import (
    AgentCommand,
    AgentName,
    AgentPrompt,
    Description,
    Json,
    profile_named,
)
from ralph_ls.cli.output import emit_document, emit_json, print_text
from ralph_ls.cli.parameters import flag, option
from ralph_ls.core.views.model.control_chars import escape_nonprintable
from ralph_ls.protocol.config.config import ProfileName
from ralph_ls.protocol.errors import StateUnusable, UsageError
from ralph_ls.protocol.lsp.setup import SetupFileAction, SetupParams
from ralph_ls.protocol.verb_output import HookSetup, SetupDone
from ralph_ls.store.project.config_file import load_settings
from ralph_ls.store.setup.documents import (
    FileToWrite,
    file_to_write,
    read_existing_bytes,
    write_files,
)
from ralph_ls.store.setup.setup import (
    SetupPlan,
    plan_first_files,
    plan_setup,
    with_ignored_files,
    write_setup,
)

if TYPE_CHECKING:
    from ralph_ls.protocol.config.agent_facts import HookPlace


def init(
    agent: AgentName = None,
    task: Annotated[
        str | None,
        option(
            "TEXT",
            "What the agent does first; - reads standard input.",
            default="ask for it, on a terminal",
        ),
    ] = None,
    template: Annotated[
        str | None,
        option("NAME", "Start from a template, such as python-cli or bug-fix.", default="none"),
    ] = None,
    yes: Annotated[bool, flag("--yes", "-y", text="Ask nothing.")] = False,
    max_cost: Annotated[
        float | None,
        option(
            "DOLLARS",
            "Limit of a run, in US dollars.",
            "--max-cost",
            "--max-cost-usd",
            default="no limit",
        ),
    ] = None,
    max_time: Annotated[
        str | None, option("TIME", "Limit of a run, such as 90m or 2h.", default="no limit")
    ] = None,
    max_iterations: Annotated[
        int | None, option("N", "Limit of a run.", default="from the profile", min=1)
    ] = None,
    branch: Annotated[
        str | None,
        option(
            "NAME", "Work on this branch; auto makes one for each run.", default="the current one"
        ),
    ] = None,
    advanced: Annotated[
        bool, flag("--advanced", text="Ask about profile, template and limits too.")
    ] = False,
    profile: Annotated[
        str | None,
        option(
            "PROFILE",
            "spec, fixplan, stories, beads or issue.",
            default="the one that fits, else fixplan",
        ),
    ] = None,
    plan: Annotated[
        str | None, option("FILE", "Use this plan.", default="that of the profile")
    ] = None,
    issue: Annotated[
        str | None,
        option(
            "WHAT",
            "Work on this request: a file, or an issue such as owner/name#123.",
            default="work on a plan",
        ),
    ] = None,
    item: Annotated[
        list[str] | None, option("TEXT", "Add a task, such as 'P0 Fix the login'; repeatable.")
    ] = None,
    description: Description = None,
    agent_command: AgentCommand = None,
    agent_prompt: AgentPrompt = None,
    timeout: Annotated[
        str | None, option("TIME", "Limit of an iteration, 5m to 60m.", default="from the profile")
    ] = None,
    completion_phrase: Annotated[
        str | None, option("WORD", "What an agent promises when all is done.", default="COMPLETE")
    ] = None,
    from_existing: Annotated[
        bool, flag("--from-existing", text="Use the settings of another tool.")
    ] = False,
    hooks: Annotated[
        bool, flag("--hooks", text="Add the stop hook to the agent's settings.")
    ] = False,
    choices: Annotated[bool, flag("--choices", text="Print what can be chosen, as JSON.")] = False,
    dry_run: Annotated[bool, flag("--dry-run", text="Show the files, and write nothing.")] = False,
    as_json: Json = False,
) -> None:
    """Set up a loop here. Existing files are kept, or added to."""
    place = current_worktree()
    plan = plan_from_here(plan)
    if choices:
        _print_choices(place)
        return
    if hooks:
        require_hooks(place.worktree.root, agent)
    if from_existing:
        _init_from_existing(place.worktree.root, plan, yes=yes, dry_run=dry_run, as_json=as_json)
    given = SetupFlags(
        profile=_chosen_profile(profile, issue),
        task=task,
        description=description,
        template=template,
        items=tuple(item or ()),
        completion_phrase=completion_phrase,
        agent=agent,
        agent_command=agent_command,
        agent_prompt=agent_prompt,
        max_iterations=max_iterations,
        timeout=timeout,
        max_time=max_time,
        max_cost=max_cost,
        branch=branch,
        plan=plan,
        issue=issue,
    )
    made: SetupDone | None = None
    hooked: HookSetup | None = None
    # The hook alone is put beside a loop that is there; with anything else both are made.
    is_hook_alone = hooks and given == SetupFlags(agent=agent)
    if not from_existing and not is_hook_alone:
        asks = sys.stdin.isatty() and sys.stdout.isatty() and not as_json and not yes
        if advanced and not asks:
            raise UsageError(
                "--advanced asks questions, but this is not a terminal; give the answers as "
                "flags, see: ralph init --help"
            )
        mode = _Mode(asks=asks, advanced=advanced, dry_run=dry_run, as_json=as_json)
        made = _set_up(place, given, mode)
    if hooks:
        hooked = init_hooks(place, agent, yes=yes, dry_run=dry_run, as_json=as_json)
    if as_json and made is not None:
        emit_document(made.model_copy(update={"hooks": hooked}))
    elif as_json and hooked is not None:
        emit_document(hooked)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mode:
    """How a set-up talks to its user."""

    asks: bool
    advanced: bool
    dry_run: bool
    as_json: bool


def _print_choices(place: CommandWorktree) -> None:
    from ralph_ls.cli.commands.wizard import setup_choices
    from ralph_ls.store.run.launch import reporting_refusals

    with reporting_refusals():
        found = setup_choices(place, os.environ)
    emit_json(found.model_dump(mode="json", by_alias=True))


def _chosen_profile(profile: str | None, issue: str | None) -> ProfileName | None:
    if profile is not None:
        return profile_named(profile)
    return ProfileName.ISSUE if issue is not None else None


def _set_up(place: CommandWorktree, given: SetupFlags, mode: _Mode) -> SetupDone:
    """Ask for what is missing, show every file, write them, and say what is next."""
    root = place.worktree.root
    found = find_setup(place, given)
    if mode.asks:
        show_findings(found, given)
        given = given if mode.advanced else ask_missing(given, found)
    collect = advanced_order if mode.asks and mode.advanced else order_from_flags
    wanted = collect(given, root, dry_run=mode.dry_run)
    planned = _planned(place, wanted.order, is_bare=wanted.is_bare)
    require_limits_can_be_kept(planned, given)
    if not (mode.asks or mode.as_json):
        show_findings(found, given)
    if mode.asks or mode.dry_run or wanted.order.template is not None:
        _show(planned, as_json=mode.as_json)
    notes = planned.notes
    if not mode.dry_run:
        _require_consent(planned, mode)
        notes += write_setup(place.worktree, place.state, planned, wanted.order)
    step = next_step(place, planned, found)
    if not mode.as_json:
        _report(planned, notes, wanted.hint or found.hint, step, dry_run=mode.dry_run)
    return SetupDone(
        written=() if mode.dry_run else tuple(planned.written),
        workspace=str(root),
        files=tuple(file.to_wire() for file in planned.files),
        notes=tuple(notes),
        next=step.command,
    )


def _require_consent(planned: SetupPlan, mode: _Mode) -> None:
    """Ask whether the files may be written, where somebody can answer."""
    is_asked = mode.asks and bool(planned.written)
    if is_asked and not typer.confirm("Write these files?", default=True):
        print_text("Nothing was written")
        raise typer.Exit(1)


def _report(
    planned: SetupPlan, notes: Sequence[str], hint: str, step: NextStep, *, dry_run: bool
) -> None:
    if dry_run:
        print_text("Nothing was written: this was a dry run")
        return
    print_text(f"Wrote:    {', '.join(planned.written) or 'nothing; all of it is here'}")
    for note in notes:
        print_text(f"Note:     {note}")
    if hint:
        print_text(f"Hint:     {hint}")
    print_text(f"\nNext, {step.words}:\n  {step.command}")


def _show(planned: SetupPlan, *, as_json: bool) -> None:
    """Every file with its text as it will be; of a changed one the difference."""
    words = {
        SetupFileAction.CREATE: "new",
        SetupFileAction.CHANGE: "changed",
        SetupFileAction.KEEP: "kept",
    }
    for file in planned.files if not as_json else ():
        print_text(f"── {file.path} ({words[file.action]})")
        lines = escape_nonprintable(file.to_wire().text).splitlines()
        if file.action is SetupFileAction.CHANGE:
            lines = [escape_nonprintable(line) for line in _difference(file)[2:]]
        for line in lines if file.action is not SetupFileAction.KEEP else ():
            print_text(f"   {line}".rstrip())


def _planned(place: CommandWorktree, order: SetupParams, *, is_bare: bool) -> SetupPlan:
    from ralph_ls.engine.clock import SystemClock

    plan_it = plan_first_files if is_bare else plan_setup
    today = SystemClock().local().date()
    return plan_it(place.worktree.root, order, environment=os.environ, today=today)


def _init_from_existing(
    root: Path, plan: str | None, *, yes: bool, dry_run: bool, as_json: bool
) -> None:
    from ralph_ls.cli.commands.import_setup import import_existing

    ignored = with_ignored_files(root, load_settings(root, {}, {}).config)
    yes = yes and not dry_run
    written = import_existing(
        root, plan, gitignore=ignored, yes=yes, dry_run=dry_run, as_json=as_json
    )
    if written is None and not (as_json or dry_run):
        raise typer.Exit(1)
    if written is not None and not as_json:
        print_text(f"Wrote:    {', '.join(written) or 'nothing; all of it is here'}")
        print_text("\nNext, look at what an agent will get:\n  ralph run --dry-run")


def require_hooks(root: Path, agent: str | None) -> None:
    """Raise ``UsageError`` for an agent that has no such hook, before anything is written."""
    _place_of(agent or load_settings(root, os.environ, {}).config.agent)


def init_hooks(
    place: CommandWorktree, agent: str | None, *, yes: bool, dry_run: bool, as_json: bool
) -> HookSetup:
    """Show the difference, ask, and write it; raises ``typer.Exit`` where the user says no.

    Raises ``UsageError`` for an agent that has no such hook, and where nobody can be asked;
    ``StateUnusable`` for settings that cannot be read or written. What became of it is given
    as ``--json`` shows it.
    """
    from ralph_ls.engine.agent.selection import with_agent
    from ralph_ls.store.run.lock import EngineLock

    root = place.worktree.root
    name = agent or with_agent(load_settings(root, os.environ, {}), os.environ, root).config.agent
    where = _place_of(name)
    file = _merged(root, where)
    difference = _difference(file)
    is_there = file.action is SetupFileAction.KEEP
    if not as_json:
        _show_difference(name, file, difference)
    writes = not is_there and not dry_run and (yes or not as_json)
    if writes:
        if not yes:
            _confirm_writing()
        with EngineLock(place.worktree.git_dir):
            write_files(root, [file])
    if not as_json and writes:
        print_text(f"Written: {file.path}")
        if where.note:
            print_text(f"Note: {where.note}")
    elif not as_json and dry_run and not is_there:
        print_text("Nothing was written: this was a dry run")
    return HookSetup(
        agent=name,
        path=file.path,
        diff=tuple(difference),
        written=(file.path,) if writes else (),
        already_there=is_there,
        notes=(where.note,) if where.note else (),
    )


def _confirm_writing() -> None:
    """Ask in the terminal; raises ``typer.Exit`` for a no, ``UsageError`` where there is none."""
    if not sys.stdin.isatty():
        raise UsageError("nothing was written: init --hooks needs a terminal to ask in, or --yes")
    if not typer.confirm("Write this?", default=True):
        print_text("Nothing was written")
        raise typer.Exit(1)


def _place_of(agent: str) -> HookPlace:
    from ralph_ls.core.setup.hooks import AGENTS_WITHOUT_HOOK, HOOK_PLACES

    if agent in HOOK_PLACES:
        return HOOK_PLACES[agent]
    why = AGENTS_WITHOUT_HOOK.get(agent, "ralph does not know where it would read one")
    raise UsageError(
        f"there is no stop hook for the agent {agent!r}: {why}. The loop makes the same checks "
        f"itself after each iteration; --agent names one that has hooks: {', '.join(HOOK_PLACES)}"
    )


def _merged(root: Path, where: HookPlace) -> FileToWrite:
    from ralph_ls.core.setup.hooks import with_stop_hook
    from ralph_ls.store.setup.hook_launcher import own_launcher

    data = read_existing_bytes(root, where.path)
    text = "" if data is None else data.decode("utf-8", errors="surrogateescape")
    merged = with_stop_hook(text, where, own_launcher())
    if merged.problem:
        raise StateUnusable(
            f"{root / where.path}, line {merged.line}: {merged.problem}; fix that, or add the "
            "hook yourself as docs/agents/hooks.md shows"
        )
    return file_to_write(root, where.path, merged.text)


def _difference(file: FileToWrite) -> list[str]:
    """The changes in the format of ``diff -u``."""
    texts = [(data or b"").decode("utf-8", errors="replace") for data in (file.before, file.after)]
    before, after = ([line.rstrip("\r") for line in text.split("\n")] for text in texts)
    old = "/dev/null" if file.before is None else f"a/{file.path}"
    if file.before is None:
        before = []
    return list(difflib.unified_diff(before, after, old, f"b/{file.path}", lineterm=""))


def _show_difference(agent: str, file: FileToWrite, difference: list[str]) -> None:
    if not difference:
        print_text(f"{file.path} already has the stop hook of {agent}")
    for line in difference:
        print_text(escape_nonprintable(line))
