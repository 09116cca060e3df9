"""How the fake ``bd`` reads the words that it is called with.

A call knows only the flags of its command, since to make those of all takes as long as to
answer it.
"""

from __future__ import annotations

import argparse
import functools
import re
from collections.abc import Sequence
from typing import NoReturn

from tests.fakes.bd_database import BdError


def read_words(argv: Sequence[str], old: frozenset[str]) -> argparse.Namespace:
    """What is asked for; ``old`` as ``FAKE_BD_OLD`` has it. Raises ``BdError``."""
    name = argv[0] if argv and argv[0] in _FLAGS else None
    # Each word that follows a flag is its value, whatever it looks like, as in the real one.
    return _parser(name, old).parse_args(_joined(argv))


class _Parser(argparse.ArgumentParser):
    def __init__(self, *, prog: str) -> None:
        # Without a width it would look for the terminal's, once for each flag.
        width = functools.partial(argparse.HelpFormatter, width=80)
        super().__init__(prog=prog, allow_abbrev=False, formatter_class=width)

    def error(self, message: str) -> NoReturn:
        flag = re.search(r"unrecognized arguments: (-\S+)", message)
        raise BdError(f"unknown flag: {flag[1]}" if flag else message)


@functools.cache
def _parser(only: str | None, old: frozenset[str]) -> _Parser:
    """The parser of one command, or of all."""
    parser = _Parser(prog="bd")
    commands = parser.add_subparsers(dest="command", required=True, prog="bd", parser_class=_Parser)
    for name, add_flags in _FLAGS.items():
        if only in {None, name}:
            made = commands.add_parser(name)
            if name != "dep":
                made.add_argument("--json", action="store_true")
            add_flags(made, old)
    return parser


def _nothing(made: _Parser, old: frozenset[str]) -> None:
    del made, old


def _blocked(made: _Parser, old: frozenset[str]) -> None:
    del old
    made.add_argument("--parent")


def _ready(made: _Parser, old: frozenset[str]) -> None:
    del old
    made.add_argument("--limit", "-n", type=int, default=10)
    made.add_argument("--parent")


def _list(made: _Parser, old: frozenset[str]) -> None:
    made.add_argument("--status", "-s")
    if "no-all" not in old:
        made.add_argument("--all", action="store_true")
    if "no-limit" not in old:
        made.add_argument("--limit", "-n", type=int, default=50)


def _show(made: _Parser, old: frozenset[str]) -> None:
    del old
    made.add_argument("ids", nargs="+")


def _update(made: _Parser, old: frozenset[str]) -> None:
    made.add_argument("ids", nargs="+")
    if "no-claim" not in old:
        made.add_argument("--claim", action="store_true")
    for flag in ("--status", "--notes", "--append-notes", "--priority", "--type", "--title"):
        made.add_argument(flag)
    _texts(made)


def _create(made: _Parser, old: frozenset[str]) -> None:
    del old
    _texts(made)
    made.add_argument("words", nargs="?")
    for flag in ("--title", "--id", "--type", "--priority", "--parent", "--deps", "--labels"):
        made.add_argument(flag)


def _texts(made: _Parser) -> None:
    for flag in ("--description", "--design", "--acceptance", "--assignee"):
        made.add_argument(flag)


def _close(made: _Parser, old: frozenset[str]) -> None:
    _reopen(made, old)
    made.add_argument("--force", action="store_true")


def _reopen(made: _Parser, old: frozenset[str]) -> None:
    del old
    made.add_argument("ids", nargs="+")
    made.add_argument("--reason", "-r", default="")


def _delete(made: _Parser, old: frozenset[str]) -> None:
    del old
    made.add_argument("ids", nargs="+")
    made.add_argument("--force", action="store_true")


def _dep(made: _Parser, old: frozenset[str]) -> None:
    del old
    verbs = made.add_subparsers(dest="verb", required=True, prog="bd dep", parser_class=_Parser)
    for verb in ("add", "remove"):
        one = verbs.add_parser(verb)
        one.add_argument("--json", action="store_true")
        one.add_argument("issue")
        one.add_argument("on")
        if verb == "add":
            one.add_argument("--type", default="blocks")


_FLAGS = {
    "init": _nothing,
    "version": _nothing,
    "stats": _nothing,
    "blocked": _blocked,
    "ready": _ready,
    "list": _list,
    "show": _show,
    "update": _update,
    "create": _create,
    "close": _close,
    "reopen": _reopen,
    "delete": _delete,
    "dep": _dep,
}


def _joined(argv: Sequence[str]) -> list[str]:
    words: list[str] = []
    rest = iter(argv)
    for word in rest:
        if word in _WITH_VALUE:
            value = next(rest, None)
            if value is None:
                raise BdError(f"flag needs an argument: {word}")
            words.append(f"{word}={value}")
        else:
            words.append(word)
    return words


_WITH_VALUE = frozenset(
    {
        "--acceptance", "--append-notes", "--assignee", "--deps", "--description", "--design",
        "--id", "--labels", "--limit", "--notes", "--parent", "--priority", "--reason", "--status",
        "--title", "--type",
    }
)  # fmt: skip
