"""``ralph logs``: an agent's words as it worked, of a run or an iteration. It changes nothing."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from typing import Annotated

from ralph_ls.cli.commands.runs.target import First, Second, Target, find_target
from ralph_ls.cli.flags import Json
from ralph_ls.cli.output import emit_json, write_json
from ralph_ls.cli.parameters import flag, option
from ralph_ls.cli.show.renderers import decoders
from ralph_ls.core.views.model.control_chars import escape_control_chars, escape_program_output
from ralph_ls.engine.clock import SystemClock
from ralph_ls.protocol.errors import UsageError
from ralph_ls.protocol.run.events import AgentStarted, IterationStarted
from ralph_ls.store.run.journal import each_event, offset_behind
from ralph_ls.store.run.lock import is_held
from ralph_ls.store.run.watch import (
    OutputChunk,
    RunFollower,
    RunItem,
    ShowMessage,
    as_recorded,
    message_text,
)

WORDS = frozenset({"text"})
"""Kinds of messages that are the agent's words."""


def logs_verb(
    first: First = None,
    second: Second = None,
    follow: Annotated[
        bool, flag("--follow", "-f", text="Follow the output until the run ends.")
    ] = False,
    raw: Annotated[
        bool, flag("--raw", text="Print the agent's output as it was recorded.")
    ] = False,
    tools: Annotated[
        bool, flag("--tools", text="Also show tool calls, files and to-do lists.")
    ] = False,
    grep: Annotated[
        str | None,
        option("PATTERN", "Show only lines with this regular expression.", default="all lines"),
    ] = None,
    as_json: Json = False,
) -> None:
    """Print what the agent wrote, as it worked.

    Of all iterations of a run, or of one.
    """
    if raw and (tools or as_json):
        raise UsageError(f"--raw does not go with {'--tools' if tools else '--json'}")
    fits = _pattern(grep)
    show_message = as_recorded if raw else _shown(tools=tools, as_json=as_json)
    target = find_target(first, second)
    writer: LogWriter = JsonWriter(fits) if as_json else LogWriter(fits, titles=not raw)
    try:
        for item in _items(target, show_message, follow=follow):
            writer.write(item)
    except KeyboardInterrupt:
        # Ctrl-C ends the following alone; the run continues.
        pass
    writer.finish()


def print_logs(target: Target) -> None:
    """Print the agent's words in all iterations of a run, so far."""
    writer = LogWriter(_pattern(None))
    for item in _items(target, _shown(tools=False, as_json=False), follow=False):
        writer.write(item)
    writer.finish()


def _pattern(given: str | None) -> Callable[[str], object]:
    if given is None:
        return lambda _: True
    try:
        return re.compile(given).search
    except re.error as error:
        raise UsageError(
            f"--grep {given!r} is not a regular expression; put \\ before each "
            "of . * + ? ( ) [ that you look for"
        ) from error


def _shown(*, tools: bool, as_json: bool) -> ShowMessage:
    """What is shown of a line of the messages."""

    def show(line: bytes) -> bytes:
        if not tools and _kind(line) not in WORDS:
            return b""
        return line + b"\n" if as_json else message_text(line)

    return show


def _kind(line: bytes) -> object:
    try:
        message = json.loads(line)
    except ValueError:
        return None
    return message.get("kind") if isinstance(message, dict) else None


def _items(target: Target, show_message: ShowMessage, *, follow: bool) -> Iterator[RunItem]:
    """The events and the output of the wanted iterations, in order."""
    git_dir = target.place.worktree.git_dir
    is_followed = follow and target.is_live
    seq = _seq_before(target, only_newest=is_followed)
    follower = RunFollower(
        target.files,
        is_live=lambda: is_followed and is_held(git_dir),
        after_seq=seq,
        offset=offset_behind(target.files.journal, seq),
        show_message=show_message,
    )
    last = target.iteration
    for batch in follower:
        for item in batch:
            if isinstance(item, IterationStarted) and last is not None and item.iteration > last:
                return
            yield item


def _seq_before(target: Target, *, only_newest: bool) -> int:
    """The number of the event before the first wanted iteration; where followed, the newest."""
    if target.iteration is None and not only_newest:
        return 0
    found = [
        event.seq - 1
        for event in each_event(target.files.journal, kinds={"iterationStarted"})
        if isinstance(event, IterationStarted) and target.iteration in {None, event.iteration}
    ]
    if not found and target.iteration is not None:
        raise UsageError(
            f"run {target.files.folder.name} has no iteration {target.iteration}; see: ralph show"
        )
    return found[-1 if target.iteration is None else 0] if found else 0


class LogWriter:
    """Lines for users: a title for each iteration, and the lines that fit a pattern."""

    def __init__(self, fits: Callable[[str], object], *, titles: bool = True) -> None:
        self._fits = fits
        self._titles = titles
        self._title = ""
        self._decoders = decoders()
        self._partial = {"out": "", "err": ""}
        self._zone = SystemClock().local().tzinfo
        self._is_exact = not titles and not sys.stdout.isatty()

    def write(self, item: RunItem) -> None:
        """Write an item of the run."""
        if isinstance(item, OutputChunk):
            stream = item.stream
            text = self._partial[stream] + self._decoders[stream].decode(item.data)
            whole, newline, self._partial[stream] = text.rpartition("\n")
            for line in whole.split("\n") if newline else ():
                self._take(stream, line)
            sys.stdout.flush()
            return
        self.finish()
        if isinstance(item, IterationStarted):
            self.begin(item)

    def begin(self, started: IterationStarted) -> None:
        """Hold the title until there is a line below it."""
        task = started.task.title if started.task is not None else started.mode.value
        at = started.at.astimezone(self._zone)
        self._title = f"▸ Iteration {started.iteration} · {at:%H:%M} · {task}"

    def finish(self) -> None:
        """Write what has no end of line yet."""
        for stream, rest in self._partial.items():
            self._partial[stream] = ""
            if rest:
                self._take(stream, rest)

    def _take(self, stream: str, line: str) -> None:
        if self._fits(line):
            self.show(stream, line)

    def show(self, stream: str, line: str) -> None:
        """Write a line, below the title of its iteration."""
        del stream
        if self._titles and self._title:
            sys.stdout.write(f"{escape_control_chars(self._title)}\n")
            self._title = ""
        sys.stdout.write(f"{line if self._is_exact else escape_program_output(line)}\n")


class JsonWriter(LogWriter):
    """One message a line; plain text as messages, too."""

    def __init__(self, fits: Callable[[str], object]) -> None:
        super().__init__(fits, titles=False)
        self._start = 0
        self._has_records = False

    def write(self, item: RunItem) -> None:
        if isinstance(item, AgentStarted):
            self._has_records = item.dialect is not None
        super().write(item)

    def begin(self, started: IterationStarted) -> None:
        self._start = started.start

    def show(self, stream: str, line: str) -> None:
        if self._has_records and stream == "out":
            write_json(line)
        else:
            emit_json({"kind": "text", "start": self._start, "text": line}, indent=None)
