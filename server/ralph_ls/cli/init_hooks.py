"""``ralph init --hooks``: the stop hook in the settings of the agent's program (I 3.2; SPEC §10).

What would change is shown before anything is written, and a person is asked.
"""

from __future__ import annotations

import difflib
import os
import sys
from pathlib import Path

import typer

from ralph_ls.cli.context import Place
from ralph_ls.cli.output import say
from ralph_ls.core.setup.hooks import AGENTS_WITHOUT_HOOK, HOOK_PLACES, HookPlace, with_stop_hook
from ralph_ls.core.views.model.control_chars import escape_nonprintable
from ralph_ls.engine.agent.selection import with_agent
from ralph_ls.protocol.errors import StateUnusable, UsageError
from ralph_ls.protocol.lsp.setup import SetupFileAction
from ralph_ls.store.project.config_file import load_settings
from ralph_ls.store.run.lock import EngineLock
from ralph_ls.store.setup.documents import (
    FileToWrite,
    file_to_write,
    read_existing_bytes,
    write_files,
)
from ralph_ls.store.setup.hook_launcher import own_launcher


def require_hooks(root: Path, agent: str | None) -> None:
    """Raise ``UsageError`` for an agent that has no such hook, before anything is written."""
    _place_of(agent or load_settings(root, os.environ, {}).config.agent)


def init_hooks(
    place: Place, agent: str | None, *, yes: bool, dry_run: bool, as_json: bool
) -> dict[str, object]:
    """Show the difference, ask, and write it; raises ``typer.Exit`` where the user says no.

    Raises ``UsageError`` for an agent that has no such hook, and where nobody can be asked;
    ``StateUnusable`` for settings that cannot be read or written. What became of it is given
    as ``--json`` shows it.
    """
    root = place.worktree.root
    name = agent or with_agent(load_settings(root, os.environ, {}), os.environ, root).config.agent
    where = _place_of(name)
    file = _merged(root, where)
    difference = _difference(file)
    is_there = file.action is SetupFileAction.KEEP
    if not as_json:
        _show(name, file, difference)
    writes = not is_there and not dry_run and (yes or not as_json)
    if writes and not yes:
        if not sys.stdin.isatty():
            raise UsageError(
                "nothing was written: init --hooks needs a terminal to ask in, or --yes"
            )
        if not typer.confirm("Write this?", default=True):
            say("Nothing was written")
            raise typer.Exit(1)
    if writes:
        with EngineLock(place.worktree.git_dir):
            write_files(root, [file])
    if not as_json and writes:
        say(f"Written: {file.path}")
        if where.note:
            say(f"Note: {where.note}")
    elif not as_json and dry_run and not is_there:
        say("Nothing was written: this was a dry run")
    written = [file.path] if writes else []
    notes = [where.note] if where.note else []
    return {
        "agent": name,
        "path": file.path,
        "diff": difference,
        "written": written,
        "alreadyThere": is_there,
        "notes": notes,
    }


def _place_of(agent: str) -> HookPlace:
    if agent in HOOK_PLACES:
        return HOOK_PLACES[agent]
    why = AGENTS_WITHOUT_HOOK.get(agent, "nobody knows where it would read one")
    raise UsageError(
        f"there is no stop hook for the agent {agent!r}: {why}. The loop looks at the same things "
        f"itself after each iteration; --agent names one that has hooks: {', '.join(HOOK_PLACES)}"
    )


def _merged(root: Path, where: HookPlace) -> FileToWrite:
    data = read_existing_bytes(root, where.path)
    text = "" if data is None else data.decode("utf-8", errors="surrogateescape")
    merged = with_stop_hook(text, where, own_launcher())
    if merged.problem:
        raise StateUnusable(
            f"{root / where.path}, line {merged.line}: {merged.problem}; mend that, or put the "
            f"hook in by hand as docs/stories.md shows it"
        )
    return file_to_write(root, where.path, merged.text)


def _difference(file: FileToWrite) -> list[str]:
    """What changes, as ``diff -u`` tells it."""
    texts = [(data or b"").decode("utf-8", errors="replace") for data in (file.before, file.after)]
    before, after = ([line.rstrip("\r") for line in text.split("\n")] for text in texts)
    old = "/dev/null" if file.before is None else f"a/{file.path}"
    if file.before is None:
        before = []
    return list(difflib.unified_diff(before, after, old, f"b/{file.path}", lineterm=""))


def _show(agent: str, file: FileToWrite, difference: list[str]) -> None:
    if not difference:
        say(f"{file.path} has the stop hook of {agent} already")
    for line in difference:
        say(escape_nonprintable(line))
