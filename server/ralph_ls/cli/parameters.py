"""Parameters of a verb that take a value: an option or an argument, as its help shows it.

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
