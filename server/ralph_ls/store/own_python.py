"""Own Python: builds every command line of the form ``python … -m ralph_ls``.

Python puts the current folder first on its import path for ``-m`` and ``-c``. As it mostly is a
work tree, a repository could bring a ``json.py``, or a whole ``ralph_ls``. ``-I`` removes the
current folder, ``PYTHON*`` and the user's own packages; ``-P`` only the current folder, where
``-I`` would not find our package.
"""

from __future__ import annotations

import os
import site
import sys
from collections.abc import Mapping
from pathlib import Path

import ralph_ls

SEARCH_PATH = "PYTHONPATH"


def own_command(*arguments: str) -> list[str]:
    """The running interpreter, without the current folder on its import path.

    ``arguments`` are those of Python: ``-m``, a module and its arguments.
    """
    return [sys.executable, isolation(os.environ), *arguments]


def isolation(environment: Mapping[str, str]) -> str:
    """``-I``, or ``-P`` where this package is on ``PYTHONPATH`` or among the user's packages.

    ``RALPH_*`` variables are read either way, as ``-I`` only concerns ``PYTHON*``.
    """
    home = Path(os.path.realpath(ralph_ls.__file__)).parents[1]
    entries = [entry for entry in environment.get(SEARCH_PATH, "").split(os.pathsep) if entry]
    if site.ENABLE_USER_SITE:
        entries.append(site.getusersitepackages())
    return "-P" if any(Path(os.path.realpath(entry)) == home for entry in entries) else "-I"


def keep_search_path_absolute() -> None:
    """Remove relative entries from ``PYTHONPATH``.

    An empty one, as in ``PYTHONPATH=$PYTHONPATH:/more``, is the current folder, even with ``-P``,
    so no process in a work tree may inherit it.
    """
    value = os.environ.get(SEARCH_PATH)
    if value is None:
        return
    kept = [entry for entry in value.split(os.pathsep) if Path(entry).is_absolute()]
    if kept:
        os.environ[SEARCH_PATH] = os.pathsep.join(kept)
    else:
        del os.environ[SEARCH_PATH]
