"""Help pages: the listing of all verbs, the page of one verb, and topics of the documentation.

They are wrapped to the terminal. Topics are pages as they were when this version was built.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path, PurePosixPath
from typing import Any

import ralph_ls
from ralph_ls.cli.output import reading_width, wrap_line
from ralph_ls.cli.verbs import VERBS
from ralph_ls.protocol.errors import StateUnusable

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


# ------------------------------------------------------------------------------------------- topics


TOPICS: Mapping[str, str] = {
    # "logs" is a verb.
    "log-files": "logs.md",
    # So is "lessons".
    "learning": "lessons.md",
} | {
    PurePosixPath(page).stem: page
    for page in (
        *("quick-start.md", "overnight.md", "safety.md", "setting-up.md", "moving.md", "faq.md"),
        *("running.md", "plans.md", "plan-forms.md", "profiles.md", "checks.md"),
        *("progress.md", "commits.md"),
        *(
            "limits.md",
            "notifications.md",
            "requests.md",
            "prompts.md",
            "configuration.md",
            "exit-codes.md",
        ),
        *("troubleshooting.md", "security.md", "sandbox.md", "redaction.md", "comparison.md"),
        *("profiles/fixplan.md", "profiles/spec.md", "profiles/stories.md", "profiles/beads.md"),
        *("profiles/issue.md", "agents.md", "agents/models.md", "agents/failures.md"),
        *("agents/hooks.md", "agents/acp.md", "agents/json-lines.md", "agents/containers.md"),
        *("editors.md", "editors/vscode.md", "editors/neovim.md", "editors/emacs.md"),
        *("editors/helix.md", "editors/kate.md", "editors/sublime.md", "editors/vim.md"),
        *("editors/jetbrains.md", "editors/zed.md"),
    )
}
"""Each topic with its page, which pyproject.toml puts into the wheel."""

IN_WHEEL = "docs"
"""Folder of the pages in the installed package."""

_PACKAGE = Path(ralph_ls.__file__).parent
_CODE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!!)\[([^\]\n]+)\]\(([^)\s]+)\)")
_LEFT_OUT = re.compile(r"^(?:!\[.*\]\(.*\)|<!--.*?-->)\n+", re.MULTILINE)
"""Pictures, and comments for those who write the pages."""


def show_topic(name: str) -> None:
    """Print the page of a topic: set on a terminal, else as Markdown."""
    text = topic_text(name)
    if not sys.stdout.isatty():
        sys.stdout.write(text)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    Console(width=reading_width()).print(Markdown(text, hyperlinks=False))


def topic_text(name: str) -> str:
    """The page of a topic as Markdown that can be read in a terminal."""
    linked: set[str] = set()

    def as_text(link: re.Match[str]) -> str:
        if "://" in link[2]:
            return link[0]
        linked.update({PurePosixPath(link[2].partition("#")[0]).stem} & TOPICS.keys() - {name})
        return link[1]

    # Every other part is code, which stays as it is.
    parts = _CODE.split(_read(TOPICS[name]))
    parts[::2] = [_LINK.sub(as_text, _LEFT_OUT.sub("", part)) for part in parts[::2]]
    also = [f"- `ralph help {topic}`" for topic in TOPICS if topic in linked]
    return "".join([*parts, *(["\n## See also\n\n", "\n".join(also), "\n"] if also else [])])


def _read(page: str) -> str:
    # An editable install has the pages where they are written.
    for folder in (_PACKAGE / IN_WHEEL, _PACKAGE.parents[1] / "docs"):
        if (folder / page).is_file():
            return (folder / page).read_text(encoding="utf-8")
    raise StateUnusable(
        f"the documentation is missing from this installation ({page}); install it again"
    )
