"""Our own Python as a command line: the one place that builds ``python … -m ralph_ls``.

Python puts the current folder first on its import path for ``-m`` and ``-c``. The current folder of
nearly all that is started here is a work tree, so a repository could bring a ``json.py``, or a
whole ``ralph_ls``. ``-I`` takes the current folder, ``PYTHON*`` and the user's own packages out of
it; ``-P`` only the current folder, where our package is one that ``-I`` would not find.
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
    """The interpreter that runs this, without the current folder on its import path.

    ``arguments`` are those of Python: ``-m``, a module and that module's own.
    """
    return [sys.executable, isolation(os.environ), *arguments]


def isolation(environment: Mapping[str, str]) -> str:
    """``-I``, or ``-P`` where this package was found by ``PYTHONPATH`` or in the user's own ones.

    ``RALPH_*`` variables are read either way: ``-I`` is about those of Python alone.
    """
    home = Path(os.path.realpath(ralph_ls.__file__)).parents[1]
    entries = [entry for entry in environment.get(SEARCH_PATH, "").split(os.pathsep) if entry]
    if site.ENABLE_USER_SITE:
        entries.append(site.getusersitepackages())
    return "-P" if any(Path(os.path.realpath(entry)) == home for entry in entries) else "-I"


def keep_search_path_absolute() -> None:
    """Take entries out of ``PYTHONPATH`` that mean another folder in each process of ours.

    An empty one, as ``PYTHONPATH=$PYTHONPATH:/more`` makes it, is the current folder, also with
    ``-P``; so no process that is started in a work tree may inherit it.
    """
    value = os.environ.get(SEARCH_PATH)
    if value is None:
        return
    kept = [entry for entry in value.split(os.pathsep) if Path(entry).is_absolute()]
    if kept:
        os.environ[SEARCH_PATH] = os.pathsep.join(kept)
    else:
        del os.environ[SEARCH_PATH]
