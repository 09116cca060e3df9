"""Verbs before a first run: ``doctor``, ``allow`` and ``demo``.

``doctor`` checks everything that a run needs and changes nothing, ``allow`` approves what a
repository brings, and ``demo`` runs a sample project.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ralph_ls.cli.context import CommandWorktree, current_worktree
from ralph_ls.cli.flags import (
    AgentCommand,
    AgentName,
    Json,
    Profile,
    agent_words,
    profile_named,
)
from ralph_ls.cli.output import emit_document, emit_json, print_text
from ralph_ls.cli.parameters import argument, flag, option
from ralph_ls.core.plurals import count_of
from ralph_ls.core.views.model.control_chars import escape_control_chars, escape_nonprintable
from ralph_ls.protocol.errors import NotAllowed, UsageError

if TYPE_CHECKING:
    from ralph_ls.protocol.json_output import CheckResult, DoctorReport
    from ralph_ls.protocol.verb_output import Approvals
    from ralph_ls.store.project import trust

MARKS = {"ok": ("✓", "green"), "warning": ("!", "yellow"), "problem": ("✗", "bold red")}
"""By the status of a check: a mark and its style."""


def doctor(
    profile: Profile = None,
    agent: AgentName = None,
    agent_command: AgentCommand = None,
    network: Annotated[bool, flag("--network", text="Also check that the remote answers.")] = False,
    editor: Annotated[
        bool, flag("--editor", text="Show the connected editors, and what each lacks.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Check all that a run needs and what the last one ran into, and say what to do."""
    if editor:
        _show_editors(as_json=as_json)
        return
    from ralph_ls.engine.doctor.examination import examine

    if profile is not None:
        profile_named(profile)
    overrides: dict[str, Any] = {"profile": profile, "agent": agent}
    words = agent_words(agent_command, None, agent)
    if words is not None:
        table = {"argv": list(words[0]), "prompt": words[1]}
        overrides |= {"agent": "command", "agents.command": table}
    report = examine(Path.cwd(), dict(os.environ), overrides, network=network)
    if as_json:
        emit_json(report.model_dump(mode="json", by_alias=True, exclude_none=True))
    else:
        _show(report)
    raise typer.Exit(0 if report.ok else 1)


def _show_editors(*, as_json: bool) -> None:
    """The editors of the user, wherever they are: a server has no work tree before a file."""
    from ralph_ls.protocol.json_output import ConnectedEditors
    from ralph_ls.store.editors import connected_editors
    from ralph_ls.store.layout import state_root

    found = connected_editors(state_root(os.environ))
    if as_json:
        shown = ConnectedEditors(editors=found)
        emit_json(shown.model_dump(mode="json", by_alias=True, exclude_none=True))
        return
    if not found:
        print_text("No editor is connected. See: ralph help editors")
    for one in found:
        named = f"{one.name} {one.version}" if one.version else one.name
        print_text(escape_control_chars(f"{named} (server {one.pid}): {', '.join(one.folders)}"))
        for each in one.missing:
            print_text(f"  has no {each.feature}: {each.instead}")
        if not one.missing:
            print_text("  has all that Ralph shows")


def _show(report: DoctorReport) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    for check in report.checks:
        mark, style = MARKS[check.status]
        line = Text.assemble((mark, style), f" {check.code:<16} ", _message(check))
        console.print(line)
        if check.remedy:
            console.print(Text(f"  {'':16} → {escape_control_chars(check.remedy)}", style="dim"))
    console.print(Text(f"\n{_in_all(report)}"))


def _message(check: CheckResult) -> str:
    lines = [escape_control_chars(line) for line in check.message.splitlines()]
    return f"\n{'':19}".join(lines)


def _in_all(report: DoctorReport) -> str:
    from ralph_ls.protocol.json_output import CheckStatus

    counts = {
        status: sum(1 for check in report.checks if check.status is status)
        for status in CheckStatus
    }
    problems, warnings = counts[CheckStatus.PROBLEM], counts[CheckStatus.WARNING]
    if not problems and not warnings:
        return "All is well"
    summary = f"{count_of(problems, 'problem')}, {count_of(warnings, 'warning')}"
    if problems:
        return f"{summary}: fix the problems before you start a run"
    return f"{summary}: a run can start"


SHOWN_BYTES = 100_000
"""A longer text is named by its hash: nobody reads it in a terminal."""

DEMO_SETTINGS = {"agent": "demo", "profile": "fixplan", "max_iterations": 20}
"""Given like flags, so that nothing which the user has set for other runs changes the demo."""

STOPPED = frozenset({130, 143})
"""How a run ends that somebody ended."""


def allow(
    yes: Annotated[bool, flag("--yes", text="Approve without asking.")] = False,
    shown: Annotated[
        str | None,
        option(
            "SHA256",
            "Approve only if `ralph allow --json` still shows this `sha256`.",
            default="any",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show what this repository brings that would run, and allow it."""
    from ralph_ls.store.run.launch import reporting_refusals

    # A program that asked reads the kind of the error from its first line.
    with reporting_refusals() if as_json else contextlib.nullcontext():
        _allow(yes=yes, shown=shown, as_json=as_json)


def _allow(*, yes: bool, shown: str | None, as_json: bool) -> None:
    from ralph_ls.cli.commands.steer import command_context, report_reply
    from ralph_ls.store.project import trust
    from ralph_ls.store.run import steering

    place = current_worktree()
    claims = _claims(place)
    _require_shown(claims, shown)
    missing = trust.unapproved_claims(place.state, claims)
    if as_json and not yes:
        emit_document(_approvals(claims, missing, allowed=False))
        return
    if not as_json:
        _show_claims(place, claims, missing)
    if not missing:
        if as_json:
            emit_document(_approvals(claims, missing, allowed=True))
        return
    _require_consent(yes=yes)
    # What was shown is what is allowed: it may have changed while somebody read it.
    _require_shown(_claims(place), trust.digest_of(claims))
    # A run that is under way reads no approvals: it has to accept them before they are stored.
    reply = steering.allow(command_context("allow"), {claim.key: claim.digest for claim in missing})
    if reply is not None and not reply.accepted:
        report_reply(reply, as_json=as_json)
    trust.allow(place.state, place.worktree.root, claims)
    if as_json:
        emit_document(_approvals(claims, (), allowed=True))
    else:
        also = "" if reply is None else f"; {reply.text}"
        print_text(f"Approved for {place.worktree.root}{also}. A change asks again")


def _require_consent(*, yes: bool) -> None:
    """Ask in a terminal whether all of it is approved."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise UsageError("approving needs a terminal to ask in, or --yes")
    if not typer.confirm("Approve all of this?", default=False):
        print_text("Nothing was approved")
        raise typer.Exit(1)


def demo(
    folder: Annotated[
        Path | None, argument("DIR", "An empty or new folder.", default="a temporary folder")
    ] = None,
    no_run: Annotated[
        bool, flag("--no-run", text="Only write the project; an editor starts the loop in it.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Watch a whole run on a sample project: no key, no network."""
    from ralph_ls.cli.commands.start_run import run_in_foreground
    from ralph_ls.engine.demo import project

    chosen = folder if folder is not None else Path(tempfile.mkdtemp(prefix="ralph-demo-"))
    root = project.lay_out(chosen, asks=no_run)
    if no_run:
        if as_json:
            from ralph_ls.protocol.verb_output import DemoProject

            emit_document(DemoProject(folder=str(root)))
        else:
            print_text(f"A sample project is in {root}. Start it: cd {root} && ralph run")
        return
    if not as_json:
        print_text(f"A sample project is in {root}; its tests fail, its plan says what to do\n")
    code = run_in_foreground(root, dict(DEMO_SETTINGS), as_json=as_json)
    stream = sys.stderr if as_json else sys.stdout
    there = shlex.quote(str(root))
    if code in STOPPED:
        stream.write(
            f"\nThe demo was stopped. Continue with:\n  cd {there} && ralph run --resume\n"
        )
        raise typer.Exit(code)
    problem = _what_is_wrong_with(root)
    if code != 0 or problem is not None:
        stream.write(f"\nThe demo failed: {problem or f'the run ended {code}'}\n")
        raise typer.Exit(code or 5)
    stream.write(
        f"\nThe sample's tests pass and its plan is done: {root}\n"
        f"See what the loop did:\n"
        f"  cd {there}\n"
        f"  git log --oneline        the commits, one for each task\n"
        f"  python3 -m unittest      the tests, which pass now\n"
        f"  ralph status             the state of the run\n"
        f"Then, in your own repository:\n"
        f"  ralph init               sets up a loop\n"
        f"  ralph run                starts it\n"
    )


def _what_is_wrong_with(root: Path) -> str | None:
    from ralph_ls.engine.demo import project

    if not project.suite_passes(root):
        return "the sample's tests fail"
    if not project.required_tasks_done(root):
        return "tasks of the sample's plan are open"
    return None


def _claims(place: CommandWorktree) -> tuple[trust.Claim, ...]:
    from ralph_ls.engine.iteration.validation import claims_of_plan
    from ralph_ls.store.project import trust
    from ralph_ls.store.project.config_file import load_settings

    root = place.worktree.root
    settings = load_settings(root, os.environ, {})
    approved = trust.read_record(place.state).allowed
    return (
        *trust.claims_of(root, settings.config, settings.from_file, approved),
        *claims_of_plan(root, settings, os.environ),
    )


def _require_shown(claims: tuple[trust.Claim, ...], shown: str | None) -> None:
    """Raise ``NotAllowed`` where an approval is not for these claims as they are now."""
    from ralph_ls.store.project import trust

    if shown is not None and trust.digest_of(claims) != shown:
        raise NotAllowed(
            "the commands changed since they were shown, so nothing was approved; "
            "review them again: ralph allow"
        )


def _show_claims(
    place: CommandWorktree, claims: tuple[trust.Claim, ...], missing: tuple[trust.Claim, ...]
) -> None:
    if not claims:
        print_text(f"nothing in {place.worktree.root} needs your approval")
        return
    shown: dict[tuple[str, str], str] = {}
    for claim in claims:
        state = "not approved yet" if claim in missing else "approved"
        print_text(f"── {escape_nonprintable(claim.key)} ({state})")
        same = shown.setdefault((claim.path or claim.key, claim.digest), claim.key)
        for line in (
            _shown(claim) if same == claim.key else [f"(as under {escape_nonprintable(same)})"]
        ):
            print_text(f"   {line}")
    _show_not_covered(claims)


def _show_not_covered(claims: tuple[trust.Claim, ...]) -> None:
    """What these run and nobody is asked about, so that no approval seems to say more."""
    if not any(claim.not_covered for claim in claims):
        return
    print_text("── Not covered: ralph does not ask when these change")
    for claim in claims:
        for words in claim.not_covered:
            print_text(f"   {escape_nonprintable(claim.key)}: {escape_nonprintable(words)}")


def _shown(claim: trust.Claim) -> list[str]:
    """All that would run, so that nothing hides behind what is shown; a program by its hash."""
    size = len(claim.text.encode("utf-8", errors="replace"))
    if claim.is_private:
        return [f"(git ignores it; SHA-256 {claim.digest}; look at the file before you approve it)"]
    if "\0" in claim.text or size > SHOWN_BYTES:
        what = "not text" if "\0" in claim.text else f"longer than {SHOWN_BYTES} bytes"
        return [f"({what}; SHA-256 {claim.digest}; look at the file before you approve it)"]
    return escape_nonprintable(claim.text).splitlines()


def _approvals(
    claims: tuple[trust.Claim, ...], missing: tuple[trust.Claim, ...], *, allowed: bool
) -> Approvals:
    from ralph_ls.protocol.verb_output import Approvals, ApprovedClaim
    from ralph_ls.store.project import trust

    return Approvals(
        allowed=allowed or not missing,
        sha256=trust.digest_of(claims),
        claims=tuple(
            ApprovedClaim(
                key=claim.key,
                sha256=claim.digest,
                allowed=claim not in missing,
                text="" if claim.is_private else claim.text,
                path=claim.path,
                not_covered=tuple(claim.not_covered),
            )
            for claim in claims
        ),
    )
