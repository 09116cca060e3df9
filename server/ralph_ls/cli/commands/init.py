"""``ralph init``: an empty plan, a set-up by flags or prompts, or the stop hook (``--hooks``).

Prompts appear in a terminal alone, never in a pipe, by the rules of an editor's wizard; nothing is
written before the last answer. The hook goes into the settings of the agent's program
(docs/rules.md#stop-hook); the difference is shown and confirmed first.
"""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, assert_never

import typer

from ralph_ls.cli.commands import setup_prompts
from ralph_ls.cli.context import CommandWorktree, current_worktree
from ralph_ls.cli.flags import (
    AgentCommand,
    AgentName,
    AgentPrompt,
    Description,
    Json,
    profile_named,
)
from ralph_ls.cli.output import emit_json, print_text
from ralph_ls.core.plan.specs import FOLDER
from ralph_ls.core.setup.documents import SPEC_NAME
from ralph_ls.core.views.model.control_chars import escape_nonprintable
from ralph_ls.protocol.config.config import ProfileName
from ralph_ls.protocol.errors import StateUnusable, UsageError
from ralph_ls.protocol.lsp.setup import SetupFileAction, SetupParams
from ralph_ls.store.project.config_file import load_settings
from ralph_ls.store.setup.documents import (
    FileToWrite,
    file_to_write,
    read_existing_bytes,
    requirements_beside,
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
    profile: Annotated[
        str | None, typer.Option(help="The profile to set up; fixplan where none fits.")
    ] = None,
    description: Description = None,
    template: Annotated[
        str | None, typer.Option(help="Begin with a template, such as bug-fix.")
    ] = None,
    item: Annotated[
        list[str] | None, typer.Option(help="A plan item, such as 'P0 Fix the login'; repeatable.")
    ] = None,
    completion_phrase: Annotated[
        str | None, typer.Option(help="What an agent promises when all is done.")
    ] = None,
    agent: AgentName = None,
    agent_command: AgentCommand = None,
    agent_prompt: AgentPrompt = None,
    max_iterations: Annotated[int | None, typer.Option(min=1, help="Of a run.")] = None,
    timeout: Annotated[str | None, typer.Option(help="Of an iteration, 5m to 60m.")] = None,
    max_cost_usd: Annotated[float | None, typer.Option(help="Of a run, in US dollars.")] = None,
    plan: Annotated[str | None, typer.Option(help="Use this plan, which is there.")] = None,
    issue: Annotated[
        str | None,
        typer.Option(help="The request: a file, or an issue such as owner/name#123."),
    ] = None,
    from_existing: Annotated[
        bool, typer.Option("--from-existing", help="Use what another tool left; shows it first.")
    ] = False,
    hooks: Annotated[
        bool, typer.Option("--hooks", help="Put the stop hook into the agent's settings.")
    ] = False,
    choices: Annotated[
        bool, typer.Option("--choices", help="Show as JSON what can be chosen; write nothing.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the files only.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Ask nothing.")] = False,
    as_json: Json = False,
) -> None:
    """Set up a loop here; what is already there is kept, or added to."""
    place = current_worktree()
    if choices:
        from ralph_ls.cli.commands.wizard import setup_choices
        from ralph_ls.store.run.launch import reporting_refusals

        with reporting_refusals():
            found = setup_choices(place, os.environ)
        emit_json(found.model_dump(mode="json", by_alias=True))
        return
    if hooks:
        require_hooks(place.worktree.root, agent)
    made: dict[str, object] = {}
    if from_existing:
        _init_from_existing(place.worktree.root, yes=yes, as_json=as_json)
    else:
        chosen = None if profile is None else profile_named(profile)
        if chosen is None and issue is not None:
            chosen = ProfileName.ISSUE
        given = setup_prompts.SetupFlags(
            profile=chosen,
            description=description,
            template=template,
            items=tuple(item or ()),
            completion_phrase=completion_phrase,
            agent=agent,
            agent_command=agent_command,
            agent_prompt=agent_prompt,
            max_iterations=max_iterations,
            timeout=timeout,
            max_cost_usd=max_cost_usd,
            plan=plan,
            issue=issue,
        )
        # The hook alone is put beside a loop that is there; with anything else both are made.
        if not hooks or given != setup_prompts.SetupFlags(agent=agent):
            made = _make(place, given, yes=yes, dry_run=dry_run, as_json=as_json)
    if hooks:
        hooked = init_hooks(place, agent, yes=yes, dry_run=dry_run, as_json=as_json)
        made = made | {"hooks": hooked} if made else hooked
    if as_json and made:
        emit_json(made)


def _make(
    place: CommandWorktree,
    given: setup_prompts.SetupFlags,
    *,
    yes: bool,
    dry_run: bool,
    as_json: bool,
) -> dict[str, object]:
    is_terminal = sys.stdin.isatty() and sys.stdout.isatty() and not as_json
    asks = is_terminal and not yes
    wanted = setup_prompts.collect_setup_order(
        given, place.worktree.root, asks=asks, dry_run=dry_run
    )
    if wanted.is_bare and not dry_run:
        return _write_first_files(place, wanted.order, as_json=as_json)
    return _set_up(place, wanted, asks=asks, as_json=as_json)


def _set_up(
    place: CommandWorktree, wanted: setup_prompts.SetupOrder, *, asks: bool, as_json: bool
) -> dict[str, object]:
    order = wanted.order
    planned = _planned(place, order, is_bare=wanted.is_bare)
    notes = planned.notes
    if not as_json:
        _show(planned)
    is_written = not order.dry_run
    if is_written and asks and not typer.confirm("Write this?", default=True):
        print_text("Nothing was written")
        raise typer.Exit(1)
    if is_written:
        notes += write_setup(place.worktree, place.state, planned, order)
    if not as_json:
        _report_files(notes)
        print_text("Next: ralph run" if is_written else "Nothing was written: this was a dry run")
    files = [file.to_wire().model_dump(mode="json", by_alias=True) for file in planned.files]
    return {
        "written": planned.written if is_written else [],
        "workspace": str(place.worktree.root),
        "files": files,
        "notes": list(notes),
    }


def _show(planned: SetupPlan) -> None:
    """Every file with its text as it will be."""
    words = {
        SetupFileAction.CREATE: "new",
        SetupFileAction.CHANGE: "changed",
        SetupFileAction.KEEP: "stays",
    }
    for file in planned.files:
        print_text(f"── {file.path} ({words[file.action]})")
        if file.action is not SetupFileAction.KEEP:
            for line in escape_nonprintable(file.to_wire().text).splitlines():
                print_text(f"   {line}")


def _planned(place: CommandWorktree, order: SetupParams, *, is_bare: bool) -> SetupPlan:
    from ralph_ls.engine.clock import SystemClock

    plan_it = plan_first_files if is_bare else plan_setup
    today = SystemClock().local().date()
    return plan_it(place.worktree.root, order, environment=os.environ, today=today)


def _write_first_files(
    place: CommandWorktree, order: SetupParams, *, as_json: bool
) -> dict[str, object]:
    """What a profile begins with; all of it only where it is missing."""
    planned = _planned(place, order, is_bare=True)
    notes = (*planned.notes, *write_setup(place.worktree, place.state, planned, order))
    root = place.worktree.root
    if not as_json:
        print_text(_words_for(planned.written))
        _report_files(notes)
        print_text(f"Next: {_next_step(root, planned)}, then: ralph run")
    return {"written": planned.written, "workspace": str(root), "notes": list(notes)}


def _next_step(root: Path, planned: SetupPlan) -> str:
    """The user's next step before the first run."""
    match planned.config.profile:
        case ProfileName.FIXPLAN:
            return f"write your tasks into {planned.plan_path}"
        case ProfileName.SPEC:
            return f"write what is to be built into {FOLDER}/, such as {FOLDER}/{SPEC_NAME}"
        case ProfileName.STORIES:
            requirements = requirements_beside(planned.plan_path)
            return (
                f"write your stories into {planned.plan_path}, or what is to be built into "
                f"{requirements} and have an agent write them with: ralph replan 1"
            )
        case ProfileName.BEADS:
            return "make issues with: bd create"
        case ProfileName.ISSUE:
            issue = planned.config.issue
            is_there = issue.github or (root / str(issue.file)).exists()
            verb = "look at the request" if is_there else "write the request"
            return f"{verb}, {issue.github or issue.file}"
        case _:  # pragma: no cover
            assert_never(planned.config.profile)


def _init_from_existing(root: Path, *, yes: bool, as_json: bool) -> None:
    from ralph_ls.cli.commands.setup_prompts import import_existing

    ignored = with_ignored_files(root, load_settings(root, {}, {}).config)
    written = import_existing(root, gitignore=ignored, yes=yes, as_json=as_json)
    if written is None and not as_json:
        raise typer.Exit(1)
    if written is not None and not as_json:
        print_text(_words_for(written))
        print_text("Next: look at what an agent would be told with: ralph run --dry-run")


def _report_files(notes: Sequence[str]) -> None:
    for note in notes:
        print_text(f"Note: {note}")


def _words_for(written: Sequence[str]) -> str:
    return f"Written: {', '.join(written) or 'nothing, all was there'}"


def require_hooks(root: Path, agent: str | None) -> None:
    """Raise ``UsageError`` for an agent that has no such hook, before anything is written."""
    _place_of(agent or load_settings(root, os.environ, {}).config.agent)


def init_hooks(
    place: CommandWorktree, agent: str | None, *, yes: bool, dry_run: bool, as_json: bool
) -> dict[str, object]:
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
    if writes and not yes:
        if not sys.stdin.isatty():
            raise UsageError(
                "nothing was written: init --hooks needs a terminal to ask in, or --yes"
            )
        if not typer.confirm("Write this?", default=True):
            print_text("Nothing was written")
            raise typer.Exit(1)
    if writes:
        with EngineLock(place.worktree.git_dir):
            write_files(root, [file])
    if not as_json and writes:
        print_text(f"Written: {file.path}")
        if where.note:
            print_text(f"Note: {where.note}")
    elif not as_json and dry_run and not is_there:
        print_text("Nothing was written: this was a dry run")
    written = [file.path] if writes else []
    notes = [where.note] if where.note else []
    return {
        "agent": name,
        "path": file.path,
        "diff": difference,
        "written": written,
        "alreadyThere": is_there,
        "notes": notes,
    }


def _place_of(agent: str) -> HookPlace:
    from ralph_ls.core.setup.hooks import AGENTS_WITHOUT_HOOK, HOOK_PLACES

    if agent in HOOK_PLACES:
        return HOOK_PLACES[agent]
    why = AGENTS_WITHOUT_HOOK.get(agent, "nobody knows where it would read one")
    raise UsageError(
        f"there is no stop hook for the agent {agent!r}: {why}. The loop looks at the same things "
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
            f"{root / where.path}, line {merged.line}: {merged.problem}; mend that, or put the "
            f"hook in by hand as docs/agents/hooks.md shows it"
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
        print_text(f"{file.path} has the stop hook of {agent} already")
    for line in difference:
        print_text(escape_nonprintable(line))
