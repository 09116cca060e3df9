"""The answer of ``ralph hook stop``: whether the agent may stop (docs/rules.md#stop-hook).

It reads one JSON document from standard input, and prints an answer that keeps the agent at work,
or nothing. Its exit code is always 0: a hook that fails would keep an agent from stopping for ever,
or hide why. It runs each time that an agent wants to stop, also without a run, so everything is
imported where it is needed, and ``cli.main`` calls it without a command line.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ralph_ls.store.iteration_socket import VARIABLE

if TYPE_CHECKING:
    from ralph_ls.protocol.run.stop_hook import HookAnswer, HookInput
    from ralph_ls.store.run.active_run import StopHookState

ACTIVE_FILE = ".ralph-active"

TRANSCRIPT_END = 1 << 20
"""So many bytes at the end of a transcript are looked at for the agent's last words."""


def answer_stop() -> int:
    """Read the question, print the answer; always 0."""
    try:
        answer = _answer()
        if answer is not None:
            from ralph_ls.cli.output import write_json

            write_json(answer.model_dump_json(by_alias=True))
            sys.stdout.flush()
    except Exception as error:  # noqa: BLE001 - whatever is wrong with us must not keep an agent
        _print_answer(f"the stop hook lets the agent go: {' '.join(str(error).split())}")
    return 0


def _answer() -> HookAnswer | None:
    if sys.stdin.isatty():
        _print_answer("the stop hook is asked by an agent's program, with JSON on standard input")
        return None
    text = sys.stdin.buffer.read().decode("utf-8", errors="replace")
    root = _root_of_run(text)
    if root is None:
        return None
    from ralph_ls.core.plan.formats.stories.stop_verdict import (
        StopAttempt,
        judge_stop,
        read_hook_input,
        snapshot_path,
        snapshot_text,
    )
    from ralph_ls.store.layout import find_worktree
    from ralph_ls.store.run.active_run import (
        count_stop,
        is_owner_alive,
        read_active_file,
        read_stops,
    )

    given, active = read_hook_input(text), read_active_file(root)
    if given is None or active is None:
        return None
    if (socket := os.environ.get(VARIABLE)) is not None:
        from ralph_ls.store.run.active_run import ask_engine

        asked = ask_engine(socket, continues=given.stop_hook_active)
        if asked is None or not asked.is_about(active):
            return None
        stops = asked
    else:
        git_dir = find_worktree(root).git_dir
        if not is_owner_alive(active, git_dir):
            return None
        stops = read_stops(git_dir, active)
        if given.stop_hook_active:
            stops = count_stop(git_dir, stops)
    path = stops.plan or _plan_in(root)
    before, kept = snapshot_text(active), snapshot_path(active)
    if kept is not None:
        before = _text_of(root / kept)
    return judge_stop(
        StopAttempt(
            active=active,
            n_active=stops.n_active,
            path=path,
            after=_text_of(root / path),
            before=before,
            uncommitted=_uncommitted(root, stops),
            halts=_halts(given),
            assigned=stops.task,
        )
    )


def _root_of_run(text: str) -> Path | None:
    """The work tree that a run says to be active in; None where there is none."""
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        return None
    cwd = given.get("cwd") if isinstance(given, dict) else None
    for start in _folders(cwd if isinstance(cwd, str) else None):
        real = Path(os.path.realpath(start))
        for folder in (real, *real.parents):
            if (folder / ACTIVE_FILE).is_file():
                return folder
    return None


def _folders(cwd: str | None) -> Iterator[Path]:
    """Where to look: where the agent is, where it was started, and the main work tree."""
    named = [cwd, str(Path.cwd()), os.environ.get("CLAUDE_PROJECT_DIR")]
    folders = [Path(name) for name in named if name]
    yield from folders
    if "RALPH_ITERATION_ID" not in os.environ:
        # Somebody else's agent in a linked work tree has nothing to do with a run in the main one.
        return
    from ralph_ls.protocol.errors import RalphError
    from ralph_ls.store.layout import find_worktree

    for folder in folders:
        try:
            yield find_worktree(folder).common_dir.parent
        except RalphError:
            continue


def _plan_in(root: Path) -> str:
    """The file of stories in a tree of which no engine of ours has said it."""
    from ralph_ls.core.loop.profiles import STORIES
    from ralph_ls.protocol.config.config import CONFIG_FILE
    from ralph_ls.protocol.errors import RalphError
    from ralph_ls.store.files import read_regular
    from ralph_ls.store.toml_text import parse_toml

    try:
        data = read_regular(root / CONFIG_FILE) or b""
        paths = parse_toml(data.decode("utf-8")).get("paths")
    except (RalphError, ValueError):
        paths = None
    chosen = paths.get("plan") if isinstance(paths, dict) else None
    if isinstance(chosen, str):
        return chosen
    names = STORIES.plan_files
    return next((name for name in names if (root / name).is_file()), names[0])


def _text_of(path: Path) -> str | None:
    from ralph_ls.store.files import read_regular
    from ralph_ls.store.run.active_run import LARGEST

    data = read_regular(path, LARGEST)
    return None if data is None else data.decode("utf-8", errors="replace")


def _uncommitted(root: Path, stops: StopHookState) -> list[str]:
    """What is not committed, but for what the loop keeps there and for what was so before."""
    from ralph_ls.engine.git.status import dirty_paths, disk_value

    ours = [ACTIVE_FILE]
    if stops.plan is None:
        # An engine of ours has git ignore these.
        from ralph_ls.core.loop.profiles import STORIES

        ours += [str(STORIES.settings[f"paths.{key}"]) for key in ("decide", "blocked", "logs")]
    found: list[str] = []
    for one in dirty_paths(root):
        if any(one.name == path or one.name.startswith(f"{path}/") for path in ours):
            continue
        was = stops.dirty.get(one.name)
        values = {disk_value(one.path, algorithm=name) for name in ("sha1", "sha256")}
        if was is None or not (one.is_repository or was in values):
            found.append(one.name)
    return found


def _halts(given: HookInput) -> bool:
    from ralph_ls.core.agent.transcript_tail import final_text_of_transcript, has_halting_promise
    from ralph_ls.store.files import open_regular

    if _has_halted_by_tool():
        return True
    if given.last_assistant_message is not None:
        return has_halting_promise(given.last_assistant_message)
    if not given.transcript_path:
        return False
    try:
        with open_regular(Path(given.transcript_path).expanduser()) as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - TRANSCRIPT_END))
            end = file.read().decode("utf-8", errors="replace")
    except OSError:
        return False
    return has_halting_promise(final_text_of_transcript(reversed(end.splitlines())))


def _has_halted_by_tool() -> bool:
    """Whether the agent asked or was blocked by a tool of its iteration."""
    from ralph_ls.cli.mcp_server import SOCKET, TICKET
    from ralph_ls.store.iteration_socket import ask

    place, ticket = os.environ.get(SOCKET), os.environ.get(TICKET)
    if not place or not ticket:
        return False
    try:
        return ask(Path(place), "halted", {"token": ticket}).get("halted") is True
    except (OSError, ValueError):
        return False


def _print_answer(message: str) -> None:
    from ralph_ls.cli.output import print_error

    print_error(message)
