"""Where validation scripts lie in a work tree: the one file, and the folder beside it (SPEC §4).

The folder is called as the file is, with ``.d`` at its end: ``validate.sh`` and ``validate.d``.
This module must never know which of them an iteration asks for, nor how they are run.
"""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath

from ralph_ls.protocol.config import Config
from ralph_ls.store.files import names_in


def validation_folder(config: Config) -> str:
    """The folder of the scripts, relative to the root."""
    return PurePosixPath(config.paths.validate_script).with_suffix(".d").as_posix()


def validation_files(root: Path, config: Config) -> list[str]:
    """The validation scripts that are there, executable or not, in the order they are run in.

    Hidden files and an editor's copies, whose names end with ``~``, are none. Raises
    ``StateUnusable`` where the folder cannot be listed.
    """
    script, folder = config.paths.validate_script, validation_folder(config)
    found = [script] if (root / script).is_file() else []
    names = [name for name in names_in(root / folder) if (root / folder / name).is_file()]
    kept = [name for name in names if not name.startswith(".") and not name.endswith("~")]
    return [*found, *(f"{folder}/{name}" for name in kept)]


def can_run(root: Path, path: str) -> bool:
    """Whether the script is there and executable."""
    return (root / path).is_file() and os.access(root / path, os.X_OK)
