"""``ralph init --from-existing``: use what another tool of this kind left (docs/rules.md#files).

It shows what it would write, asks, and writes only our own files.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import typer

from ralph_ls.cli.commands.start_run import ask_plan
from ralph_ls.cli.output import emit_document, print_text
from ralph_ls.core.loop.profiles import profile_of, to_tables
from ralph_ls.core.plan.formats.registry import format_of_file
from ralph_ls.core.plan.model import PlanKind
from ralph_ls.core.views.model.control_chars import escape_nonprintable
from ralph_ls.protocol.config.config import CONFIG_FILE, Config
from ralph_ls.protocol.errors import UsageError
from ralph_ls.protocol.verb_output import ImportedSetup
from ralph_ls.store.files import make_folders_below, read_regular, resolve_inside, write_atomic
from ralph_ls.store.project.config_edit import SCHEMA_LINE, refresh_schema
from ralph_ls.store.project.config_file import load_settings
from ralph_ls.store.project.detection import DetectedPlan, format_at, how_to_begin
from ralph_ls.store.project.plan_choice import (
    FROM_EXISTING,
    all_plans,
    find_named,
    several_plans,
    why_no_plan,
)
from ralph_ls.store.setup.existing_setup import RC_FILE, ExistingSetup, find_existing_setup

PROMPT = f"{Config().paths.prompts}/PROMPT_build.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Write:
    path: str
    data: bytes
    source: str


def import_existing(
    root: Path,
    named: str | None,
    *,
    gitignore: bytes | None,
    yes: bool,
    dry_run: bool,
    as_json: bool,
) -> list[str] | None:
    """Show, ask and write, ``gitignore`` too where it is given; the files written.

    ``named`` is the plan of another tool that the user chose.

    None where nothing was written, since the user said no or only wants to look.

    Raises ``UsageError`` where there is nothing to take over, or nobody to ask.
    """
    plans = load_settings(root, os.environ, {}).plans
    if named is None:
        plan = _plan_of_tool(root, plans, asks=not (yes or as_json))
    else:
        plan = _plan_named(root, named)
    # The only one is found again, also when it is the next feature's.
    found = find_existing_setup(root, plan, remembers=len(plans) > 1 or named is not None)
    if found is None:
        raise UsageError(
            f"no other loop was found in {root}; looked for plans such as .ralph/fix_plan.md and "
            f"scripts/ralph/prd.json, for those of other tools such as specs/001-login/tasks.md, "
            f"and for {RC_FILE}{how_to_begin(root, 'set up a new loop with: ralph init')}"
        )
    writes = _writes(root, found)
    if gitignore is not None:
        writes.append(_Write(path=".gitignore", data=gitignore, source="the loop's own files"))
    if as_json and not yes:
        emit_document(_imported(found, writes, written=()))
        return None
    if not as_json:
        _show(root, found, writes)
    if dry_run:
        print_text("Nothing was written: this was a dry run")
        return None
    if not yes and not sys.stdin.isatty():
        raise UsageError("importing needs a terminal to ask in, or --yes")
    if not yes and not typer.confirm("Write this?", default=False):
        print_text("Nothing was written")
        return None
    for write in writes:
        target = resolve_inside(root, write.path)
        make_folders_below(root, target.parent)
        write_atomic(target, write.data, expected=None)
    refresh_schema(root)
    written = [write.path for write in writes]
    if as_json:
        emit_document(_imported(found, writes, written=tuple(written)))
    return written


def _plan_of_tool(root: Path, plans: Sequence[DetectedPlan], *, asks: bool) -> DetectedPlan | None:
    """The plan of another tool to take; asks where there are several.

    Raises ``UsageError`` where nobody can answer.
    """
    if len(plans) < 2:
        return plans[0] if plans else None
    if not (asks and sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(several_plans(plans, FROM_EXISTING))
    address = ask_plan(root, plans)
    return next(one for one in plans if one.address == address)


def _plan_named(root: Path, named: str) -> DetectedPlan:
    """The plan of that name or path; a list that no tool wrote, such as ``TODO.md``, too."""
    found = find_named(all_plans(root), named)
    if found is not None:
        return found
    path = os.path.normpath(named)
    if not (root / path).is_file():
        raise UsageError(why_no_plan(root, named))
    resolve_inside(root, path)
    return DetectedPlan(kind=format_of_file(path, PlanKind.MARKDOWN).name, path=path)


def _writes(root: Path, found: ExistingSetup) -> list[_Write]:
    """The files that are missing here; existing ones are the user's, and stay."""
    writes: list[_Write] = []
    if not (root / CONFIG_FILE).exists():
        source = RC_FILE if RC_FILE in found.kept else found.plan
        writes.append(_Write(path=CONFIG_FILE, data=_config(found).encode(), source=source))
    if found.prompt is not None and not (root / PROMPT).exists():
        data = read_regular(resolve_inside(root, found.prompt))
        if data is not None:
            writes.append(_Write(path=PROMPT, data=data, source=found.prompt))
    return writes


def _config(found: ExistingSetup) -> str:
    lines = [SCHEMA_LINE, f'profile = "{found.profile.value}"']
    plain = {key: value for key, value in found.settings.items() if "." not in key}
    lines += [f"{key} = {_toml(value)}" for key, value in plain.items()]
    tables = to_tables({key: value for key, value in found.settings.items() if "." in key})
    for name, table in tables.items():
        lines += ["", f"[{name}]", *(f"{key} = {_toml(value)}" for key, value in table.items())]
    return "\n".join(lines) + "\n"


def _toml(value: object) -> str:
    """JSON writes strings, lists of strings, numbers and truth values as TOML does."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _show(root: Path, found: ExistingSetup, writes: list[_Write]) -> None:
    kind = profile_of(found.profile).plan_kind
    known = format_at(root, found.plan, kind)
    tool = "" if known.name is kind else f" ({known.title})"
    plan = escape_nonprintable(found.plan)
    print_text(f"Found: {plan}{tool}, a plan for the profile {found.profile.value}")
    for write in writes:
        print_text(f"── would write {write.path}, from {write.source}")
        text = write.data.decode("utf-8", errors="replace")
        for line in escape_nonprintable(text).splitlines() if write.path == CONFIG_FILE else []:
            print_text(f"   {line}")
    if not writes:
        print_text("── nothing to write: the settings and the prompt are here already")
    for sentence in found.not_taken:
        print_text(f"── not imported: {escape_nonprintable(sentence)}")
    if found.kept:
        print_text(f"── unchanged: {', '.join(found.kept)}")


def _imported(
    found: ExistingSetup, writes: list[_Write], *, written: tuple[str, ...]
) -> ImportedSetup:
    return ImportedSetup(
        profile=found.profile.value,
        plan=found.plan,
        settings=dict(found.settings),
        would_write=() if written else tuple(write.path for write in writes),
        written=written,
        not_taken=tuple(found.not_taken),
        kept=tuple(found.kept),
    )
