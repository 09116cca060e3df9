"""The man page of ``ralph``, made of what the help of every verb is made of."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from ralph_ls.cli.command_line import make_command
from ralph_ls.cli.help_pages import GLOBAL_OPTIONS, KEPT_AS_WRITTEN, TAGLINE, rows_of, usage_of
from ralph_ls.cli.verbs import VERBS

PATH = "server/ralph_ls/cli/shells/ralph.1"


def man_page() -> str:
    """The page as roff."""
    lines = [
        '.TH RALPH 1 "" "ralph" "User Commands"',
        ".SH NAME",
        f"ralph \\- {_plain(TAGLINE[0].lower() + TAGLINE[1:])}",
        ".SH SYNOPSIS",
        ".B ralph",
        "VERB [OPTIONS]",
        ".SH OPTIONS",
        *(line for row in GLOBAL_OPTIONS for line in _row(*row)),
        ".SH VERBS",
    ]
    commands = make_command(*VERBS).commands
    for name, verb in VERBS.items():
        command = commands[name]
        lines += [
            f'.SS "ralph {_plain(name)} {_plain(usage_of(command))}"',
            f"{_plain(verb.summary)}.",
        ]
        lines += _description(command)
        lines += [line for row in rows_of(command) for line in _row(*row)]
        lines += [".PP", "Examples:"]
        for example in verb.examples:
            words, _, text = example.partition("  # ")
            lines += _row(words, text)
    lines += [".SH FILES", *_row(".ralph/config.toml", "The settings of a repository.")]
    return "\n".join([*lines, ""])


def _row(term: str, text: str) -> Iterator[str]:
    yield ".TP"
    yield f".B {_plain(term)}"
    yield _plain(text) or "\\&"


def _description(command: Any) -> Iterator[str]:
    for paragraph in inspect.cleandoc(command.help or "").split("\n\n")[1:]:
        if paragraph.startswith(KEPT_AS_WRITTEN):
            yield from (".PP", ".nf", *map(_plain, paragraph.splitlines()[1:]), ".fi")
        else:
            yield from (".PP", _plain(" ".join(paragraph.split())))


def _plain(text: str) -> str:
    """Text in which roff finds no request and no escape."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace('"', "\\(dq")
    escaped = "".join(one if one.isascii() else f"\\[u{ord(one):04X}]" for one in escaped)
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped
