"""Help pages: the listing of all verbs, and the page of one verb, wrapped to the terminal.

The listing is made of the table of verbs alone, so that it imports no verb.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from ralph_ls.cli.output import reading_width, wrap_line
from ralph_ls.cli.topics import TOPICS
from ralph_ls.cli.verbs import VERBS

TAGLINE = "Run, watch and steer an autonomous coding loop"

KEPT_AS_WRITTEN = "\b"
"""The first line of a paragraph whose line breaks stay."""

GLOBAL_OPTIONS = (
    ("-h, --help", "Show help, also of a verb: ralph VERB --help"),
    ("-V, --version", "Show the version"),
    ("--install-completion", "Complete with TAB in your shell: bash, zsh or fish"),
    ("--show-completion", "Print the completion script of your shell"),
)

_WIDEST_TERM = 30
"""Columns of a term beside its text; a longer one has a line to itself."""

_NARROWEST_TEXT = 24
"""Columns of a text beside its term; with fewer, it is below it."""


def listing() -> str:
    """What ``ralph --help`` prints."""
    width = reading_width()
    lines = [*wrap_line(TAGLINE, width), "", "Usage: ralph VERB [OPTIONS]"]
    longest = max(map(len, VERBS))
    for group, entries in groupby(VERBS.items(), lambda item: item[1].group):
        rows = [(name.ljust(longest), verb.summary) for name, verb in entries]
        lines += ["", f"{group.value}:", *_table(rows, width)]
    lines += ["", "Options:", *_table(GLOBAL_OPTIONS, width)]
    lines += ["", "Topics:", *wrap_line(", ".join(TOPICS), width, indent=2)]
    lines += ["", *wrap_line("Details of a verb or topic: ralph help NAME", width)]
    return "\n".join(lines)


def verb_page(name: str, command: Any) -> str:
    """What ``ralph VERB --help`` prints."""
    verb = VERBS[name]
    width = reading_width()
    lines = [*wrap_line(verb.summary, width), ""]
    lines += wrap_line(f"Usage: ralph {name} {usage_of(command)}", width, hanging=7)
    for paragraph in _description(command):
        lines += ["", *_wrapped(paragraph, width)]
    for heading in ("argument", "option"):
        rows = rows_of(command, heading)
        if rows:
            lines += ["", f"{heading.capitalize()}s:", *_table(rows, width)]
    lines += ["", "Examples:"]
    for example in verb.examples:
        lines += _example(example, width)
    return "\n".join(lines)


def _description(command: Any) -> Iterator[str]:
    """The paragraphs of a verb's docstring after its first one."""
    text = inspect.cleandoc(command.help or "")
    yield from text.split("\n\n")[1:]


def usage_of(command: Any) -> str:
    """What follows the verb in its usage line."""
    arguments = [argument_name(one) for one in command.params if one.param_type_name == "argument"]
    return " ".join(["[OPTIONS]", *arguments])


def rows_of(command: Any, kind: str | None = None) -> list[tuple[str, str]]:
    """Arguments, options or both, each with its text and default; without hidden ones."""
    return [
        _row(param)
        for param in command.params
        if kind in {None, param.param_type_name} and not getattr(param, "hidden", False)
    ]


def _row(param: Any) -> tuple[str, str]:
    term = argument_name(param) if param.param_type_name == "argument" else option_names(param)
    default = default_of(param)
    text = param.help or ""
    return term, f"{text} [default: {default}]".lstrip() if default else text


def argument_name(param: Any) -> str:
    """An argument as the usage line has it: ``FILE``, ``[N]`` or ``TEXT...``."""
    name = str(param.metavar or param.name.upper()).strip("[]")
    return name if param.required else f"[{name}]"


def option_names(param: Any) -> str:
    """An option with the name of its value, as in ``--agent NAME``."""
    flags = ", ".join(sorted(param.opts, key=len))
    if param.secondary_opts:
        flags += " / " + ", ".join(param.secondary_opts)
    return flags if param.is_flag else f"{flags} {param.metavar or 'TEXT'}"


def default_of(param: Any) -> str:
    """What holds without the option, in words; empty where its text says it."""
    if isinstance(param.show_default, str):
        return param.show_default
    if getattr(param, "is_flag", False) or param.default is None or param.multiple:
        return ""
    return str(param.default)


def _table(rows: Sequence[tuple[str, str]], width: int) -> Iterator[str]:
    """Terms and their texts: side by side where there is room, else below each other."""
    fitting = [len(term) for term, _ in rows if len(term) <= _WIDEST_TERM]
    column = max(fitting, default=0) + 4
    if width - column < _NARROWEST_TEXT:
        column = 6
    for term, text in rows:
        if len(term) + 4 > column:
            yield from wrap_line(term, width, indent=2, hanging=2)
            yield from wrap_line(text, width, indent=column)
        else:
            first, *others = wrap_line(text, width, indent=column)
            yield f"  {term}".ljust(column) + first[column:]
            yield from others


def _example(example: str, width: int) -> Sequence[str]:
    """A command line, and what it does below it."""
    command, _, text = example.partition("  # ")
    return (
        *wrap_line(command, width, indent=2, hanging=4),
        *(wrap_line(text[0].upper() + text[1:], width, indent=6) if text else ()),
    )


def _wrapped(paragraph: str, width: int) -> Iterator[str]:
    if not paragraph.startswith(KEPT_AS_WRITTEN):
        yield from wrap_line(" ".join(paragraph.split()), width)
        return
    for line in paragraph.splitlines()[1:]:
        text = line.lstrip()
        indent = len(line) - len(text)
        term, gap, rest = text.partition("  ")
        column = len(line) - len(rest.lstrip())
        if gap and term and width - column >= _NARROWEST_TEXT:
            first, *others = wrap_line(rest.lstrip(), width, indent=column)
            yield line[:column] + first[column:]
            yield from others
        else:
            yield from wrap_line(" ".join(text.split()), width, indent=indent, hanging=2)
