"""``ralph doctor``: all that a run needs, and what the last one ran into. It changes nothing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from ralph_ls.cli.flags import AgentCommand, AgentName, Json, agent_words, profile_named
from ralph_ls.cli.output import emit_json
from ralph_ls.core.plurals import count_of
from ralph_ls.core.views.model.control_chars import escape_control_chars
from ralph_ls.protocol.json_output import CheckResult, CheckStatus, DoctorReport

MARKS = {
    CheckStatus.OK: ("✓", "green"),
    CheckStatus.WARNING: ("!", "yellow"),
    CheckStatus.PROBLEM: ("✗", "bold red"),
}


def doctor(
    profile: Annotated[
        str | None, typer.Option(help="As for the run that is meant: spec, fixplan, …")
    ] = None,
    agent: AgentName = None,
    agent_command: AgentCommand = None,
    network: Annotated[
        bool, typer.Option("--network", help="Ask the remote too, whether it answers.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Check all that a run needs and what the last one ran into, and say what to do."""
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
    counts = {
        status: sum(1 for check in report.checks if check.status is status)
        for status in CheckStatus
    }
    problems, warnings = counts[CheckStatus.PROBLEM], counts[CheckStatus.WARNING]
    if not problems and not warnings:
        return "All is well"
    told = f"{count_of(problems, 'problem')}, {count_of(warnings, 'warning')}"
    if problems:
        return f"{told}: no run begins or goes on before the problems are solved"
    return f"{told}: a run can begin"
