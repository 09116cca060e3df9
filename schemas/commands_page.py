"""Generated reference of docs/commands.md, made of the same table and options as ``--help``."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from itertools import groupby

from ralph_ls.cli.command_line import make_command
from ralph_ls.cli.help_pages import KEPT_AS_WRITTEN, rows_of, usage_of
from ralph_ls.cli.verbs import VERBS


def command_parts() -> dict[str, str]:
    """The list of all verbs, and a section for each."""
    sections = [line for name in VERBS for line in _section(name)]
    return {"verbs": "\n".join(_overview()), "commands": "\n".join(sections)}


def _overview() -> Iterator[str]:
    yield "| group | command | what it does |"
    yield "|---|---|---|"
    for group, entries in groupby(VERBS.items(), lambda item: item[1].group):
        for number, (name, verb) in enumerate(entries):
            first = "" if number else f"**{group.value}**"
            yield f"| {first} | [`ralph {name}`](#ralph-{name}) | {verb.summary} |"


def _section(name: str) -> Iterator[str]:
    verb = VERBS[name]
    # Typer brings its own click, which has no types to name.
    command = make_command(name).commands[name]
    yield from (f"### ralph {name}", "", f"{verb.summary}.", "")
    yield from ("```text", f"ralph {name} {usage_of(command)}", "```", "")
    for paragraph in inspect.cleandoc(command.help or "").split("\n\n")[1:]:
        yield from _paragraph(paragraph)
    rows = rows_of(command)
    if rows:
        yield from ("| option | what it does |", "|---|---|")
    for term, text in rows:
        yield f"| `{_in_code(term)}` | {_cell(text)} |"
    yield from ("", "```sh", *verb.examples, "```", "")


def _paragraph(text: str) -> Iterator[str]:
    if text.startswith(KEPT_AS_WRITTEN):
        yield from ("```text", *text.splitlines()[1:], "```", "")
    else:
        yield from (_cell(text), "")


def _in_code(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _cell(text: str) -> str:
    # Outside of code a tag would be taken for one.
    return _in_code(text).replace("<", "&lt;")
