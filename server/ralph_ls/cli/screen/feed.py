"""Feed: two threads that follow a work tree, one its run and files, one the agent's output.

They read the same files as every other viewer and call back with values that need only be drawn.
A screen that falls behind is waited for, and never delays the engine.
"""

from __future__ import annotations

import codecs
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pydantic import ValidationError

from ralph_ls.cli.context import CommandWorktree
from ralph_ls.cli.show.renderers import lines_of
from ralph_ls.core.loop.fold import apply
from ralph_ls.core.plan.formats.dispatch import parse_plan
from ralph_ls.core.plan.formats.registry import format_of_text
from ralph_ls.core.plan.model import ParsedPlan, Plan, PlanKind
from ralph_ls.core.views.model.control_chars import escape_program_output
from ralph_ls.core.views.model.document_context import DocumentContext
from ralph_ls.core.views.panel.panel import panel
from ralph_ls.core.views.panel.rows import plan_rows
from ralph_ls.core.views.screen.status import Activity, after_message
from ralph_ls.core.views.text.event_weights import Weight
from ralph_ls.editor.worktree.follower import WorktreeFollower
from ralph_ls.editor.worktree.scanner import WorktreeScanner
from ralph_ls.editor.worktree.snapshot import (
    ScanResult,
    WorkspaceSnapshot,
    loop_folders,
    signature_of,
)
from ralph_ls.engine.clock import SystemClock
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.lsp.panel import Panel, PlanRows
from ralph_ls.protocol.run.events import AgentExited, IterationEnded
from ralph_ls.protocol.run.messages import MESSAGE_ADAPTER
from ralph_ls.protocol.run.state import RunState
from ralph_ls.store.layout import RunFiles
from ralph_ls.store.project.plan_file import PlanLocation, find_plan_location, text_of_plan
from ralph_ls.store.run.journal import each_event, offset_behind
from ralph_ls.store.run.lock import is_held, read_owner
from ralph_ls.store.run.run_view import state_before
from ralph_ls.store.run.watch import OutputChunk, RunFollower, message_text

BACKLOG = 1 << 18
"""Bytes of output that are shown of an agent that is far ahead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScreenView:
    """A work tree's newest run and its plan, at one moment."""

    context: DocumentContext
    panel: Panel
    plan: PlanRows
    files: RunFiles | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputLine:
    """A line of the agent, or one of the loop's own."""

    text: str
    weight: Weight | None = None
    """None: the agent's."""


class WorktreeFeed:
    """Follows one work tree from ``start`` to ``stop``; calls back in its threads."""

    def __init__(
        self,
        place: CommandWorktree,
        on_view: Callable[[ScreenView], None],
        on_output: Callable[[list[OutputLine], Activity], None],
    ) -> None:
        self._place = place
        self._on_view = on_view
        self._on_output = on_output
        self._plans = PlanReader(place)
        self._output: OutputFeed | None = None
        scanner = WorktreeScanner(loop_folders(place.worktree, os.environ))
        self._follower = WorktreeFollower(scanner, self._take)

    def start(self) -> None:
        """Begin to follow."""
        self._follower.start()

    def stop(self) -> None:
        """Follow no more; waits for nothing."""
        self._follower.stop()
        if self._output is not None:
            self._output.stop()

    def _take(self, found: ScanResult, taken: Callable[[], None]) -> None:
        try:
            if found.changed:
                self._on_view(self._view_of(found.picture))
                self._follow_output(found.picture)
        finally:
            taken()

    def _view_of(self, picture: WorkspaceSnapshot) -> ScreenView:
        path, kind, text, parsed = self._plans.read(picture)
        context = picture.context_of(text, parsed, kind)
        return ScreenView(
            context=context,
            panel=panel(context, picture.rows.rows, SystemClock().now()),
            plan=plan_rows(context, uri=None, path=path),
            files=picture.run_files,
        )

    def _follow_output(self, picture: WorkspaceSnapshot) -> None:
        files = picture.run_files
        if files is None or (self._output is not None and self._output.files == files):
            return
        if self._output is not None:
            self._output.stop()
        self._output = OutputFeed(self._place, files, picture.state, self._on_output)


PlanContent = tuple[str, PlanKind, str, ParsedPlan]
"""Path, format, text and tasks."""

NO_PLAN: PlanContent = ("", PlanKind.MARKDOWN, "", ParsedPlan(plan=Plan()))


class PlanReader:
    """The plan of a run, read and parsed again only after it may have changed."""

    def __init__(self, place: CommandWorktree) -> None:
        self._root = place.worktree.root
        self._key: tuple[Any, ...] = ()
        self._known = NO_PLAN

    def read(self, picture: WorkspaceSnapshot) -> PlanContent:
        """The plan as it is now; an unreadable one has no tasks."""
        state = picture.state
        if state is None or not state.plan or state.request is not None:
            return NO_PLAN
        location = find_plan_location(state.plan, state.config, os.environ)
        signature = signature_of(self._root / location.path)
        # What is not one file is read again when an iteration may have changed it.
        is_one = signature is not None and location.is_file
        many = None if is_one else (state.run, state.iteration, state.phase)
        key = (location.path, location.kind, signature, many)
        if key != self._key:
            self._key, self._known = key, self._parsed(location, state)
        return self._known

    def _parsed(self, location: PlanLocation, state: RunState) -> PlanContent:
        try:
            text = text_of_plan(self._root, location)
        except (RalphError, OSError):
            return location.path, location.kind, "", ParsedPlan(plan=Plan())
        config = state.config
        parsed = parse_plan(
            text,
            location.kind,
            optional_sections=config.optional_sections,
            skip_review=config.skip_review,
            tag=location.tag,
        )
        return location.path, format_of_text(location.kind, text).name, text, parsed


class OutputFeed:
    """A thread that follows the output of one run, from its newest iteration on."""

    def __init__(
        self,
        place: CommandWorktree,
        files: RunFiles,
        state: RunState | None,
        on_output: Callable[[list[OutputLine], Activity], None],
    ) -> None:
        self.files = files
        self._on_output = on_output
        self._activity = Activity()
        self._decoders = {
            stream: codecs.getincrementaldecoder("utf-8")(errors="replace")
            for stream in ("out", "err")
        }
        self._partial = ""
        self._state = _before_newest(files, state)
        git_dir, run = place.worktree.git_dir, files.folder.name
        seq = self._state.seq

        def is_live() -> bool:
            owner = read_owner(git_dir)
            return owner is not None and owner.run == run and is_held(git_dir)

        self._follower = RunFollower(
            files,
            is_live=is_live,
            after_seq=seq,
            offset=offset_behind(files.journal, seq),
            past_end=True,
            show_message=self._show_message,
        )
        self._follower.backlog = BACKLOG
        self._thread = threading.Thread(target=self._follow, name="output", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Follow no more."""
        self._follower.stop()

    def _follow(self) -> None:
        for batch in self._follower:
            lines: list[OutputLine] = []
            for item in batch:
                if isinstance(item, OutputChunk):
                    lines += self._text(self._decoders[item.stream].decode(item.data))
                    continue
                before, self._state = self._state, apply(self._state, item)
                if isinstance(item, AgentExited | IterationEnded):
                    self._activity = Activity()
                lines += self._rest()
                lines += [
                    OutputLine(text=line.text, weight=line.weight)
                    for line in lines_of(item, before)
                ]
            self._on_output(lines, self._activity)

    def _text(self, text: str) -> list[OutputLine]:
        whole, newline, self._partial = (self._partial + text).rpartition("\n")
        if not newline:
            return []
        return [OutputLine(text=escape_program_output(line)) for line in whole.split("\n")]

    def _rest(self) -> list[OutputLine]:
        rest, self._partial = self._partial, ""
        return [OutputLine(text=escape_program_output(rest))] if rest else []

    def _show_message(self, line: bytes) -> bytes:
        try:
            message = MESSAGE_ADAPTER.validate_json(line)
        except ValidationError:
            return b""
        self._activity = after_message(self._activity, message, self._written_at())
        return message_text(line)

    def _written_at(self) -> datetime:
        """When the newest message was written: about when the tool began that still runs."""
        try:
            written = self.files.messages.stat().st_mtime
        except OSError:
            return SystemClock().now()
        return datetime.fromtimestamp(written, UTC)


def _before_newest(files: RunFiles, state: RunState | None) -> RunState:
    """The state before the newest iteration, whose output is shown from its beginning."""
    if state is None:
        return RunState()
    seq = state.seq if state.current is None else state.current.started.seq
    if state.current is None and state.last is not None:
        for event in each_event(files.journal, kinds={"iterationStarted"}):
            seq = event.seq
    return state_before(files, seq)
