"""``ralph init``: an empty plan, or a whole set-up by flags or by questions in a terminal.

Questions are asked in a terminal alone, never in a pipe, by the rules that the wizard of an editor
has too; nothing is written before the last answer.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from ralph_ls.cli.context import Place, here
from ralph_ls.cli.flags import (
    AgentCommand,
    AgentName,
    AgentPrompt,
    Description,
    Json,
    profile_named,
)
from ralph_ls.cli.output import emit_json, say
from ralph_ls.core.loop.profiles import FIXPLAN, SPEC
from ralph_ls.core.plan.skeleton import fix_plan_skeleton, spec_index_skeleton
from ralph_ls.core.plan.specs import FOLDER, INDEX
from ralph_ls.core.views.visible import uncover
from ralph_ls.protocol.config import CONFIG_FILE, Config, ProfileName
from ralph_ls.protocol.errors import StateUnusable
from ralph_ls.protocol.setup import SetupFileAction, SetupParams
from ralph_ls.store.files import resolve_inside, write_atomic
from ralph_ls.store.setting_up import (
    HEAD,
    SetupPlanned,
    ignoring,
    plan_setup,
    require_can_be_set_up,
    write_setup,
)

STARTER_CONFIG = """\
# max_iterations = 20
# timeout = "30m"

# Any program can be the agent. What stands here runs only after: ralph allow
# agent = "command"
# [agents.command]
# argv = ["./agent.sh"]
# prompt = "stdin"            # stdin | argument | file
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _FirstFile:
    """What a profile begins with."""

    path: str
    text: str
    known_as: tuple[str, ...]
    """Any of these is in its place."""
    settings: str
    """How its config file begins."""
    next_step: str


_FIRST_FILES = {
    FIXPLAN.name: _FirstFile(
        path=FIXPLAN.plan_files[0],
        text=fix_plan_skeleton(),
        known_as=FIXPLAN.plan_files,
        settings=f'{HEAD}\nprofile = "fixplan"\n',
        next_step=f"write your tasks into {FIXPLAN.plan_files[0]}",
    ),
    SPEC.name: _FirstFile(
        path=f"{FOLDER}/{INDEX}",
        text=spec_index_skeleton(),
        known_as=(f"{FOLDER}/{INDEX}",),
        settings=f'{HEAD}\nprofile = "spec"\ncommits = "agent"\npush = false\n',
        next_step=f"write what is to be built into {FOLDER}/, such as {FOLDER}/login.md",
    ),
}


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
    from_existing: Annotated[
        bool, typer.Option("--from-existing", help="Use what another tool left; shows it first.")
    ] = False,
    choices: Annotated[
        bool, typer.Option("--choices", help="Show as JSON what can be chosen; write nothing.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the files only.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Ask nothing.")] = False,
    as_json: Json = False,
) -> None:
    """Set up a loop here; what is already there is kept, or added to."""
    from ralph_ls.cli import asking

    place = here()
    if from_existing:
        _init_from_existing(place.worktree.root, yes=yes, as_json=as_json)
        return
    if choices:
        from ralph_ls.cli.choices import setup_choices
        from ralph_ls.store.starting import telling_refusals

        with telling_refusals():
            found = setup_choices(place, os.environ)
        emit_json(found.model_dump(mode="json", by_alias=True))
        return
    chosen = _profile_named(profile)
    given = asking.Given(
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
    )
    is_terminal = sys.stdin.isatty() and sys.stdout.isatty() and not as_json
    asks = is_terminal and not yes
    order = asking.to_order(given, place.worktree.root, asks=asks, dry_run=dry_run)
    if order is None:
        _write_first_files(place.worktree.root, chosen or FIXPLAN.name, as_json=as_json)
        return
    _set_up(place, order, asks=asks, as_json=as_json)


def _set_up(place: Place, order: SetupParams, *, asks: bool, as_json: bool) -> None:
    from ralph_ls.engine.clock import SystemClock

    today = SystemClock().local().date()
    planned = plan_setup(place.worktree.root, order, today=today)
    notes = planned.notes
    if not as_json:
        _show(planned)
    is_written = not order.dry_run
    if is_written and asks and not typer.confirm("Write this?", default=True):
        say("Nothing was written")
        raise typer.Exit(1)
    if is_written:
        notes += write_setup(place.worktree, place.state, planned, order)
    if as_json:
        files = [file.to_wire().model_dump(mode="json", by_alias=True) for file in planned.files]
        done = [file.path for file in planned.files if file.action is not SetupFileAction.KEEP]
        emit_json(
            {
                "written": done if is_written else [],
                "workspace": str(place.worktree.root),
                "files": files,
                "notes": list(notes),
            }
        )
        return
    for note in notes:
        say(f"Note: {note}")
    say("Next: ralph run" if is_written else "Nothing was written: this was a dry run")


def _show(planned: SetupPlanned) -> None:
    """Every file with its text as it will be."""
    words = {
        SetupFileAction.CREATE: "new",
        SetupFileAction.CHANGE: "changed",
        SetupFileAction.KEEP: "stays",
    }
    for file in planned.files:
        say(f"── {file.path} ({words[file.action]})")
        if file.action is not SetupFileAction.KEEP:
            for line in uncover(file.to_wire().text).splitlines():
                say(f"   {line}")


def _profile_named(name: str | None) -> ProfileName | None:
    return None if name is None else require_can_be_set_up(profile_named(name)).name


def _write_first_files(root: Path, profile: ProfileName, *, as_json: bool) -> None:
    """An empty plan, its settings and ``.gitignore``; all of them only where they are missing."""
    first, paths = _FIRST_FILES[profile], Config().paths
    is_there = any((root / name).exists() for name in first.known_as)
    # Each may be a link that the repository brought; all are looked at before one is written.
    for name in (CONFIG_FILE, paths.logs, ".gitignore", *(() if is_there else (first.path,))):
        resolve_inside(root, name)
    written: list[str] = []
    for folder in (paths.logs, *(() if is_there else (Path(first.path).parent.as_posix(),))):
        _make_folder(root / folder)
    if not is_there:
        write_atomic(root / first.path, first.text.encode())
        written.append(first.path)
    if not (root / CONFIG_FILE).exists():
        write_atomic(root / CONFIG_FILE, (first.settings + STARTER_CONFIG).encode())
        written.append(CONFIG_FILE)
    ignored = ignoring(root, paths)
    if ignored is not None:
        write_atomic(root / ".gitignore", ignored)
        written.append(".gitignore")
    if as_json:
        emit_json({"written": written, "workspace": str(root)})
        return
    say(f"Written: {', '.join(written) or 'nothing, all was there'}")
    say(f"Next: {first.next_step}, then: ralph run")


def _init_from_existing(root: Path, *, yes: bool, as_json: bool) -> None:
    from ralph_ls.cli.taking_over import take_over

    ignored = ignoring(root, Config().paths)
    written = take_over(root, gitignore=ignored, yes=yes, as_json=as_json)
    if written is None and not as_json:
        raise typer.Exit(1)
    if written is not None and not as_json:
        say(f"Written: {', '.join(written) or 'nothing, all was there'}")
        say("Next: look at what an agent would be told with: ralph run --dry-run")


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StateUnusable(
            f"the folder {folder} cannot be made: {error.strerror or error}; "
            "mend that, and try again"
        ) from error
