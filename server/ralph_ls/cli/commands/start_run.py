"""Starting a run: its request, the question for its profile, and an engine in the background.

The question appears if several plans are here and a terminal can ask (docs/rules.md#profiles).
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from ralph_ls.cli.context import current_worktree
from ralph_ls.cli.flags import issue_overrides
from ralph_ls.cli.output import emit_json, print_error, print_text
from ralph_ls.cli.show.renderers import header_of
from ralph_ls.core.loop.evidence.ownership import OwnershipOrder
from ralph_ls.core.loop.profiles import profile_of
from ralph_ls.protocol.config.config import ProfileName
from ralph_ls.protocol.errors import RalphError, RequestMissing, StateUnusable, UsageError
from ralph_ls.protocol.lsp.setup import SetupFileAction
from ralph_ls.protocol.plan import STDIN
from ralph_ls.store.files import read_regular
from ralph_ls.store.project.config_file import load_settings
from ralph_ls.store.project.request import LARGEST_REQUEST, read_stdin
from ralph_ls.store.run.launch import StartOrder, start_detached
from ralph_ls.store.run.runs import load_state
from ralph_ls.store.setup.documents import specification_of, write_files


def iteration_count(text: str | int) -> int:
    """The number of iterations in ``[N]``; raises ``UsageError``."""
    try:
        count = int(text)
    except ValueError as error:
        raise UsageError(
            f"{text!r} is not a number of iterations; "
            f"to work on a sentence: ralph run -p {shlex.quote(str(text))}"
        ) from error
    if count < 1:
        raise UsageError(f"{count} iterations are too few; give 1 or more, such as: ralph run 20")
    return count


def request_overrides(
    *,
    issue: str | None,
    text: str | None,
    file: str | None,
    profile: str | None,
    resume: bool,
    dry_run: bool,
) -> dict[str, str]:
    """The settings that ``--issue``, ``-p`` and ``--prompt`` make; empty without any of them.

    With a profile that plans from specifications, the text becomes one. Raises ``UsageError``, and
    ``RequestMissing`` for a file that cannot be read or is empty.
    """
    given = {"--issue": issue, "-p": text, "--prompt": file}
    flags = [flag for flag, value in given.items() if value is not None]
    if len(flags) > 1:
        raise UsageError(f"{' and '.join(flags)} do not go together; leave all but one out")
    if flags and resume:
        raise UsageError(
            f"a run keeps the request that it began with, so {flags[0]} and --resume do not go "
            "together; leave one of them out"
        )
    if issue is not None or not flags:
        return issue_overrides(issue, profile)
    if STDIN in {text, file}:
        return issue_overrides(STDIN, profile)
    words = _prompt_text(text, file)
    if profile in PLANNED_FROM_SPECS:
        _write_spec(ProfileName(profile), words, flags[0], dry_run=dry_run)
        return {}
    own = ProfileName.ISSUE.value
    if profile not in {None, own}:
        raise UsageError(
            f"{flags[0]} works without a plan, and the profile {profile} has one; "
            "leave --profile out, or add a task to the plan: ralph init --task '…'"
        )
    if file is not None:
        return issue_overrides(f"./{file}" if "://" in file or "#" in file else file, profile)
    return {"profile": own, "issue.text": words, "issue.file": "", "issue.github": ""}


PLANNED_FROM_SPECS = frozenset({ProfileName.FIXPLAN.value, ProfileName.SPEC.value})
"""Profiles whose first iteration writes a plan from the specifications."""


def _prompt_text(text: str | None, file: str | None) -> str:
    if file is None:
        words = (text or "").strip()
        if not words:
            raise UsageError("-p is empty; say what to do, such as: ralph run -p 'Fix the login'")
        return words
    if not file.strip():
        raise UsageError("--prompt is empty; name a file, such as: ralph run --prompt PROMPT.md")
    path = Path(file).expanduser()
    try:
        data = read_regular(path, LARGEST_REQUEST)
    except StateUnusable as error:
        raise RequestMissing(f"--prompt {file}: {error.message}") from error
    if data is None:
        raise RequestMissing(
            f"--prompt {file}: there is no such file; write the prompt there, "
            "or give it as a sentence: ralph run -p '…'"
        )
    words = data.decode("utf-8", errors="replace").strip()
    if not words:
        raise RequestMissing(f"--prompt {file}: the file is empty; write the prompt into it")
    return words


def _write_spec(profile: ProfileName, text: str, flag: str, *, dry_run: bool) -> None:
    """Write the text as the specification that a plan is made from (docs/rules.md#plan-mode)."""
    from ralph_ls.engine.clock import SystemClock

    root = current_worktree().worktree.root
    plan = next((name for name in profile_of(profile).plan_files if (root / name).exists()), None)
    if plan is not None:
        raise UsageError(
            f"{flag} with --profile {profile.value} writes a plan, and {plan} is here already; "
            "leave --profile out to work without the plan, or add a task: ralph init --task '…'"
        )
    file = specification_of(root, text, today=SystemClock().local().date())
    if dry_run or file.action is SetupFileAction.KEEP:
        return
    write_files(root, [file])
    print_error(f"wrote {file.path}; the first iteration writes the plan from it")


def prompt_profile(overrides: Mapping[str, Any]) -> str | None:
    """The profile that the user chooses; None without a choice or without a terminal.

    What is wrong with the settings is said by the start, which reads them again.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return None
    try:
        detected = load_settings(current_worktree().worktree.root, os.environ, overrides).detected
    except RalphError:
        return None
    if len(detected) < 2:
        return None
    print_text("There are several plans:")
    for one in detected:
        print_text(f"  {one.profile.value:8} {one.sign}")
    names = [one.profile.value for one in detected]

    def checked(typed: str) -> str:
        if typed.strip() not in names:
            raise typer.BadParameter(f"it must be one of {', '.join(names)}")
        return typed.strip()

    return str(typer.prompt("Which one?", value_proc=checked))


def run_detached(
    overrides: dict[str, Any],
    *,
    resume: bool,
    as_json: bool,
    settle: OwnershipOrder | None = None,
) -> None:
    """Start an engine in the background and say what became of it."""
    from ralph_ls.engine.clock import SystemClock

    place = current_worktree()
    order = StartOrder(
        environment=os.environ,
        overrides=overrides,
        resume=resume,
        settle=settle,
        read_stdin=read_stdin,
    )
    begun = start_detached(place.worktree, place.state, order, SystemClock().now())
    if as_json:
        emit_json({"run": begun.run, "pid": begun.pid})
    else:
        print_text(f"Run {begun.run} is running in the background (pid {begun.pid})")
        for line in header_of(load_state(begun.files))[1:]:
            print_text(line)
        print_text("Watch: ralph watch   Status: ralph status   Stop: ralph stop")
