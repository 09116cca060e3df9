"""Reading what others wrote: ``plan`` and ``read``. Neither runs or changes anything."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from ralph_ls.cli.context import here
from ralph_ls.cli.output import emit_json, say
from ralph_ls.core.agent import reading
from ralph_ls.core.loop.profiles import PROFILES
from ralph_ls.core.plan.markdown import parse
from ralph_ls.core.plan.model import Parsed
from ralph_ls.core.plan.wire import to_json as plan_to_json
from ralph_ls.protocol.config import Dialect, ProfileName
from ralph_ls.protocol.errors import PlanMissing, RalphError, UsageError
from ralph_ls.protocol.plan import TaskState
from ralph_ls.protocol.report import ReportKind
from ralph_ls.store.config_file import load_settings

Json = Annotated[bool, typer.Option("--json", help="For programs.")]

STATE_MARKS = {
    TaskState.TODO: "○",
    TaskState.IN_PROGRESS: "◐",
    TaskState.DONE: "✓",
    TaskState.BLOCKED: "⊘",
    TaskState.SKIPPED: "→",
}

OWN_BLOCK = {ProfileName.ISSUE: ReportKind.CLARITY_STATUS}
"""Which block a profile's agents write; RALPH_STATUS for all others (SPEC §5)."""

DIALECTS = {"command": Dialect.TEXT, "demo": Dialect.TEXT, "claude": Dialect.CLAUDE}
"""How each agent writes."""


def show_plan(
    file: Annotated[Path | None, typer.Argument(help="The plan; found by itself here.")] = None,
    as_json: Json = False,
) -> None:
    """Show the tasks of a plan and what in it could not be read."""
    parsed = parse(_plan_text(file), optional_sections=_optional_sections())
    if as_json:
        emit_json(plan_to_json(parsed))
    else:
        _show_plan(parsed)


def read_output(
    file: Annotated[str, typer.Argument(help="What an agent printed; - is standard input.")] = "-",
    agent: Annotated[str | None, typer.Option(help="Whose output it is.")] = None,
    profile: Annotated[str | None, typer.Option(help="Whose signals count.")] = None,
    as_json: Json = False,
) -> None:
    """Tell what an agent's output says: report, promise, errors, words."""
    dialect = DIALECTS.get(agent or "command")
    if dialect is None:
        known = ", ".join(sorted(DIALECTS))
        raise UsageError(f"--agent {agent!r}: this version reads the output of: {known}")
    if profile is not None and profile not in set(ProfileName):
        known = ", ".join(name.value for name in ProfileName)
        raise UsageError(f"--profile {profile!r}: it must be one of {known}")
    preferred = ReportKind.RALPH_STATUS
    if profile is not None:
        preferred = OWN_BLOCK.get(ProfileName(profile), preferred)
    found = reading.read_output(_input_of(file), dialect=dialect, preferred=preferred)
    if as_json:
        emit_json(reading.to_json(found))
    else:
        _show_reading(found)


def _plan_text(file: Path | None) -> str:
    path = file if file is not None else _find_plan()
    try:
        return path.read_bytes().decode("utf-8", errors="replace")
    except OSError as error:
        raise PlanMissing(f"the plan {path} cannot be read: {error.strerror or error}") from error


def _find_plan() -> Path:
    root = here().worktree.root
    settings = load_settings(root, os.environ, {}).config
    profile = PROFILES[settings.profile]
    names = [settings.paths.plan] if settings.paths.plan is not None else profile.plan_files
    for name in names:
        if (root / name).is_file():
            return root / name
    raise PlanMissing(
        f"there is no plan in {root}: looked for {', '.join(names)}; make one with: ralph init"
    )


def _optional_sections() -> tuple[str, ...]:
    """The settings of this work tree, where there is one that can be read."""
    try:
        root = here().worktree.root
        return load_settings(root, os.environ, {}).config.optional_sections
    except RalphError:
        return ()


def _show_plan(parsed: Parsed) -> None:
    section = None
    for task in parsed.plan.tasks:
        if task.section != section:
            section = task.section
            say(section or "(no section)")
        indent = "  " * (task.depth + 1)
        blocked = f"  (blocked by: {task.blocked_by})" if task.blocked_by else ""
        say(f"{indent}{STATE_MARKS[task.state]} {task.title}  [{task.id}]{blocked}")
    for problem in parsed.problems:
        say(f"line {problem.line}: {problem.code}: {problem.message}")


def _input_of(file: str) -> bytes:
    if file == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror or error}") from error


def _show_reading(found: reading.Reading) -> None:
    if found.report is None:
        say("Report: none")
    else:
        say(f"Report: {found.report.kind.value}")
        for key, value in found.report.fields.items():
            say(f"  {key}: {value}")
        for problem in found.report.problems:
            say(f"  ! {problem.code}: {problem.message}")
    for promise in found.promises:
        say(f"Promise: {promise.kind.value} {promise.text}".rstrip())
    for error in found.errors:
        say(f"Error: {error}")
    say(f"Completion words: {', '.join(found.completion) or 'none'}")
    say(f"Clarification words: {', '.join(found.clarification) or 'none'}")
    say(f"Confidence: {found.confidence}")
