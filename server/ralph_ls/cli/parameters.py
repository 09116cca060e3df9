"""Parameters of a verb, as its help shows them: options, arguments and flags.

``default`` says in words what happens without it.
"""

from __future__ import annotations

from typing import Any

import typer


def option(metavar: str, text: str, *names: str, default: bool | str = True, **more: Any) -> Any:
    """An option with a value; ``names`` where they do not follow from the parameter's name."""
    return typer.Option(*names, metavar=metavar, help=text, show_default=default, **more)


def argument(metavar: str, text: str, *, default: bool | str = True, **more: Any) -> Any:
    """An argument of the command line."""
    return typer.Argument(metavar=metavar, help=text, show_default=default, **more)


def flag(*names: str, text: str) -> Any:
    """An option without a value; its names are given, so that it has no opposite."""
    return typer.Option(*names, help=text)
