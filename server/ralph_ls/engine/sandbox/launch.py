"""Launch of programs in the box of a run, or directly where the run has none.

Git's hooks run in the box too: the loop's commits and pushes start them, and they are code that the
agent may have changed. Git itself needs the user's keys, so it is not in the box; each hook is
started in it by a script, in a folder of the run that replaces the folder of hooks.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from ralph_ls.engine.process import running_process
from ralph_ls.engine.sandbox.box import Box, BoxFiles
from ralph_ls.engine.sandbox.home_places import VARIABLES
from ralph_ls.engine.sandbox.repository import hooks_folder
from ralph_ls.store.files import make_private_folder, write_atomic

LeaveBox = Callable[[], str | None]


def in_box(
    box: Box | None,
    launch: running_process.Launch,
    *,
    agent: str | None = None,
    files: BoxFiles | None = None,
) -> tuple[running_process.Launch, LeaveBox]:
    """The command to start, and a function to call after its end, which may return a notice.

    ``agent`` as ``Box.around`` has it.
    """
    if box is None:
        return launch, in_no_box
    boxed = box.around(launch.argv, launch.environment, agent=agent, files=files)

    def leave() -> str | None:
        return box.leave(boxed)

    return replace(launch, argv=boxed.argv, environment=boxed.environment), leave


def in_no_box() -> None:
    """There is no box to leave."""


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
