"""Git's hooks in a box: the loop's own commits and pushes run them, and they run the agent's code.

Git itself needs the user's keys, so it is not in the box; its hooks are, each by a script in a
folder of the run that takes the place of the folder of hooks.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path

from ralph_ls.engine.sandbox.box import Box
from ralph_ls.engine.sandbox.places import VARIABLES
from ralph_ls.engine.sandbox.repository import hooks_folder
from ralph_ls.engine.sandbox.starting import LeaveBox, in_no_box
from ralph_ls.store.files import make_private_folder, write_atomic

_SCRIPT = """\
#!/bin/sh
unset {hidden}
TMPDIR=/tmp
export TMPDIR
exec {command} "$@"
"""


def hooks_in_box(
    box: Box | None, folder: Path, environment: Mapping[str, str]
) -> tuple[tuple[str, ...], LeaveBox]:
    """Options with which git runs its hooks in the box, and what to call when git has ended.

    ``folder`` is made for them; without a box, or without a hook, there is nothing to do.
    """
    hooks = [] if box is None else _hooks(hooks_folder(box.worktree))
    if box is None or not hooks:
        return (), in_no_box
    make_private_folder(folder)
    for path in folder.iterdir():
        path.unlink()
    boxed = [(hook, box.around((str(hook),), environment)) for hook in hooks]
    hidden = " ".join(sorted(VARIABLES))
    for hook, command in boxed:
        text = _SCRIPT.format(hidden=hidden, command=shlex.join(command.argv))
        write_atomic(folder / hook.name, text.encode(errors="surrogateescape"), mode=0o700)

    def leave() -> str | None:
        return box.leave(boxed[0][1])

    return ("-c", f"core.hooksPath={folder}"), leave


def _hooks(folder: Path) -> list[Path]:
    """The hooks that git would run there."""
    try:
        found = sorted(folder.iterdir())
    except OSError:
        return []
    return [
        path
        for path in found
        if path.suffix != ".sample" and path.is_file() and os.access(path, os.X_OK)
    ]
